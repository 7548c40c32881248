#include "doors/http/request_reader.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "base/assert.h"

namespace holdfast::doors::http {
namespace {

namespace beast = boost::beast;
using Parser = beast::http::request_parser<beast::http::string_body>;
using Message = Parser::value_type;
using Field = beast::http::field;

std::string text_of(const Message& message, Field field) {
    const auto value = message[field];
    return {value.data(), value.size()};
}

std::string text_of(const Message& message, const char* name) {
    const auto value = message[name];
    return {value.data(), value.size()};
}

Code code_for(beast::error_code error) {
    if (error == beast::http::error::header_limit) return Code::header_too_large;
    if (error == beast::http::error::body_limit) return Code::body_too_large;
    return Code::bad_request;
}

/// True if a header field is folded onto the next line (RFC 9112, 5.2), which parsers understand differently.
bool is_folded(std::string_view header) {
    header = header.substr(0, header.find("\r\n\r\n"));
    return header.find("\n ") != std::string_view::npos || header.find("\n\t") != std::string_view::npos;
}

/// Splits the target, which may also be a whole URL; then its authority counts as the Host (RFC 9112, 3.2.2).
void split_target(std::string target, Request& request) {
    static constexpr std::string_view scheme = "http://";
    if (target.starts_with(scheme)) {
        const std::size_t path = std::min(target.find_first_of("/?", scheme.size()), target.size());
        request.host = target.substr(scheme.size(), path - scheme.size());
        target.erase(0, path);
        if (!target.starts_with('/')) target = '/' + target;
    }
    const std::size_t question = target.find('?');
    if (question != std::string::npos) {
        request.query = target.substr(question + 1);
        target.erase(question);
    }
    request.path = std::move(target);
}

}  // namespace

struct RequestReader::Impl {
    std::optional<Parser> parser;
    std::size_t header_bytes = 0;
    bool told_to_continue = false;

    void restart() {
        parser.emplace();
        parser->header_limit(max_header_bytes);
        parser->body_limit(max_body_bytes);
        header_bytes = 0;
        told_to_continue = false;
    }
};

RequestReader::RequestReader() : impl_(std::make_unique<Impl>()) {
    impl_->restart();
}
RequestReader::~RequestReader() = default;

std::size_t RequestReader::held_bytes() const {
    return impl_->parser ? impl_->parser->get().body().size() : 0;
}

RequestReader::Step RequestReader::fail(Code code, std::string detail) {
    failure_ = code;
    detail_ = std::move(detail);
    return Step::failed;
}

RequestReader::Step RequestReader::feed(std::string_view& input) {
    // Empty lines before a request are ignored (RFC 9112, 2.2).
    while (!started() && input.starts_with("\r\n"))
        input.remove_prefix(2);
    Parser& parser = *impl_->parser;
    while (!parser.is_done()) {
        if (input.empty()) return Step::need_more;
        const bool in_header = !parser.is_header_done();
        beast::error_code error;
        const std::size_t used = parser.put(boost::asio::const_buffer(input.data(), input.size()), error);
        if (in_header && is_folded(input.substr(0, used)))
            return fail(Code::bad_request, "a header field goes on in the next line; write each in one line");
        input.remove_prefix(used);
        // The parser applies its own limit to the request line and to the fields separately.
        if (in_header) impl_->header_bytes += used;
        if (impl_->header_bytes > max_header_bytes) return fail(Code::header_too_large, {});
        if (error == beast::http::error::need_more) return Step::need_more;
        if (error) return fail(code_for(error), {});
    }
    return finished();
}

RequestReader::Step RequestReader::finished() {
    const Message& message = impl_->parser->get();
    const std::size_t hosts = message.count(Field::host);
    if (hosts > 1) return fail(Code::bad_request, "there is more than one Host");
    if (hosts == 0 && message.version() >= 11) return fail(Code::bad_request, "HTTP/1.1 needs a Host");
    if (message.count(Field::origin) > 1) return fail(Code::bad_request, "there is more than one Origin");
    if (message.count("Sec-Fetch-Site") > 1) return fail(Code::bad_request, "there is more than one Sec-Fetch-Site");
    if (message.count(Field::transfer_encoding) > 0 && !impl_->parser->chunked())
        return fail(Code::bad_request, "the only Transfer-Encoding known here is chunked");
    return Step::ready;
}

Request RequestReader::take() {
    HOLDFAST_ASSERT(impl_->parser->is_done());
    Message& message = impl_->parser->get();
    Request request;
    request.method = std::string(message.method_string());
    request.host = text_of(message, Field::host);
    request.origin = text_of(message, Field::origin);
    request.has_origin = message.count(Field::origin) > 0;
    request.fetch_site = text_of(message, "Sec-Fetch-Site");
    request.has_fetch_site = message.count("Sec-Fetch-Site") > 0;
    request.content_type = text_of(message, Field::content_type);
    request.last_event_id = text_of(message, "Last-Event-ID");
    request.progress_ms = text_of(message, "Holdfast-Progress-Ms");
    request.signature = text_of(message, "Holdfast-Signature");
    request.has_last_event_id = message.count("Last-Event-ID") > 0;
    request.http_1_0 = message.version() < 11;
    request.keep_alive = message.keep_alive();
    request.body = std::move(message.body());
    split_target(std::string(message.target()), request);
    impl_->restart();
    return request;
}

bool RequestReader::started() const {
    return impl_->parser->got_some();
}

bool RequestReader::wants_continue() {
    const Parser& parser = *impl_->parser;
    if (impl_->told_to_continue || !parser.is_header_done() || parser.is_done()) return false;
    const auto expect = parser.get()[Field::expect];
    if (parser.get().version() < 11 || !beast::iequals(expect, "100-continue")) return false;
    impl_->told_to_continue = true;
    return true;
}

}  // namespace holdfast::doors::http
