#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace holdfast {

struct HttpRequest {
    std::string method;           ///< GET, POST, PUT, PATCH, DELETE
    std::string target;           ///< path and query, percent-encoded
    std::string body{};           ///< JSON, or empty
    std::string last_event_id{};  ///< for an event stream only
    /// A POST that is answered without a wait and may be sent again when nobody knows whether it was carried out: it is
    /// idempotent, or has an idempotency key (G7). For GET, PUT and DELETE that goes without saying.
    bool repeatable = false;
    /// A server that says nothing for so long, not even that the request still waits, is taken to hang. Zero: only the
    /// timeout counts.
    Duration max_silence{};
};

struct HttpResponse {
    int status = 0;
    std::string body{};
    HolderInstant sent_at{};  ///< when the request that it answers was sent
};

/// One keep-alive connection to one server at a time, used by one thread at a time. Blocking, with a deadline on every
/// call. Connects when first used and again after a failure; a request is sent at most once per call: whether a failed
/// one took effect is for the caller to find out.
class HttpLink {
 public:
    HttpLink();
    ~HttpLink();
    HttpLink(HttpLink&&) noexcept;
    HttpLink& operator=(HttpLink&&) noexcept;

    /// Which server the calls that follow go to. REQUIRES: it was checked with parse_server(); called before all else.
    void aim(const std::string& server);

    /// Success if there is a connection. Otherwise `unreachable`, and nothing was sent.
    Result<void> connect(Duration timeout);

    /// Error code `unreachable` if there was no whole answer in time; the message names the server and the reason.
    Result<HttpResponse> send(const HttpRequest& request, Duration timeout);

    /// Reads a stream of Server-Sent Events until `on_line` returns false, the server closes (error `unreachable`), or
    /// stop() is called (no error). `on_line` gets one line at a time, without its end. An answer other than 200 is
    /// returned.
    Result<HttpResponse> stream(const HttpRequest& request, const std::function<bool(std::string_view)>& on_line);

    /// Ends the call that is under way, from any thread, and every later one: send() then fails with `cancelled`.
    void stop();

    /// Breaks the request off that is under way, from any thread, and every later one until resume(). One that
    /// was not begun to be sent fails with `cancelled`. One that was is ended by closing the sending half, so that the
    /// server gives it up and still says what came of it; it has a second for that.
    void cancel();
    void resume();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
