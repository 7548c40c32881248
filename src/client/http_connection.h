#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "client/http_link.h"
#include "client/server_address.h"

namespace holdfast::client {

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
    explicit HttpConnection(std::shared_ptr<ServerList> servers) : servers_(std::move(servers)) {}

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
    void stop() { link_.stop(); }

    /// As HttpLink::cancel().
    void cancel() { link_.cancel(); }
    void resume() { link_.resume(); }

    /// True if a server may have executed the last request that got no answer.
    bool perhaps_done() const { return perhaps_done_; }

 private:
    struct Attempts;

    std::shared_ptr<ServerList> servers_;
    std::size_t place_ = 0;
    bool perhaps_done_ = false;
    HttpLink link_;
};

/// Checks `http://HOST:PORT` (the default port is 7400; a trailing slash is allowed). The error says what is wrong.
Result<std::string> parse_server(std::string_view url);

/// Checks one such address, or several separated by commas. Returns them without duplicates.
Result<std::string> parse_servers(std::string_view urls);

/// The servers to use: the argument, or HOLDFAST_SERVER, or http://127.0.0.1:7400.
std::string default_server(std::string_view given = {});

}  // namespace holdfast::client
