#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/code.h"
#include "doors/http/request.h"

namespace holdfast::http {

inline constexpr std::size_t max_header_bytes = 16 * 1024;
inline constexpr std::size_t max_body_bytes = 1024 * 1024;

/// Bytes to requests, one after the other. No I/O. Refuses what two readers could understand differently: both lengths
/// of a body, a transfer coding that is not `chunked`, two Host fields, HTTP/1.1 without any, fields over several
/// lines.
class RequestReader {
 public:
    RequestReader();
    ~RequestReader();

    enum class Step { need_more, ready, failed };

    /// Reads on, and takes what it has used off the front of `input`. After `failed` the connection is of no more use.
    Step feed(std::string_view& input);

    /// The request that is ready; the next feed() starts another.
    Request take();

    /// What to answer after `failed`.
    core::Code failure() const { return failure_; }
    const std::string& detail() const { return detail_; }

    /// What has arrived of a body.
    std::size_t held_bytes() const;

    /// True if the beginning of a request was used up already.
    bool started() const;

    /// True, once, if the client waits for `100 Continue` before it sends the body.
    bool wants_continue();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    core::Code failure_ = core::Code::bad_request;
    std::string detail_;

    Step fail(core::Code code, std::string detail);
    Step finished();
};

}  // namespace holdfast::http
