#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/frame.h"
#include "doors/peer/hmac.h"

namespace holdfast::peer {

/// One direction of a connection once both ends share keys. Every frame ends with a MAC over its number and its
/// content, so that whoever sits in between can neither change, insert, repeat nor leave one out unnoticed. Not
/// encrypted.
class Sealer {
 public:
    explicit Sealer(std::string_view key) : hmac_(key) {}

    /// Appends the frame of this content.
    void append(std::string_view content, std::string& out);

 private:
    Hmac hmac_;
    std::uint64_t number_ = 0;
};

/// The other end of a Sealer.
class Opener {
 public:
    explicit Opener(std::string_view key) : hmac_(key) {}

    /// The content of the next frame, as take_frame() gave it. Nothing if it is not what the other end sent as its
    /// next.
    std::optional<std::string_view> open(std::string_view body);

 private:
    Hmac hmac_;
    std::uint64_t number_ = 0;
};

}  // namespace holdfast::peer
