#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "discovery.pb.h"
#include "discovery/protocol.h"

namespace holdfast::discovery {

// Limits of the wire format. They are wider than those of an advertisement, so that the directory can say which of its
// rules a publisher has broken.
inline constexpr std::size_t max_name_bytes = 4096;
inline constexpr std::size_t max_address_bytes = 512;
inline constexpr std::size_t max_code_bytes = 64;
inline constexpr std::size_t max_message_bytes = 4096;
inline constexpr std::size_t max_key_bytes = 256;  ///< for public keys and signatures
inline constexpr std::size_t max_list = 1024;
inline constexpr std::uint64_t token_limit = 1ULL << 53;  ///< G3
inline constexpr std::int64_t time_ms_limit = 1LL << 53;  ///< so that times can be added without overflow
inline constexpr Duration max_time = 49 * 24h;            ///< the longest remaining time of a lease; fits in 32 bits

/// Records the first error in a message.
class Check {
 public:
    /// Returns `holds`.
    bool that(bool holds, std::string_view what) {
        if (!holds && why_.empty()) why_ = what;
        return holds;
    }
    /// Moves the text if it is within the limit.
    void text(std::string& from, std::size_t most, std::string& to) {
        if (that(from.size() <= most, "a text is too long")) to = std::move(from);
    }
    bool fails() const { return !why_.empty(); }
    Error error() const { return {"malformed", why_}; }

 private:
    std::string why_;
};

/// Clamped to the range of the wire format.
inline std::uint32_t to_wire_ms(Duration duration) {
    if (duration <= Duration{0}) return 0;
    return static_cast<std::uint32_t>(to_ms(std::min(duration, max_time)));
}

inline Duration from_wire_ms(std::uint32_t ms, Check& check) {
    const Duration duration = std::chrono::milliseconds{ms};
    check.that(duration <= max_time, "a time is out of range");
    return duration;
}

}  // namespace holdfast::discovery
