#include "client/http_link.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <functional>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "client/server_address.h"

namespace holdfast::client {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using SteadyTime = std::chrono::steady_clock::time_point;

/// Cuts a stream of bytes into lines ending in LF or CR LF, however it is fragmented. A line longer than 1 MiB is an
/// overflow: the stream is then unusable.
class LineSplitter {
 public:
    /// Passes every complete line, without its line end, to `on_line`; returns false as soon as `on_line` does.
    bool feed(std::string_view bytes, const std::function<bool(std::string_view)>& on_line) {
        rest_ += bytes;
        std::size_t from = 0;
        for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', from)) {
            auto line = std::string_view(rest_).substr(from, end - from);
            if (line.ends_with('\r')) line.remove_suffix(1);
            from = end + 1;
            if (!on_line(line)) return false;
        }
        rest_.erase(0, from);
        return true;
    }

    bool overflowed() const { return rest_.size() > max_bytes; }

 private:
    static constexpr std::size_t max_bytes = 1 << 20;
    std::string rest_;
};

constexpr std::size_t max_body_bytes = 64 << 20;
constexpr std::size_t max_header_bytes = 64 << 10;
/// Well below the server's idle timeout, so that a request does not cross the server's close on the wire.
constexpr auto idle_max = 25s;
/// The server sends a comment every 15 s; after three missed ones the stream is dead.
constexpr auto max_stream_silence = 50s;
constexpr auto max_stream_start = 10s;
/// The number of progress signs requested from the server within the silence after which it is considered hung.
constexpr int signs_per_silence = 4;
/// The time a server has to answer a cancelled request with its result.
constexpr auto max_last_word = 1s;

std::string target_or_root(const std::string& target) {
    return target.empty() ? "/" : target;
}

http::request<http::string_body> to_beast(const HttpRequest& request, const std::string& host) {
    http::request<http::string_body> message;
    message.method_string(request.method);
    message.target(target_or_root(request.target));
    message.version(11);
    message.set(http::field::host, host);
    message.set(http::field::user_agent, "holdfast");
    if (!request.last_event_id.empty()) message.set("Last-Event-ID", request.last_event_id);
    if (request.max_silence > Duration::zero())
        message.set("Holdfast-Progress-Ms", std::to_string(to_ms(request.max_silence / signs_per_silence)));
    if (!request.body.empty()) message.set(http::field::content_type, "application/json");
    message.body() = request.body;
    message.prepare_payload();
    return message;
}

HttpResponse to_response(http::response_parser<http::string_body>& parser, HolderInstant sent_at) {
    return {static_cast<int>(parser.get().result_int()), std::move(parser.get().body()), sent_at};
}

