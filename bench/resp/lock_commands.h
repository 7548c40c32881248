#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/resp/resp_value.h"

namespace holdfast::bench {

enum class Operation : std::uint8_t { acquire, renew, release };

/// The locks that are taken, and how one asks for them. Every lock has a name and a holder of its own, of fixed length.
class LockCommands {
 public:
    virtual ~LockCommands() = default;

    /// Appends the command for one lock.
    virtual void ask(std::string& out, Operation operation, std::uint32_t lock) = 0;

    /// The bytes of a good reply, if they are always the same: comparing them is cheaper than reading them.
    virtual std::string_view good_reply(Operation) const { return {}; }

    /// True if the reply is a good one.
    virtual bool understand(Operation operation, std::uint32_t lock, const codec::resp::Value& reply) = 0;
};

/// What a lock library says to Redis: SET NX PX, and scripts that compare the holder.
struct RedisScripts {
    std::string renew;  ///< names of loaded scripts, as SCRIPT LOAD gave them
    std::string release;
};
std::unique_ptr<LockCommands> redis_locks(RedisScripts scripts, std::string one_holder, std::uint32_t ttl_ms);

/// What a Holdfast client says: LEASE.ACQUIRE and, with the token it was given, LEASE.RENEW and LEASE.RELEASE.
std::unique_ptr<LockCommands> lease_locks(std::uint32_t locks, std::uint32_t ttl_ms);

}  // namespace holdfast::bench
