#include "discovery/relay/relay_door.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>

#include "discovery/relay/relay_metrics.h"
#include "discovery/relay/relay_protocol.h"
#include "discovery/relay/session_table.h"
#include "net/listener.h"

namespace holdfast::discovery::relay {

using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Role = RelaySession::Role;

namespace {

constexpr int updates_per_clock = 16;  // each verifies a signature: in a long turn the clock is read again (T2)
constexpr std::size_t closed_per_turn = 64;
constexpr Duration linger_for = 2s;  // so that the peer can read the reason
constexpr auto stop_grace = 2s;
constexpr Duration sweep_every = 500ms;

}  // namespace

struct RelayDoor::Impl : std::enable_shared_from_this<Impl> {
    Impl(boost::asio::io_context& loop_given, directory::Directory& directory_given, prometheus::Registry& registry,
         RelayDoorOptions options_given, net::DoorTurn turn_given)
        : loop(loop_given),
          directory(directory_given),
          options(std::move(options_given)),
          turns(loop, with_time(std::move(turn_given)), [this] { return close_departed(); }),
          shared(turns.poller()),
          pump([this](std::vector<std::uint64_t> ids) { on_streams_ended(std::move(ids)); }),
          sessions({options.stranger_timeout, options.publisher_timeout, linger_for}, turns),
          protocol(std::make_shared<RelayProtocol>(
              directory, RelayProtocol::Limits{options.max_publishers, options.streams}, sessions, pump)),
          metrics(registry),
          listener(loop, [this](tcp::socket socket) { admit(std::move(socket)); }),
          sweep_timer(loop),
          stop_timer(loop) {
        shared.handle = [this](RelaySession& session) { handle(session); };
    }

    /// Sets the protocol's time as well.
    net::DoorTurn with_time(net::DoorTurn given) {
        return {[this, begins = std::move(given.begins)] {
                    begins();
                    protocol->now = Clock::now();
                },
                std::move(given.ends)};
    }

    Result<std::string> listen();
    void admit(tcp::socket socket);
    void refuse_banned(RelaySession& session);
    void handle(RelaySession& session);
    void handle_messages(RelaySession& session);
    void send(RelaySession& session);
    void depart(RelaySession& session);
    bool close_departed();
    void sweep();
    void on_streams_ended(std::vector<std::uint64_t> ids);
    Counts counts() const;
    void stop(std::function<void()> done);
    void stop_if_idle();
    void stopped();
    void shut();

    boost::asio::io_context& loop;
    directory::Directory& directory;
    const RelayDoorOptions options;
    net::TurnsOf<RelaySession> turns;
    RelaySession::Shared shared;
    StreamPump pump;
    SessionTable sessions;
    std::shared_ptr<RelayProtocol> protocol;
    RelayMetrics metrics;
    net::Listener listener;
    boost::asio::steady_timer sweep_timer, stop_timer;

    std::deque<std::uint64_t> departed;  // to be closed, a bounded number per turn
    std::uint64_t last_id = 0;
    int updates_since_clock = 0;
    bool stopping = false, is_shut = false;
    std::function<void()> on_stopped;
};

Result<std::string> RelayDoor::Impl::listen() {
    if (auto started = pump.start(); !started) return started.error();
    const auto bound = listener.listen(options.address);
    if (!bound) return bound.error();
    directory.relay_address(options.told.empty() ? net::text_of(*bound) : options.told);
    turns.start();
    sweep();
    return net::text_of(*bound);
}

// ---- connections ----

void RelayDoor::Impl::admit(tcp::socket socket) {
    boost::system::error_code error;
    const tcp::endpoint peer = net::plain_endpoint(socket.remote_endpoint(error));
    if (net::leaves_fewer_files(socket.native_handle(), net::files_left_by_others)) return;
    const int bare = error ? -1 : net::take_out(socket);
    if (bare < 0) return;
    auto made = std::make_unique<RelaySession>(bare, ++last_id, net::text_of(peer), shared);
    if (!turns.poller().add(bare, made.get())) return;
    RelaySession& session = sessions.add(std::move(made));
    if (sessions.strangers() > options.max_strangers) depart(sessions.oldest_stranger());
    if (const Error* why = options.not_yet(); why != nullptr) return protocol->fail(session, why->code, why->message);
    if (directory.address_banned(session.peer())) refuse_banned(session);
}

void RelayDoor::Impl::refuse_banned(RelaySession& session) {
    const std::string reason = directory.reason_of_address_ban(session.peer());
    protocol->fail(session, "banned", reason.empty() ? "an admin has banned the address you come from" : reason);
}

/// Makes the connection unfindable. It is closed later, since renewals come first.
void RelayDoor::Impl::depart(RelaySession& session) {
    if (std::exchange(session.is_departed, true)) return;
    sessions.unlist(session);
    turns.poller().remove(session.socket());
    departed.push_back(session.id());
    turns.soon();
}

// ---- turns ----

void RelayDoor::Impl::handle(RelaySession& session) {
    if (!session.is_open() || session.is_departed) return;
    handle_messages(session);
    if (!session.is_open()) return;  // handed over
    send(session);
}

void RelayDoor::Impl::handle_messages(RelaySession& session) {
    bool has_time = true;
    while (session.role == Role::stranger || session.role == Role::publisher) {
        if (session.under_way >= RelaySession::max_under_way || !session.has_input()) return;
        if (!has_time) return sessions.wake(session);
        auto message = session.next_message();
        if (!message) return protocol->fail(session, "malformed", message.error().message);
        if (!*message) return;
        const bool was_update = protocol->handle(session, std::move(**message));
        if (was_update && ++updates_since_clock % updates_per_clock == 0) turns.read_clock();
        has_time = !turns.queue().is_slice_over();
    }
}

void RelayDoor::Impl::send(RelaySession& session) {
    if (!session.send()) return depart(session);
    if (session.role == Role::consumer) return session.look_for_more();  // its input may already be complete
    const bool all_said = session.unsent() == 0 && session.under_way == 0;
    if (session.has_ended() && !session.is_linked() && all_said) return depart(session);
    if (session.role == Role::leaving && session.unsent() == 0) session.end_sending();
    session.look_for_more();
}

/// Returns true if there are more to close.
bool RelayDoor::Impl::close_departed() {
    for (std::size_t i = 0; i < closed_per_turn && !departed.empty(); ++i) {
        RelaySession* session = sessions.find_departed(departed.front());
        departed.pop_front();
        if (session == nullptr) continue;
        protocol->forget(*session);
        sessions.close(*session);
    }
    stop_if_idle();
    return !departed.empty();
}

// ---- time ----

/// One timer for all deadlines: they are in seconds, and may be exceeded by a fraction.
void RelayDoor::Impl::sweep() {
    for (RelaySession* session : sessions.overdue(4 * closed_per_turn))
        depart(*session);
    turns.between([this] { protocol->advance(turns.now(), 4 * closed_per_turn); });
    metrics.tell(counts(), protocol->book());
    const Duration shortest =
        std::min({options.stranger_timeout, options.publisher_timeout, options.streams.ticket_life});
    sweep_timer.expires_after(std::clamp<Duration>(shortest / 10, 10ms, sweep_every));
    sweep_timer.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (!cancelled && !self->is_shut) self->sweep();
    });
}

