#include "doors/peer/frames.h"

namespace holdfast::peer {
namespace {

Hmac::Digest seal_of(Hmac& hmac, std::uint64_t number, std::string_view content) {
    const auto counted = big_endian(number);
    return hmac.of({{counted.data(), counted.size()}, content});
}

}  // namespace

void Sealer::append(std::string_view content, std::string& out) {
    append_frame_length(content.size() + Hmac::bytes, out);
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
