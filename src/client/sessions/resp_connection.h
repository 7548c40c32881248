#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "codec/resp/redis_address.h"
#include "codec/resp/resp_value.h"

namespace holdfast::client::sessions {

/// One connection to a Redis or to Holdfast's RESP door, used by one thread at a time. Blocking, with a deadline on
/// every call. Connects when first used and again after a failure, with AUTH and SELECT if the address asks for them.
/// Commands are sent at most once per call; the caller must find out whether those of a failed call took effect. After
/// a failure the connection is reset rather than closed, so that unsent bytes are never sent.
class RespConnection {
 public:
    explicit RespConnection(codec::resp::RedisAddress address);
    ~RespConnection();
    RespConnection(const RespConnection&) = delete;
    RespConnection& operator=(const RespConnection&) = delete;

    /// Encoded commands, and their number.
    struct Batch {
        std::string bytes{};
        std::size_t commands = 0;
    };

    /// Connects if necessary, also if the store has closed the connection since. True if the connection is new. Error
    /// code `unreachable`, `cancelled`, or `refused` if the store answered AUTH or SELECT with an error.
    Result<bool> open(Duration timeout);
    /// Sends all commands, and returns one value per command; error replies are values. Error code `unreachable` or
    /// `cancelled`. REQUIRES: open() succeeded.
    Result<std::vector<codec::resp::Value>> exchange(const Batch& batch, Duration timeout);

    /// Drops the connection; the next open() makes a new one.
    void reset();

    /// Ends the current call, from any thread, and every later one: they fail with `cancelled`.
    void stop();

    const codec::resp::RedisAddress& address() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::client::sessions
