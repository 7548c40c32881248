#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

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

/// One keep-alive connection to one server at a time, used by one thread at a time. Blocking, with a deadline on every
/// call. Connects when first used and again after a failure; a request is sent at most once per call. The caller must
/// find out whether a failed request took effect.
class HttpLink {
 public:
    HttpLink();
    ~HttpLink();
    HttpLink(HttpLink&&) noexcept;
    HttpLink& operator=(HttpLink&&) noexcept;

    /// Sets the server for the calls that follow. REQUIRES: it was checked with parse_server(); called before any other
    /// function.
    void aim(const std::string& server);

    /// Connects, unless connected. Error code `unreachable`; then nothing was sent.
    Result<void> connect(Duration timeout);

    /// Error code `unreachable` if no complete answer arrived in time; the message names the server and the reason.
    Result<HttpResponse> send(const HttpRequest& request, Duration timeout);

    /// Reads a stream of Server-Sent Events until `on_line` returns false, the server closes (error `unreachable`), or
    /// stop() is called (no error). `on_line` gets one line at a time, without its line end. An answer other than 200
    /// is returned.
    Result<HttpResponse> stream(const HttpRequest& request, const std::function<bool(std::string_view)>& on_line);

    /// Ends the current call, from any thread, and every later one: send() then fails with `cancelled`.
    void stop();

    /// Cancels the current request, from any thread, and every later one until resume(). A request whose sending has
    /// not begun fails with `cancelled`. Otherwise the sending half of the connection is closed, so that the server
    /// gives the request up and still answers with its result; it has one second for that.
    void cancel();
    void resume();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::client
