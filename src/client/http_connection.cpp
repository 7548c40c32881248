#include "client/http_connection.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/code.h"
#include "base/lines.h"
#include "client/messages.h"

namespace holdfast::client {

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;
using SteadyTime = std::chrono::steady_clock::time_point;

/// Limits of the time for one server to accept a connection, and to answer a request that other servers can answer too.
constexpr Duration max_connect = 2s;
constexpr Duration answer_min = 250ms;
/// Bounds of the silence allowed to a server while a client's request waits for its turn.
constexpr Duration silence_least = 300ms;
constexpr Duration longest_silence = 5s;
/// The time for all servers together to accept the connection of a stream.
constexpr Duration max_stream_connect = 10s;

bool is_repeatable(const HttpRequest& request) {
    return request.repeatable || request.method == "GET" || request.method == "PUT" || request.method == "DELETE";
}

SteadyTime steady_now() {
    return std::chrono::steady_clock::now();
}

Duration left_until(SteadyTime deadline) {
    return std::max<Duration>(deadline - steady_now(), Duration::zero());
}

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

/// One keep-alive connection to one server at a time. Connects when first used and again after a failure; a request is
/// sent at most once per call.
class HttpConnection::Socket {
 public:
    /// Sets the server for the calls that follow.
    void aim(const std::string& url);
    /// Connects, unless connected. After an error nothing was sent.
    Result<void> connect_by(SteadyTime deadline);
    /// The error names the server and the reason.
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
    bool is_aborted() const { return stopped_ || (cancelled_ && !sent_); }
    bool usable();
    void close();
    Error unreachable(error_code why) const;

    template <class Start>
    error_code perform(SteadyTime deadline, Start start);

    std::string server_;
    ServerAddress address_;
    asio::io_context io_{1};
    tcp::socket socket_{io_};
    tcp::resolver resolver_{io_};
    boost::beast::flat_buffer buffer_;
    SteadyTime last_used_{};
    HolderInstant sent_at_{};  // of the last request
    bool sent_ = false;        // the last request is sent, or is being sent
    std::optional<SteadyTime> last_word_by_;
    std::atomic<bool> stopped_ = false;
    std::atomic<bool> cancelled_ = false;
};

void HttpConnection::Socket::aim(const std::string& url) {
    if (url == server_) return;
    close();
    server_ = url;
    address_ = split_server(url);
}

Result<void> HttpConnection::Socket::connect_by(SteadyTime deadline) {
    sent_ = false;
    const error_code error = connect(deadline);
    if (error) return unreachable(error);
    return {};
}

/// Runs one asynchronous operation to its end, the deadline, stop() or cancel(). The result is shared with the handler,
/// so that name resolution, which cannot be interrupted, may be abandoned; socket operations end as soon as the socket
/// closes.
template <class Start>
error_code HttpConnection::Socket::perform(SteadyTime deadline, Start start) {
    if (is_aborted()) return asio::error::operation_aborted;
    auto result = std::make_shared<std::optional<error_code>>();
    io_.restart();
    start([result](error_code error, auto&&...) { *result = error; });
    while (!*result && !is_aborted()) {
        if (cancelled_) deadline = std::min(deadline, end_of_sending());
        if (steady_now() >= deadline) break;
        io_.run_one_until(deadline);
    }
    if (*result) return **result;
    const bool resolving = !socket_.is_open();
    resolver_.cancel();
    close();
    while (!resolving && !*result)
        io_.run_one();
    return is_aborted() ? error_code(asio::error::operation_aborted) : error_code(asio::error::timed_out);
}

/// Closes the sending half, once. Returns the deadline for the server's answer.
SteadyTime HttpConnection::Socket::end_of_sending() {
    if (!last_word_by_) {
        error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_send, ignored);
        last_word_by_ = steady_now() + max_last_word;
    }
    return *last_word_by_;
}