/// A waiting request must not hang for ever if the host has vanished without closing the connection.
void watch_the_peer(int descriptor) {
    const int on = 1, idle_seconds = 10, interval_seconds = 5, probes = 3;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace

struct HttpLink::Impl {
    void aim(const std::string& url);
    Result<void> connect_by(SteadyTime deadline);
    Result<HttpResponse> send(const HttpRequest& request, SteadyTime deadline);
    Result<HttpResponse> stream(const HttpRequest& request, const std::function<bool(std::string_view)>& on_line);
    void stop();
    void cancel();
    void resume();

 private:
    using Parser = http::response_parser<http::string_body>;
    struct Resolved {
        error_code error;
        std::vector<tcp::endpoint> endpoints;
    };

    error_code connect(SteadyTime deadline);
    error_code connect_to(const tcp::endpoint& endpoint, SteadyTime deadline);
    Resolved resolve(SteadyTime deadline);
    error_code write(const HttpRequest& request, SteadyTime deadline);
    error_code read_lines(Parser& parser, const std::function<bool(std::string_view)>& on_line);
    SteadyTime end_of_sending();
    bool is_aborted() const { return stopped || (cancelled && !sent); }
    bool usable();
    void close();
    Error unreachable(error_code why) const;

    template <class Start>
    error_code perform(SteadyTime deadline, Start start);

    std::string server;
    ServerAddress address;
    asio::io_context io{1};
    tcp::socket socket{io};
    tcp::resolver resolver{io};
    boost::beast::flat_buffer buffer;
    std::chrono::steady_clock::time_point last_used{};
    HolderInstant sent_at{};  // of the last request
    bool sent = false;        // the last request is sent, or is being sent
    std::optional<SteadyTime> last_word_by;
    std::atomic<bool> stopped = false;
    std::atomic<bool> cancelled = false;
};

void HttpLink::Impl::aim(const std::string& url) {
    if (url == server) return;
    close();
    server = url;
    address = split_server(url);
}

Result<void> HttpLink::Impl::connect_by(SteadyTime deadline) {
    sent = false;
    const error_code error = connect(deadline);
    if (error) return unreachable(error);
    return {};
}

/// Runs one asynchronous operation to its end, the deadline, stop() or cancel(). The result is shared with the handler,
/// so that name resolution, which cannot be interrupted, may be abandoned; socket operations end as soon as the socket
/// closes.
template <class Start>
error_code HttpLink::Impl::perform(SteadyTime deadline, Start start) {
    if (is_aborted()) return asio::error::operation_aborted;
    auto result = std::make_shared<std::optional<error_code>>();
    io.restart();
    start([result](error_code error, auto&&...) { *result = error; });
    while (!*result && !is_aborted()) {
        if (cancelled) deadline = std::min(deadline, end_of_sending());
        if (std::chrono::steady_clock::now() >= deadline) break;
        io.run_one_until(deadline);
    }
    if (*result) return **result;
    const bool resolving = !socket.is_open();
    resolver.cancel();
    close();
    while (!resolving && !*result)
        io.run_one();
    return is_aborted() ? error_code(asio::error::operation_aborted) : error_code(asio::error::timed_out);
}

/// Closes the sending half, once. Returns the deadline for the server's answer.
SteadyTime HttpLink::Impl::end_of_sending() {
    if (!last_word_by) {
        error_code ignored;
        socket.shutdown(tcp::socket::shutdown_send, ignored);
        last_word_by = std::chrono::steady_clock::now() + max_last_word;
    }
    return *last_word_by;
}

HttpLink::Impl::Resolved HttpLink::Impl::resolve(SteadyTime deadline) {
    error_code not_numeric;
    const auto numeric = asio::ip::make_address(address.host, not_numeric);
    if (!not_numeric) return {{}, {tcp::endpoint(numeric, address.port)}};
    auto found = std::make_shared<tcp::resolver::results_type>();
    const error_code error = perform(deadline, [&](auto done) {
        resolver.async_resolve(address.host, std::to_string(address.port),
                               [done, found](error_code failed, tcp::resolver::results_type results) mutable {
                                   *found = std::move(results);
                                   done(failed);
                               });
    });
    Resolved resolved{error, {}};
    if (error) return resolved;
    for (const auto& entry : *found)
        resolved.endpoints.push_back(entry.endpoint());
    return resolved;
}

error_code HttpLink::Impl::connect_to(const tcp::endpoint& endpoint, SteadyTime deadline) {
    // Not inherited by a command that is started under a lease: the server must see the connection close.
    const int descriptor = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return {errno, boost::system::system_category()};
    watch_the_peer(descriptor);
    socket.assign(endpoint.protocol(), descriptor);
    const error_code error = perform(deadline, [&](auto done) { socket.async_connect(endpoint, done); });
    if (error) close();
    return error;
}

error_code HttpLink::Impl::connect(SteadyTime deadline) {
    if (usable()) return {};
    close();
    const Resolved resolved = resolve(deadline);
    if (resolved.error) return resolved.error;
    error_code error = asio::error::host_not_found;
    for (const auto& endpoint : resolved.endpoints) {
        error = connect_to(endpoint, deadline);
        if (!error) last_used = std::chrono::steady_clock::now();
        if (!error || is_aborted() || std::chrono::steady_clock::now() >= deadline) break;
    }
    return error;
}

/// An idle connection is unusable if the server has closed it, or has sent bytes with no request outstanding.
bool HttpLink::Impl::usable() {
    if (!socket.is_open() || std::chrono::steady_clock::now() - last_used > idle_max) return false;
    char byte = 0;
    const auto got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void HttpLink::Impl::close() {
    error_code ignored;
    socket.close(ignored);
    buffer.clear();
}

Error HttpLink::Impl::unreachable(error_code why) const {
    if (is_aborted()) return {"cancelled", "the request to " + server + " was cancelled"};
    std::string reason = why.message();
    if (why == asio::error::timed_out) reason = "no answer in time";
    if (why == http::error::end_of_stream) reason = "the connection was closed before an answer came";
    return {"unreachable", "no answer from " + server + ": " + reason};
}

error_code HttpLink::Impl::write(const HttpRequest& request, SteadyTime deadline) {
    if (const error_code error = connect(deadline)) return error;
    const auto message = to_beast(request, address.authority());
    if (is_aborted()) return asio::error::operation_aborted;
    sent = true;  // from here on the server may have received all of it
    sent_at = holder_clock_now();
    return perform(deadline, [&](auto done) { http::async_write(socket, message, done); });
}

Result<HttpResponse> HttpLink::Impl::send(const HttpRequest& request, SteadyTime deadline) {
    sent = false;
    last_word_by.reset();
    error_code error = write(request, deadline);
    std::optional<Parser> parser;
    do {  // informational answers only show that the server is there
        parser.emplace();
        parser->body_limit(max_body_bytes);
        parser->header_limit(max_header_bytes);
        const auto sign_by = request.max_silence > Duration::zero()
                                 ? std::min(deadline, std::chrono::steady_clock::now() + request.max_silence)
                                 : deadline;
        if (!error)
            error = perform(sign_by, [&](auto done) { http::async_read_header(socket, buffer, *parser, done); });
    } while (!error && parser->get().result_int() / 100 == 1);
    if (!error) error = perform(deadline, [&](auto done) { http::async_read(socket, buffer, *parser, done); });
    if (error) {
        close();
        return unreachable(error);
    }
    last_used = std::chrono::steady_clock::now();
    if (!parser->get().keep_alive() || last_word_by) close();
    return to_response(*parser, sent_at);
}

error_code HttpLink::Impl::read_lines(Parser& parser, const std::function<bool(std::string_view)>& on_line) {
    LineSplitter lines;
    while (true) {
        if (!lines.feed(parser.get().body(), on_line)) return {};
        parser.get().body().clear();
        if (lines.overflowed()) return asio::error::message_size;
        if (parser.is_done()) return asio::error::eof;
        const auto deadline = std::chrono::steady_clock::now() + max_stream_silence;
        const error_code error =
            perform(deadline, [&](auto done) { http::async_read_some(socket, buffer, parser, done); });
        if (error) return error;
    }
}

Result<HttpResponse> HttpLink::Impl::stream(const HttpRequest& request,
                                            const std::function<bool(std::string_view)>& on_line) {
    sent = false;
    const auto deadline = std::chrono::steady_clock::now() + max_stream_start;
    error_code error = write(request, deadline);
    Parser parser;
    parser.body_limit(boost::none);
    parser.header_limit(max_header_bytes);
    if (!error) error = perform(deadline, [&](auto done) { http::async_read_header(socket, buffer, parser, done); });
    const bool streaming = !error && parser.get().result() == http::status::ok;
    if (streaming) {
        error = read_lines(parser, on_line);
    } else if (!error) {
        parser.body_limit(max_body_bytes);
        error = perform(deadline, [&](auto done) { http::async_read(socket, buffer, parser, done); });
    }
    close();
    if (error && !stopped) return unreachable(error);
    if (streaming || stopped) return HttpResponse{200, {}};
    return to_response(parser, sent_at);
}

void HttpLink::Impl::stop() {
    stopped = true;
    asio::post(io, [] {});
}

void HttpLink::Impl::cancel() {
    cancelled = true;
    asio::post(io, [] {});
}

void HttpLink::Impl::resume() {
    cancelled = false;
    sent = false;
}

HttpLink::HttpLink() : impl_(std::make_unique<Impl>()) {}
HttpLink::~HttpLink() = default;
HttpLink::HttpLink(HttpLink&&) noexcept = default;
HttpLink& HttpLink::operator=(HttpLink&&) noexcept = default;

void HttpLink::aim(const std::string& server) {
    impl_->aim(server);
}

Result<void> HttpLink::connect(Duration timeout) {
    return impl_->connect_by(std::chrono::steady_clock::now() + timeout);
}

Result<HttpResponse> HttpLink::send(const HttpRequest& request, Duration timeout) {
    return impl_->send(request, std::chrono::steady_clock::now() + timeout);
}

Result<HttpResponse> HttpLink::stream(const HttpRequest& request,
                                      const std::function<bool(std::string_view)>& on_line) {
    return impl_->stream(request, on_line);
}

void HttpLink::stop() {
    impl_->stop();
}

void HttpLink::cancel() {
    impl_->cancel();
}

void HttpLink::resume() {
    impl_->resume();
}

}  // namespace holdfast::client
