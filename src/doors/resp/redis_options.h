#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "redis/redis_keys.h"

namespace holdfast::doors::resp {

/// The parsers return a command's options, or this: an error message.
using OptionError = std::string;

inline constexpr std::string_view syntax_error = "syntax error";
inline constexpr std::string_view not_an_integer = "value is not an integer or out of range";
inline constexpr std::string_view instants_refused =
    "leases are timed by the server's clock alone, so an instant of your clock means nothing here: say how long, with "
    "PX, EX, PEXPIRE or EXPIRE";

/// A number of milliseconds or seconds. A time longer than any lease is clamped to such a time, and does not overflow.
enum class TimeUnit : std::uint8_t { milliseconds, seconds };
std::optional<Duration> parse_time(std::string_view text, TimeUnit unit);

/// `[NX|XX] [GET] [PX ms|EX s|KEEPTTL]` of SET. `no_expiry` if none of PX, EX and KEEPTTL is given.
struct SetOptions {
    redis::SetTerms terms;
    bool no_expiry = true;
};
std::variant<SetOptions, OptionError> parse_set_options(std::span<const std::string_view> words);

/// `[NX|XX|GT|LT]` of PEXPIRE.
std::variant<redis::ExpireWhen, OptionError> parse_expire_options(std::span<const std::string_view> words);

/// `[MATCH pattern] [COUNT n] [TYPE type]` of SCAN.
struct ScanOptions {
    std::string_view pattern = "*";
    std::size_t count = 10;
    std::optional<std::string_view> type{};
};
std::variant<ScanOptions, OptionError> parse_scan_options(std::span<const std::string_view> words);

}  // namespace holdfast::doors::resp
