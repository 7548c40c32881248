#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/resp/redis_address.h"
#include "codec/resp/resp_value.h"
#include "store/redis/scripts.h"
#include "store/redis/stored.h"

namespace holdfast::redis_engine {

/// What a Redis says of itself when it is greeted.
struct Facts {
    std::string run_id{};
    std::string replication_id{};  ///< changes when it takes over from another, or takes over what another has
    std::string version{};
    std::string node_id{};  ///< of a node of a cluster
    std::int64_t client_id = 0;
    bool is_master = false;  ///< always, unless in a cluster
    bool in_cluster = false;
    std::uint64_t evicted = 0;  ///< keys, since it was started
    Micros time = 0;
    ScriptNames scripts{};
};

/// The commands of a greeting, each whole, in the order of their answers.
struct Greeting {
    static std::vector<std::string> commands(const RedisAddress& address);

    /// Error: it cannot be used, and why. The answers as they came; errors among them as values.
    static Result<Facts> read(const RedisAddress& address, const std::vector<resp::Value>& answers);
};

/// The value of a line `name:value` of INFO; empty if there is none.
std::string_view info_field(std::string_view info, std::string_view name);

/// Why a Redis may evict keys, by its INFO; empty if it may not.
std::string why_evicting(std::string_view info);
/// The number of keys that it has evicted since it was started, by its INFO.
std::uint64_t evicted_keys(std::string_view info);

/// Only what is needed before a subscription.
std::vector<std::string> credentials(const RedisAddress& address);

/// The key that a command of ours is about, or that of several; empty if it is about none.
std::string key_of(std::string_view command, std::size_t index = 0);

/// What an engine says, fit for a message: bounded, and without control characters.
std::string quoted(std::string_view text);

}  // namespace holdfast::redis_engine
