#include "doors/peer/frames.h"

#include "base/assert.h"

namespace holdfast::peer {
namespace {

Hmac::Digest seal_of(Hmac& hmac, std::uint64_t number, std::string_view content) {
    const auto counted = big_endian(number);
    return hmac.of({{counted.data(), counted.size()}, content});
}

void append_length(std::size_t bytes, std::string& out) {
    const auto length = big_endian(static_cast<std::uint32_t>(bytes));
    out.append(length.data(), length.size());
}

}  // namespace

Result<std::optional<std::string_view>> take_frame(std::string_view& input, std::size_t most) {
    if (input.size() < frame_header_bytes) return std::optional<std::string_view>();
    const std::size_t bytes = from_big_endian(input);
    if (bytes > most)
        return Error{"too_large", "a frame of " + std::to_string(bytes) + " bytes, where at most " +
                                      std::to_string(most) + " are allowed"};
    if (input.size() < frame_header_bytes + bytes) return std::optional<std::string_view>();
    const std::string_view body = input.substr(frame_header_bytes, bytes);
    input.remove_prefix(frame_header_bytes + bytes);
    return std::optional(body);
}

void append_frame(std::string_view body, std::string& out) {
    append_length(body.size(), out);
    out += body;
}

void Sealer::append(std::string_view content, std::string& out) {
    append_length(content.size() + Hmac::bytes, out);
    out += content;
    out += view(seal_of(hmac_, number_++, content));
}

std::optional<std::string_view> Opener::open(std::string_view body) {
    if (body.size() < Hmac::bytes) return std::nullopt;
    const std::string_view content = body.substr(0, body.size() - Hmac::bytes);
    if (!equal_secrets(view(seal_of(hmac_, number_, content)), body.substr(content.size()))) return std::nullopt;
    ++number_;
    return content;
}

}  // namespace holdfast::peer
