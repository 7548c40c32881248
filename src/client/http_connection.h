#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "client/server_address.h"

namespace holdfast::client {

struct HttpRequest {
    std::string method;           ///< GET, POST, PUT, PATCH, DELETE
    std::string target;           ///< path and query, percent-encoded
    std::string body{};           ///< JSON, or empty
    std::string last_event_id{};  ///< for an event stream only
    /// A POST that is answered without a wait and may be repeated when it is not known whether it was executed: it is
    /// idempotent, or has an idempotency key (G7). GET, PUT and DELETE are always repeatable.
    bool repeatable = false;
    /// A server that sends nothing for this long, not even a sign that the request still waits, is considered hung.
    /// Zero: only the timeout applies.
    Duration max_silence{};
};

struct HttpResponse {
    int status = 0;
    std::string body{};
    HolderInstant sent_at{};  ///< when the answered request was sent
};

/// A connection to the first of several servers that is available, used by one thread at a time. Blocking, with a
/// deadline on every call. Connects when first used and again after a failure.
///
/// A server that cannot be reached, loses the connection, or answers that it is stopping or unavailable is passed over:
/// the next request goes to the next server. The failed request is retried there too, within its timeout and once per
/// server, if that is safe: if nothing was sent, or nothing was done, or the request is repeatable. So with one server
/// a request is sent at most once per call; the caller must find out whether a failed request took effect.
class HttpConnection {
 public:
    /// REQUIRES: the servers were checked with parse_servers().
    explicit HttpConnection(std::string_view servers) : HttpConnection(std::make_shared<ServerList>(servers)) {}
    explicit HttpConnection(std::shared_ptr<ServerList> servers);
    ~HttpConnection();
    HttpConnection(const HttpConnection&) = delete;
    HttpConnection& operator=(const HttpConnection&) = delete;

    /// Connects, unless connected. Error code `unreachable`; then nothing was sent.
    Result<void> connect(Duration timeout);

    /// Error code `unreachable` if no complete answer arrived in time; the message names the servers and the reasons.
    Result<HttpResponse> send(const HttpRequest& request, Duration timeout);

    /// Reads a stream of Server-Sent Events until `on_line` returns false, the server closes (error `unreachable`), or
    /// stop() is called (no error). `on_line` gets one line at a time, without its line end. An answer other than 200
    /// is returned. A stream that has begun is not restarted on another server: the caller does that, since it knows
    /// how far it got.
    Result<HttpResponse> stream(const HttpRequest& request, const std::function<bool(std::string_view)>& on_line);

    /// Passes over the last server: its answer shows that it cannot serve requests.
    void pass_over() { servers_->pass_over(place_); }

    /// How long a server may be silent before another is asked for a lease of this TTL (zero: the default TTL), no
    /// matter how long the request may wait: a third of the TTL, and a few seconds at most. Zero if there is no other
    /// server.
    Duration max_silence(Duration ttl) const;

    std::size_t servers() const { return servers_->size(); }
    bool has_several_servers() const { return servers() > 1; }

    /// The server that was asked last, or will be asked first.
    const std::string& server() const { return servers_->at(place_); }

    /// Ends the current call, from any thread, and every later one: send() then fails with `cancelled`.
    void stop();

    /// Cancels the current request, from any thread, and every later one until resume(). A request whose sending has
    /// not begun fails with `cancelled`. Otherwise the sending half of the connection is closed, so that the server
    /// gives the request up and still answers with its result; it has one second for that.
    void cancel();
    void resume();

    /// True if a server may have executed the last request that got no answer.
    bool perhaps_done() const { return perhaps_done_; }

 private:
    class Socket;
    struct Attempts;

    const std::shared_ptr<ServerList> servers_;
    std::size_t place_ = 0;
    bool perhaps_done_ = false;
    const std::unique_ptr<Socket> socket_;
};

}  // namespace holdfast::client
