#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::codec {

/// A frame is a length, four bytes, big-endian, followed by that number of bytes.
inline constexpr std::size_t frame_header_bytes = 4;

/// Removes the first frame from the input and returns it without its length; nullopt if it is not complete. Error
/// `too_large` as soon as the length is known to be above `most`.
Result<std::optional<std::string_view>> take_frame(std::string_view& input, std::size_t most);

/// Appends a frame.
void append_frame(std::string_view body, std::string& out);

/// Appends only the header; the caller appends the body.
void append_frame_length(std::size_t bytes, std::string& out);

}  // namespace holdfast::codec
