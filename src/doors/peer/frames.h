#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/frame.h"
#include "doors/peer/hmac.h"

namespace holdfast::peer {

/// Seals one direction of a connection, once both ends share keys. Every frame ends with a MAC over its sequence number
/// and its content, so that an attacker in between cannot change, insert, replay or drop a frame unnoticed. Frames are
/// not encrypted.
class Sealer {
 public:
    explicit Sealer(std::string_view key) : hmac_(key) {}

    /// Appends a frame with this content.
    void append(std::string_view content, std::string& out);

 private:
    Hmac hmac_;
    std::uint64_t number_ = 0;
};

/// The receiving end of a Sealer.
class Opener {
 public:
    explicit Opener(std::string_view key) : hmac_(key) {}

    /// Returns the content of the next frame. `body` comes from take_frame(). Returns nothing if the MAC does not match
    /// the frame that the other end sent next.
    std::optional<std::string_view> open(std::string_view body);

 private:
    Hmac hmac_;
    std::uint64_t number_ = 0;
};

}  // namespace holdfast::peer
