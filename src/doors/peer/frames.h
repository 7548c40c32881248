#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "codec/frame.h"

namespace holdfast::doors::peer {

/// HMAC-SHA256 under one key.
class Hmac {
 public:
    static constexpr std::size_t bytes = 32;
    using Digest = std::array<char, bytes>;

    explicit Hmac(std::string_view key);
    ~Hmac();
    Hmac(Hmac&&) noexcept;
    Hmac& operator=(Hmac&&) noexcept;

    /// MACs the parts, each prefixed with its length, so that no two lists of parts encode to the same bytes.
    Digest of(std::initializer_list<std::string_view> parts);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

inline std::string_view view(const Hmac::Digest& digest) {
    return {digest.data(), digest.size()};
}

/// Compares in constant time.
bool equal_secrets(std::string_view a, std::string_view b);

/// Cryptographically random bytes.
std::string random_bytes(std::size_t count);

/// The encoding of numbers under a MAC.
std::array<char, 4> big_endian(std::uint32_t number);
std::array<char, 8> big_endian(std::uint64_t number);

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

}  // namespace holdfast::doors::peer
