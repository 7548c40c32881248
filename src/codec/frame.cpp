#include "codec/frame.h"

#include <cstdint>

namespace holdfast::codec {

Result<std::optional<std::string_view>> take_frame(std::string_view& input, std::size_t most) {
    if (input.size() < frame_header_bytes) return std::optional<std::string_view>();
    std::uint32_t bytes = 0;
    for (const char byte : input.substr(0, frame_header_bytes))
        bytes = bytes << 8 | static_cast<unsigned char>(byte);
    if (bytes > most)
        return Error{Code::too_large, "a frame of " + std::to_string(bytes) + " bytes, where at most " +
                                          std::to_string(most) + " are allowed"};
    if (input.size() < frame_header_bytes + bytes) return std::optional<std::string_view>();
    const std::string_view body = input.substr(frame_header_bytes, bytes);
    input.remove_prefix(frame_header_bytes + bytes);
    return std::optional(body);
}

void append_frame(std::string_view body, std::string& out) {
    append_frame_length(body.size(), out);
    out += body;
}

void append_frame_length(std::size_t bytes, std::string& out) {
    for (const int shift : {24, 16, 8, 0})
        out += static_cast<char>(bytes >> shift & 0xff);
}

}  // namespace holdfast::codec