HttpConnection::Socket::Resolved HttpConnection::Socket::resolve(SteadyTime deadline) {
    error_code not_numeric;
    const auto numeric = asio::ip::make_address(address_.host, not_numeric);
    if (!not_numeric) return {{}, {tcp::endpoint(numeric, address_.port)}};
    auto found = std::make_shared<tcp::resolver::results_type>();
    const error_code error = perform(deadline, [&](auto done) {
        resolver_.async_resolve(address_.host, std::to_string(address_.port),
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

error_code HttpConnection::Socket::connect_to(const tcp::endpoint& endpoint, SteadyTime deadline) {
    // Not inherited by a command that is started under a lease: the server must see the connection close.
    const int descriptor = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return {errno, boost::system::system_category()};
    watch_the_peer(descriptor);
    socket_.assign(endpoint.protocol(), descriptor);
    const error_code error = perform(deadline, [&](auto done) { socket_.async_connect(endpoint, done); });
    if (error) close();
    return error;
}

error_code HttpConnection::Socket::connect(SteadyTime deadline) {
    if (usable()) return {};
    close();
    const Resolved resolved = resolve(deadline);
    if (resolved.error) return resolved.error;
    error_code error = asio::error::host_not_found;
    for (const auto& endpoint : resolved.endpoints) {
        error = connect_to(endpoint, deadline);
        if (!error) last_used_ = steady_now();
        if (!error || is_aborted() || steady_now() >= deadline) break;
    }
    return error;
}

/// An idle connection is unusable if the server has closed it, or has sent bytes with no request outstanding.
bool HttpConnection::Socket::usable() {
    if (!socket_.is_open() || steady_now() - last_used_ > idle_max) return false;
    char byte = 0;
    const auto got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void HttpConnection::Socket::close() {
    error_code ignored;
    socket_.close(ignored);
    buffer_.clear();
}

Error HttpConnection::Socket::unreachable(error_code why) const {
    if (is_aborted()) return {Code::cancelled, fmt::format("the request to {} was cancelled", server_)};
    std::string reason = why.message();
    if (why == asio::error::timed_out) reason = "no answer in time";
    if (why == http::error::end_of_stream) reason = "the connection was closed before an answer came";
    return {Code::unreachable, fmt::format("no answer from {}: {}", server_, reason)};
}

error_code HttpConnection::Socket::write(const HttpRequest& request, SteadyTime deadline) {
    if (const error_code error = connect(deadline)) return error;
    const auto message = to_beast(request, address_.authority());
    if (is_aborted()) return asio::error::operation_aborted;
    sent_ = true;  // from here on the server may have received all of it
    sent_at_ = holder_clock_now();
    return perform(deadline, [&](auto done) { http::async_write(socket_, message, done); });
}

Result<HttpResponse> HttpConnection::Socket::send(const HttpRequest& request, SteadyTime deadline) {
    sent_ = false;
    last_word_by_.reset();
    error_code error = write(request, deadline);
    std::optional<Parser> parser;
    do {  // informational answers only show that the server is there
        parser.emplace();
        parser->body_limit(max_body_bytes);
        parser->header_limit(max_header_bytes);
        const auto sign_by =
            request.max_silence > Duration::zero() ? std::min(deadline, steady_now() + request.max_silence) : deadline;
        if (!error)
            error = perform(sign_by, [&](auto done) { http::async_read_header(socket_, buffer_, *parser, done); });
    } while (!error && parser->get().result_int() / 100 == 1);
    if (!error) error = perform(deadline, [&](auto done) { http::async_read(socket_, buffer_, *parser, done); });
    if (error) {
        close();
        return unreachable(error);
    }
    last_used_ = steady_now();
    if (!parser->get().keep_alive() || last_word_by_) close();
    return to_response(*parser, sent_at_);
}

error_code HttpConnection::Socket::read_lines(Parser& parser, const std::function<bool(std::string_view)>& on_line) {
    LineSplitter lines;
    bool too_long = false;  // the stream is then unusable
    while (true) {
        if (!lines.feed(parser.get().body(), on_line, [&too_long] { too_long = true; })) return {};
        parser.get().body().clear();
        if (too_long) return asio::error::message_size;
        if (parser.is_done()) return asio::error::eof;
        const auto deadline = steady_now() + max_stream_silence;
        const error_code error =
            perform(deadline, [&](auto done) { http::async_read_some(socket_, buffer_, parser, done); });
        if (error) return error;
    }
}

Result<HttpResponse> HttpConnection::Socket::stream(const HttpRequest& request,
                                                    const std::function<bool(std::string_view)>& on_line) {
    sent_ = false;
    const auto deadline = steady_now() + max_stream_start;
    error_code error = write(request, deadline);
    Parser parser;
    parser.body_limit(boost::none);
    parser.header_limit(max_header_bytes);
    if (!error) error = perform(deadline, [&](auto done) { http::async_read_header(socket_, buffer_, parser, done); });
    const bool streaming = !error && parser.get().result() == http::status::ok;
    if (streaming) {
        error = read_lines(parser, on_line);
    } else if (!error) {
        parser.body_limit(max_body_bytes);
        error = perform(deadline, [&](auto done) { http::async_read(socket_, buffer_, parser, done); });
    }
    close();
    if (error && !stopped_) return unreachable(error);
    if (streaming || stopped_) return HttpResponse{200, {}};
    return to_response(parser, sent_at_);
}

void HttpConnection::Socket::stop() {
    stopped_ = true;
    asio::post(io_, [] {});
}

void HttpConnection::Socket::cancel() {
    cancelled_ = true;
    asio::post(io_, [] {});
}

void HttpConnection::Socket::resume() {
    cancelled_ = false;
    sent_ = false;
}

/// One request that is tried on each server in turn.
struct HttpConnection::Attempts {
    HttpConnection& connection;
    SteadyTime deadline;
    std::size_t to_try = connection.servers_->size();
    std::string reasons{};

    /// This server's share of the time that is left, since others can be asked after it.
    Duration share() const { return left_until(deadline) / static_cast<std::int64_t>(to_try + 1); }

    /// Connects to the selected server, or to one after it. REQUIRES: to_try is not zero.
    Result<void> connect() {
        for (;;) {
            connection.place_ = connection.servers_->current();
            connection.socket_->aim(connection.server());
            --to_try;
            const auto by = to_try == 0 ? deadline : steady_now() + std::min(share(), max_connect);
            const auto connected = connection.socket_->connect_by(by);
            if (connected || !goes_on(connected.error())) return told(connected);
        }
    }

    /// The deadline for an answer before the next server is asked.
    SteadyTime answer_by(const HttpRequest& request) const {
        if (to_try == 0 || !is_repeatable(request)) return deadline;
        return std::min(deadline, steady_now() + std::max(share(), answer_min));
    }

    /// Passes over the server that failed with this error. True if there is another server to ask, and time for it.
    bool goes_on(const Error& error) {
        if (error.code == Code::cancelled) return false;
        connection.pass_over();
        reasons += (reasons.empty() ? "" : "; ") + error.message;
        return to_try > 0 && left_until(deadline) > Duration::zero();
    }

    /// Replaces an error by one that names all servers tried.
    template <class T>
    Result<T> told(Result<T> result) const {
        if (result || result.error().code == Code::cancelled) return result;
        return Error{result.error().code, reasons};
    }
};

HttpConnection::HttpConnection(std::shared_ptr<ServerList> servers)
    : servers_(std::move(servers)), socket_(std::make_unique<Socket>()) {}

HttpConnection::~HttpConnection() = default;

void HttpConnection::stop() {
    socket_->stop();
}

void HttpConnection::cancel() {
    socket_->cancel();
}

void HttpConnection::resume() {
    socket_->resume();
}

Duration HttpConnection::max_silence(Duration ttl) const {
    if (servers_->size() == 1) return Duration::zero();
    return ttl > Duration::zero() ? std::clamp<Duration>(ttl / 3, silence_least, longest_silence) : longest_silence;
}

Result<void> HttpConnection::connect(Duration timeout) {
    return Attempts{*this, steady_now() + timeout}.connect();
}

Result<HttpResponse> HttpConnection::send(const HttpRequest& request, Duration timeout) {
    Attempts attempts{*this, steady_now() + timeout};
    perhaps_done_ = false;
    for (;;) {
        if (auto connected = attempts.connect(); !connected) return connected.error();
        auto response = socket_->send(request, attempts.answer_by(request));
        if (!response) {
            perhaps_done_ = perhaps_done_ || response.error().code != Code::cancelled;
            const bool again = attempts.goes_on(response.error()) && is_repeatable(request);
            if (!again) return attempts.told(std::move(response));
            continue;
        }
        const auto absence = absence_in(*response);
        if (!absence) return response;
        const bool undone = *absence == Absence::nothing_done || is_repeatable(request);
        if (!attempts.goes_on(read_error(*response)) || !undone) return response;
        perhaps_done_ = perhaps_done_ || *absence == Absence::unknown;
    }
}

Result<HttpResponse> HttpConnection::stream(const HttpRequest& request,
                                            const std::function<bool(std::string_view)>& on_line) {
    Attempts attempts{*this, steady_now() + max_stream_connect};
    for (;;) {
        const auto connected = attempts.connect();
        if (!connected && connected.error().code == Code::cancelled) return HttpResponse{200, {}};
        if (!connected) return connected.error();
        bool began = false;
        auto response = socket_->stream(request, [&](std::string_view line) {
            began = true;
            return on_line(line);
        });
        if (response && !absence_in(*response)) return response;
        const bool again = attempts.goes_on(response ? read_error(*response) : response.error());
        if (began || !again) return response;
    }
}

}  // namespace holdfast::client
