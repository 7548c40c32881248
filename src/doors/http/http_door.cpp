#include "doors/http/http_door.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <vector>

#include "doors/http/session.h"
#include "net/buffer_limit.h"
#include "net/listener.h"

namespace holdfast::doors::http {
namespace {

using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr std::size_t max_over_limit = 64;  // connections over the limit at one time; the oldest makes room
constexpr auto delay_period = 100ms;        // of the timer that measures the loop's delay and checks buffer sizes
constexpr auto stop_grace = 2s;

}  // namespace

struct HttpDoor::Impl : std::enable_shared_from_this<Impl> {
    Impl(boost::asio::io_context& loop_given, std::shared_ptr<Shared> shared_given)
        : loop(loop_given),
          shared(std::move(shared_given)),
          listener(loop, [this](tcp::socket socket) { admit(std::move(socket)); }),
          check_timer(loop),
          delay_timer(loop),
          stop_timer(loop) {}

    boost::asio::io_context& loop;
    std::shared_ptr<Shared> shared;
    net::Listener listener;
    boost::asio::steady_timer check_timer, delay_timer, stop_timer;
    std::function<void()> on_stopped;
    std::uint64_t connections = 0;

    Result<std::string> listen();
    void keep_over_limit_below(std::size_t most);
    void admit(tcp::socket socket);
    std::vector<std::shared_ptr<Session>> all_sessions() const;
    void check_sessions();
    void measure_delay();
    void close_all();
    void stop(std::function<void()> done);
    void stopped();
};

Result<std::string> HttpDoor::Impl::listen() {
    const auto bound = listener.listen(shared->options.address);
    if (!bound) return bound.error();
    shared->services.spawns = shared->options.allow_spawn || bound->address().is_loopback();
    shared->turns.start();
    check_sessions();
    measure_delay();
    return net::text_of(*bound);
}

/// Closes connections over the limit that have sent no request yet, the oldest first: a monitoring client sends its
/// request at once. Closes as many as needed: the fd that one frees goes to the next connection, so closing one for
/// each new one would use up the fds.
void HttpDoor::Impl::keep_over_limit_below(std::size_t most) {
    while (shared->over_limit.size() >= most) {
        const auto oldest = shared->sessions.at(shared->over_limit.begin()->second);
        oldest->close();
    }
}

void HttpDoor::Impl::admit(tcp::socket socket) {
    boost::system::error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return;
    const bool few_files = net::leaves_fewer_files(socket.native_handle(), net::files_left_by_http);
    const bool scarce = net::leaves_fewer_files(socket.native_handle(), net::files_left_by_http / 2);
    const bool full =
        few_files || shared->sessions.size() - shared->over_limit.size() >= shared->options.max_connections;
    if (full) keep_over_limit_below(scarce ? 1 : few_files ? net::files_left_by_http / 2 : max_over_limit);
    const int bare = net::take_out(socket);
    if (bare < 0) return;
    auto session = std::make_shared<Session>(bare, shared, net::text_of(peer), ++connections);
    if (!session->start()) return;
    shared->sessions.emplace(session.get(), session);
    if (full) session->set_over_limit();
    shared->metrics.set_connections(shared->sessions.size() - shared->over_limit.size());
}

/// A copy, since a session may remove itself during iteration.
std::vector<std::shared_ptr<Session>> HttpDoor::Impl::all_sessions() const {
    std::vector<std::shared_ptr<Session>> all;
    all.reserve(shared->sessions.size());
    for (const auto& entry : shared->sessions)
        all.push_back(entry.second);
    return all;
}

/// One timer checks the deadlines of all sessions. They are seconds long, so firing a fraction late is fine.
void HttpDoor::Impl::check_sessions() {
    const auto now = Clock::now();
    for (const auto& session : all_sessions())
        session->check(now);
    const HttpDoorOptions& options = shared->options;
    const Duration shortest = std::min({options.idle_timeout, options.read_timeout, options.write_timeout});
    check_timer.expires_after(std::clamp<Duration>(shortest / 10, 10ms, 1s));
    check_timer.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (!cancelled && !self->shared->gone) self->check_sessions();
    });
}

void HttpDoor::Impl::measure_delay() {
    delay_timer.expires_after(delay_period);
    delay_timer.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (cancelled || self->shared->gone) return;
        self->shared->metrics.observe_loop_delay(Clock::now() - self->delay_timer.expiry());
        for (const auto& session :
             net::over_buffer_limit(self->shared->sessions, self->shared->options.max_buffer_bytes))
            session->close();
        self->measure_delay();
    });
}

void HttpDoor::Impl::close_all() {
    for (const auto& session : all_sessions())
        session->close();
}

void HttpDoor::Impl::stop(std::function<void()> done) {
    listener.close();
    on_stopped = std::move(done);
    shared->stopping = true;
    for (const auto& session : all_sessions())
        session->stop();
    if (shared->sessions.empty()) return stopped();
    shared->on_last_session = [self = shared_from_this()] { self->stopped(); };
    stop_timer.expires_after(stop_grace);
    stop_timer.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
        if (cancelled || self->shared->gone) return;
        self->shared->on_last_session = nullptr;
        self->close_all();
        self->stopped();
    });
}

void HttpDoor::Impl::stopped() {
    stop_timer.cancel();
    check_timer.cancel();
    delay_timer.cancel();
    // Posted, because the last session is still closing and done() may destroy the door.
    boost::asio::post(loop, [self = shared_from_this()] {
        self->shared->on_last_session = nullptr;
        if (const auto done = std::exchange(self->on_stopped, nullptr)) done();
    });
}

HttpDoor::HttpDoor(boost::asio::io_context& loop, const HttpDoorServices& behind, prometheus::Registry& metrics,
                   HttpDoorOptions options, std::function<void()> before_request)
    : impl_(std::make_shared<Impl>(
          loop, std::make_shared<Shared>(loop, behind, metrics, std::move(options), std::move(before_request)))) {
    behind.authority.on_expiry_lateness([shared = impl_->shared](Duration late) {
        if (!shared->gone) shared->metrics.observe_expiry_lateness(late);
    });
}

HttpDoor::~HttpDoor() {
    Shared& shared = *impl_->shared;
    shared.gone = true;
    shared.on_last_session = nullptr;
    impl_->listener.close();
    impl_->on_stopped = nullptr;
    for (auto* timer : {&impl_->check_timer, &impl_->delay_timer, &impl_->stop_timer})
        timer->cancel();
    impl_->close_all();
    shared.sessions.clear();
    shared.turns.stop();
    shared.hub.shut();
}

Result<std::string> HttpDoor::listen() {
    return impl_->listen();
}

void HttpDoor::stop(std::function<void()> done) {
    impl_->stop(std::move(done));
}

}  // namespace holdfast::doors::http