RelayDoor::Counts RelayDoor::Impl::counts() const {
    return {sessions.strangers(), sessions.publishers(), protocol->book().counts(), protocol->book().carried()};
}

// ---- stopping ----

/// Called on the pump's thread.
void RelayDoor::Impl::on_streams_ended(std::vector<std::uint64_t> ids) {
    boost::asio::post(loop, [weak = weak_from_this(), ids = std::move(ids)] {
        const auto self = weak.lock();
        if (!self || self->is_shut) return;
        for (const std::uint64_t id : ids)
            self->protocol->stream_ended(id);
        self->stop_if_idle();
    });
}

void RelayDoor::Impl::stop(std::function<void()> done) {
    listener.close();
    on_stopped = std::move(done);
    stopping = true;
    protocol->stop();
    for (const auto& [id, session] : sessions.all()) {
        if (session->is_departed) continue;
        if (session->role == Role::consumer) protocol->fail(*session, "stopping", "the relay is about to stop");
        if (session->role != Role::leaving) depart(*session);
    }
    stop_timer.expires_after(stop_grace);
    stop_timer.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (!cancelled && !self->is_shut) self->stopped();
    });
    stop_if_idle();
}

void RelayDoor::Impl::stop_if_idle() {
    if (stopping && protocol->book().counts().open == 0 && sessions.leaving() == 0) stopped();
}

void RelayDoor::Impl::stopped() {
    stop_timer.cancel();
    sweep_timer.cancel();
    pump.cut_all();
    // Posted, since done() may destroy the door.
    boost::asio::post(loop, [self = shared_from_this()] {
        if (const auto done = std::exchange(self->on_stopped, nullptr)) done();
    });
}

void RelayDoor::Impl::shut() {
    is_shut = true;
    on_stopped = nullptr;
    listener.close();
    for (auto* timer : {&sweep_timer, &stop_timer})
        timer->cancel();
    for (const auto& entry : sessions.all())
        entry.second->close();
    sessions.clear();
    turns.stop();
    pump.stop();
}

RelayDoor::RelayDoor(boost::asio::io_context& loop, directory::Directory& directory, prometheus::Registry& metrics,
                     RelayDoorOptions options, net::DoorTurn turn)
    : impl_(std::make_shared<Impl>(loop, directory, metrics, std::move(options), std::move(turn))) {}

RelayDoor::~RelayDoor() {
    impl_->shut();
}

Result<std::string> RelayDoor::listen() {
    return impl_->listen();
}

void RelayDoor::withdraw(const directory::Withdrawal& withdrawal) {
    impl_->protocol->withdraw(withdrawal);
}

void RelayDoor::may_retry(const directory::RetryNotice& notice) {
    impl_->protocol->may_retry(notice);
}

void RelayDoor::stop(std::function<void()> done) {
    impl_->stop(std::move(done));
}

RelayDoor::Counts RelayDoor::counts() const {
    return impl_->counts();
}

}  // namespace holdfast::discovery::relay
