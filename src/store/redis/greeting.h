#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/resp/redis_address.h"
#include "codec/resp/resp_value.h"
#include "store/redis/scripts.h"
#include "store/redis/stored.h"

namespace holdfast::store::redis {

/// What a Redis reports about itself in a greeting.
struct Facts {
    std::string run_id{};
    std::string replication_id{};  ///< changes on failover, and when it adopts the data of another server
    std::string version{};
    std::string node_id{};  ///< in a cluster
    std::int64_t client_id = 0;
    bool is_master = false;  ///< always true outside a cluster
    bool in_cluster = false;
    std::uint64_t evicted = 0;  ///< keys, since its start
    Micros time = 0;
    ScriptNames scripts{};
};

/// The commands of a greeting, each complete, in the order of their replies.
struct Greeting {
    static std::vector<std::string> commands(const codec::resp::RedisAddress& address);

    /// Takes the raw replies, with errors as values. An error says why this Redis cannot be used.
    static Result<Facts> read(const codec::resp::RedisAddress& address, const std::vector<codec::resp::Value>& answers);
};

/// The value of the INFO line `name:value`; empty if there is none.
std::string_view info_field(std::string_view info, std::string_view name);

/// Why a Redis may evict keys, from its INFO; empty if it may not.
std::string why_evicting(std::string_view info);
/// The number of keys evicted since its start, from its INFO.
std::uint64_t evicted_keys(std::string_view info);

/// The commands needed before a subscription.
std::vector<std::string> credentials(const codec::resp::RedisAddress& address);

/// The key at `index` among the keys of a command written by this engine; empty if there is none.
std::string key_of(std::string_view command, std::size_t index = 0);

/// Text from an engine, made safe for a message: bounded, and without control characters.
std::string quoted(std::string_view text);

}  // namespace holdfast::store::redis
