#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/code.h"
#include "doors/http/request.h"

namespace holdfast::doors::http {

inline constexpr std::size_t max_header_bytes = 16 * 1024;
inline constexpr std::size_t max_body_bytes = 1024 * 1024;

/// Parses bytes into requests, one after the other. No I/O. Refuses input that two parsers could understand
/// differently: both kinds of body length, a transfer coding other than `chunked`, two Host fields, HTTP/1.1 without a
/// Host, folded header fields.
class RequestReader {
 public:
    RequestReader();
    ~RequestReader();

    enum class Step { need_more, ready, failed };

    /// Parses more, and removes the bytes it has used from the front of `input`. After `failed` the connection cannot
    /// be used any more.
    Step feed(std::string_view& input);

    /// The request that is ready; the next feed() starts another.
    Request take();

    /// The error to send after `failed`.
    Code failure() const { return failure_; }
    const std::string& detail() const { return detail_; }

    /// The bytes of the body received so far.
    std::size_t held_bytes() const;

    /// True if the beginning of a request was parsed already.
    bool started() const;

    /// True, once, if the client waits for `100 Continue` before it sends the body.
    bool wants_continue();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    Code failure_ = Code::bad_request;
    std::string detail_;

    Step fail(Code code, std::string detail);
    Step finished();
};

}  // namespace holdfast::doors::http
