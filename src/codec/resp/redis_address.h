#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::codec::resp {

/// The address of a Redis, or of Holdfast's RESP door.
struct RedisAddress {
    std::string host = "127.0.0.1";
    std::uint16_t port = 7401;
    std::string user{};  ///< empty for the default user
    std::string password{};
    std::uint32_t database = 0;

    /// Without the password: for messages.
    std::string shown() const;

    bool operator==(const RedisAddress&) const = default;
};

/// Parses `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`; the default port is 6379. User and password are
/// percent-decoded. The error says what is wrong and never repeats the password.
Result<RedisAddress> parse_redis(std::string_view url);

/// The address to use: the argument, or HOLDFAST_REDIS, or Holdfast's own door, redis://127.0.0.1:7401.
std::string default_redis(std::string_view given = {});

}  // namespace holdfast::codec::resp
