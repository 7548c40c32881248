#include "discovery/relay/relay_door.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>

#include "discovery/relay/relay_metrics.h"
#include "discovery/relay/relay_protocol.h"
#include "discovery/relay/session_table.h"
#include "net/door.h"

namespace holdfast::discovery::relay {

using Clock = net::Turns::Clock;
using Role = RelaySession::Role;

namespace {

constexpr int updates_per_clock = 16;  // each verifies a signature: in a long turn the clock is read again (T2)
constexpr std::size_t forgotten_per_turn = 64;
constexpr std::size_t notified_per_check = 256;
constexpr Duration max_check_period = 500ms;

net::Door::Options door_options(const RelayDoorOptions& options) {
    const Duration shortest =
        std::min({options.stranger_timeout, options.publisher_timeout, options.streams.ticket_life});
    return {.files_left = net::files_left_by_others,
            .max_buffer_bytes = options.max_buffer_bytes,
            .check_every = net::check_period(shortest, max_check_period),
            .lingers_at_stop = true};
}

}  // namespace

struct RelayDoor::Impl final : std::enable_shared_from_this<Impl>, net::Door::Owner, RelaySession::Owner {
    Impl(boost::asio::io_context& loop_given, directory::Directory& directory_given, prometheus::Registry& registry,
         RelayDoorOptions options_given, net::DoorTurn turn)
        : loop(loop_given),
          directory(directory_given),
          options(std::move(options_given)),
          door(loop, *this, door_options(options), with_time(std::move(turn))),
          pump([this](std::vector<std::uint64_t> ids) { on_streams_ended(std::move(ids)); }),
          sessions({options.stranger_timeout, options.publisher_timeout}, door),
          protocol(std::make_shared<RelayProtocol>(
              directory, RelayProtocol::Limits{options.max_publishers, options.streams}, sessions, pump)),
          metrics(registry) {}

    /// Sets the protocol's time as well.
    net::DoorTurn with_time(net::DoorTurn given) {
        return {[this, begins = std::move(given.begins)] {
                    begins();
                    protocol->now = Clock::now();
                },
                std::move(given.ends)};
    }

    Result<std::string> listen();
    std::shared_ptr<net::Connection> make_connection(net::Admitted admitted) override;
    void on_check(Duration late) override;
    bool after_turn() override;
    bool is_idle() const override { return protocol->book().counts().open == 0; }
    void on_begin(RelaySession& session) override;
    bool on_messages(RelaySession& session) override;
    void on_stop(RelaySession& session) override;
    void on_closed(RelaySession& session) override;
    void refuse_banned(RelaySession& session);
    void on_streams_ended(std::vector<std::uint64_t> ids);
    Counts counts() const;
    void stop(std::function<void()> done);
    void shut();

    boost::asio::io_context& loop;
    directory::Directory& directory;
    const RelayDoorOptions options;
    net::Door door;
    StreamPump pump;
    SessionTable sessions;
    std::shared_ptr<RelayProtocol> protocol;
    RelayMetrics metrics;

    struct Departed {
        std::uint64_t id;
        Role role;
    };
    std::deque<Departed> departed;  // to be forgotten, a bounded number per turn
    int updates_since_clock = 0;
    bool is_shut = false;
};

Result<std::string> RelayDoor::Impl::listen() {
    if (auto started = pump.start(); !started) return started.error();
    const auto bound = door.listen(options.address);
    if (!bound) return bound.error();
    directory.relay_address(options.told.empty() ? net::text_of(*bound) : options.told);
    return net::text_of(*bound);
}

// ---- connections ----

std::shared_ptr<net::Connection> RelayDoor::Impl::make_connection(net::Admitted admitted) {
    return std::make_shared<RelaySession>(std::move(admitted), *this, options.publisher_timeout);
}

void RelayDoor::Impl::on_begin(RelaySession& session) {
    sessions.list(session, Role::stranger);
    if (sessions.strangers() > options.max_strangers) sessions.oldest_stranger().close();
    if (const Error* why = options.not_yet(); why != nullptr) return protocol->fail(session, why->code, why->message);
    if (directory.address_banned(session.peer())) refuse_banned(session);
}

void RelayDoor::Impl::refuse_banned(RelaySession& session) {
    const std::string reason = directory.reason_of_address_ban(session.peer());
    protocol->fail(session, Code::banned, reason.empty() ? "an admin has banned the address you come from" : reason);
}

/// What is left of it is forgotten later: that releases leases, and renewals come first.
void RelayDoor::Impl::on_closed(RelaySession& session) {
    sessions.remove(session);
    if (session.role == Role::publisher || session.role == Role::consumer)
        departed.push_back({session.id(), session.role});
}

// ---- turns ----

bool RelayDoor::Impl::on_messages(RelaySession& session) {
    bool has_time = true;
    while (session.role == Role::stranger || session.role == Role::publisher) {
        if (session.under_way >= RelaySession::max_under_way || !session.has_input()) return false;
        if (!has_time) return true;
        auto message = session.next_message();
        if (message && !*message) return false;
        if (!message) {
            protocol->fail(session, Code::malformed, message.error().message);
            return false;
        }
        const bool was_update = protocol->handle(session, std::move(**message));
        if (was_update && ++updates_since_clock % updates_per_clock == 0) door.turns().read_clock();
        has_time = !session.is_slice_over();
    }
    return false;
}

bool RelayDoor::Impl::after_turn() {
    for (std::size_t i = 0; i < forgotten_per_turn && !departed.empty(); ++i) {
        const Departed one = departed.front();
        departed.pop_front();
        protocol->forget(one.id, one.role);
    }
    return !departed.empty();
}

void RelayDoor::Impl::on_check(Duration) {
    protocol->advance(door.turns().now(), notified_per_check);
    metrics.tell(counts(), protocol->book());
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
        self->door.stop_if_idle();
    });
}

void RelayDoor::Impl::stop(std::function<void()> done) {
    protocol->stop();
    door.stop([this, done = std::move(done)] {
        pump.cut_all();
        done();
    });
}

void RelayDoor::Impl::on_stop(RelaySession& session) {
    if (session.role == Role::consumer) return protocol->fail(session, Code::stopping, "the relay is about to stop");
    if (session.role != Role::leaving) session.close();
}

void RelayDoor::Impl::shut() {
    is_shut = true;
    door.shut();
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
