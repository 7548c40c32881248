#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::peer {

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

}  // namespace holdfast::peer
