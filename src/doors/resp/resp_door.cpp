#include "doors/resp/resp_door.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "doors/resp/session.h"
#include "net/buffer_limit.h"
#include "net/listener.h"

namespace holdfast::doors::resp {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t max_refused = 64;  // connections over the limit that get an error; more are just closed
constexpr auto stop_grace = 2s;
constexpr auto warn_every = 1min;

}  // namespace

void RespDoorParts::note_same_value() {
    ++same_value_sets;
    if (!options.warn || turns.now() < warn_again_at) return;
    warn_again_at = turns.now() + warn_every;
    options.warn(fmt::format(
        "a lock of a Redis client was refused because its key already holds the same value. If that is Redlock over "
        "several nodes of one cluster or fronts of one engine, it can never get a majority: all of them have the same "
        "key. Give it one address (docs/redis.md, Redlock). If it is several clients that use one value, none of them "
        "can tell its lock from another's: let each use a random value. {} refusals so far; this warning comes at most "
        "once per minute",
        same_value_sets));
}

void RespDoorParts::forget(RespSession& session) {
    const auto found = sessions.find(&session);
    if (found == sessions.end()) return;
    if (session.is_refused()) --refused;
    turns.keep(std::move(found->second));
    sessions.erase(found);
    if (sessions.empty() && on_last_session) on_last_session();
}

struct RespDoor::Impl : std::enable_shared_from_this<Impl> {
    Impl(boost::asio::io_context& loop_given, std::shared_ptr<RespDoorParts> parts_given)
        : loop(loop_given),
          parts(std::move(parts_given)),
          listener(loop, [this](tcp::socket socket) { admit(std::move(socket)); }),
          check_timer(loop),
          stop_timer(loop) {}

    Result<std::string> listen();
    void admit(tcp::socket socket);
    template <class Visit>
    void for_each_session(Visit visit);
    void check_sessions();
    void stop(std::function<void()> done);
    void stopped();

    boost::asio::io_context& loop;
    std::shared_ptr<RespDoorParts> parts;
    net::Listener listener;
    boost::asio::steady_timer check_timer, stop_timer;
    std::function<void()> on_stopped;
};

Result<std::string> RespDoor::Impl::listen() {
    const auto bound = listener.listen(parts->options.address);
    if (!bound) return bound.error();
    parts->port = std::to_string(bound->port());
    parts->turns.start();
    check_sessions();
    return net::text_of(*bound);
}

// ---- connections ----

void RespDoor::Impl::admit(tcp::socket socket) {
    boost::system::error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    const bool full = parts->sessions.size() - parts->refused >= parts->options.max_connections ||
                      net::leaves_fewer_files(socket.native_handle(), net::files_left_by_others);
    const bool scarce = net::leaves_fewer_files(socket.native_handle(), net::files_left_by_others / 2);
    if (error || scarce || (full && parts->refused >= max_refused)) return;
    const int bare = net::take_out(socket);
    if (bare < 0) return;
    auto session = std::make_shared<RespSession>(bare, parts, net::text_of(peer), ++parts->connections_accepted);
    if (!parts->turns.poller().add(bare, session.get())) return;
    parts->sessions.emplace(session.get(), session);
    if (!full) return;
    ++parts->refused;
    session->refuse_connection("max number of clients reached");
}

// ---- time ----

/// Iterates over a copy, since a session may remove itself during the visit.
template <class Visit>
void RespDoor::Impl::for_each_session(Visit visit) {
    std::vector<std::shared_ptr<RespSession>> all;
    all.reserve(parts->sessions.size());
    for (const auto& entry : parts->sessions)
        all.push_back(entry.second);
    for (const auto& session : all)
        visit(*session);
}

/// One timer for the deadlines and the buffers of all sessions. Deadlines are seconds long, so firing a fraction late
/// is fine.
void RespDoor::Impl::check_sessions() {
    parts->turns.between([this] {
        for (const auto& session : net::over_buffer_limit(parts->sessions, parts->options.max_buffer_bytes))
            session->close();
        for_each_session([&](RespSession& session) { session.check(parts->turns.now()); });
    });
    Duration shortest = std::min(parts->options.write_timeout, parts->options.read_timeout);
    if (parts->options.idle_timeout > Duration::zero()) shortest = std::min(shortest, parts->options.idle_timeout);
    check_timer.expires_after(std::clamp<Duration>(shortest / 10, 10ms, 100ms));
    check_timer.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (!cancelled && !self->parts->gone) self->check_sessions();
    });
}

// ---- the end ----

void RespDoor::Impl::stop(std::function<void()> done) {
    listener.close();
    on_stopped = std::move(done);
    parts->stopping = true;
    for_each_session([](RespSession& session) { session.stop(); });
    if (parts->sessions.empty()) return stopped();
    parts->on_last_session = [this] { stopped(); };
    stop_timer.expires_after(stop_grace);
    stop_timer.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (cancelled || self->parts->gone) return;
        self->parts->on_last_session = nullptr;
        self->for_each_session([](RespSession& session) { session.close(); });
        self->stopped();
    });
}

void RespDoor::Impl::stopped() {
    stop_timer.cancel();
    check_timer.cancel();
    // Posted, because the last session is still closing and done() may destroy the door.
    boost::asio::post(loop, [self = shared_from_this()] {
        self->parts->on_last_session = nullptr;
        if (const auto done = std::exchange(self->on_stopped, nullptr)) done();
    });
}

RespDoor::RespDoor(boost::asio::io_context& loop, authority::Authority& authority, RespDoorOptions options,
                   net::DoorTurn turn)
    : impl_(std::make_shared<Impl>(
          loop, std::make_shared<RespDoorParts>(loop, authority, std::move(options), std::move(turn)))) {}

RespDoor::~RespDoor() {
    RespDoorParts& parts = *impl_->parts;
    parts.gone = true;
    parts.on_last_session = nullptr;
    impl_->listener.close();
    impl_->on_stopped = nullptr;
    for (auto* timer : {&impl_->check_timer, &impl_->stop_timer})
        timer->cancel();
    parts.hub.shut();
    impl_->for_each_session([](RespSession& session) { session.close(); });
    parts.sessions.clear();
    parts.turns.stop();
}

Result<std::string> RespDoor::listen() {
    return impl_->listen();
}

std::uint64_t RespDoor::same_value_sets() const {
    return impl_->parts->same_value_sets;
}

void RespDoor::stop(std::function<void()> done) {
    impl_->stop(std::move(done));
}

}  // namespace holdfast::doors::resp
