#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast {

/// Where a Redis, or Holdfast's RESP door, listens.
struct RedisAddress {
    std::string host = "127.0.0.1";
    std::uint16_t port = 7401;
    std::string user{};  ///< empty: the default user
    std::string password{};
    std::uint32_t database = 0;

    /// Without the password: for messages.
    std::string shown() const;

    bool operator==(const RedisAddress&) const = default;
};

/// Reads `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`; the port may be left out: 6379. User and password are
/// percent-decoded. The error says what is wrong and never repeats the password.
Result<RedisAddress> parse_redis(std::string_view url);

/// The address to use: the argument, or HOLDFAST_REDIS, or Holdfast's own door, redis://127.0.0.1:7401.
std::string default_redis(std::string_view given = {});

}  // namespace holdfast
