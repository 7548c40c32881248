#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/code.h"
#include "base/result.h"
#include "base/time.h"

namespace holdfast::doors::http {

/// A response before it is serialised.
struct Response {
    int status = 200;
    std::string body{};
    std::optional<Code> code{};          ///< why it is not a plain success, for the metrics
    std::optional<Duration> retry_in{};  ///< becomes Retry-After on a 503
    std::string allow{};                 ///< the methods that this path accepts, on a 405
    std::string_view content_type = "application/json";
};

/// The HTTP status of each code, as docs/http-api.md lists them.
int status_of(Code code);
/// The code to answer with: `storage_failed` for a failure on this side that has no code of docs/http-api.md.
Code answer_code(const ErrorCode& code);

/// The detail, or the code's own advice if there is none. Safe to put into JSON, even if a library wrote the detail.
std::string message_of(Code code, std::string_view detail);

/// `{"error": {code, message}}`. Without a detail the message is the code's own advice.
Response failure(Code code, std::string_view detail = {}, std::optional<Duration> retry_in = {});
Response failure(const Error& error);

/// How to serialise a response.
struct Framing {
    bool keep_alive = true;
    bool http_1_0 = false;  ///< keep-alive must be stated explicitly
    bool head_only = false;
    std::string_view date{};
};
void append(std::string& out, const Response& response, const Framing& framing);

/// The head of an event stream, which ends with the connection.
void append_stream_head(std::string& out, std::string_view date);

/// `Sun, 15 Nov 2026 12:00:00 GMT`.
std::string http_date(std::int64_t wall_ms);

}  // namespace holdfast::doors::http
