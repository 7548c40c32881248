#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "client/sessions/session_leases.h"
#include "codec/resp/resp_value.h"

namespace holdfast::client::sessions {

/// The keys, values and scripts that pollers share on a Redis (O1), to the byte.
inline constexpr std::string_view lease_key_prefix = "poll:lease:";
inline constexpr std::string_view node_key_prefix = "poll:node:";
inline constexpr std::string_view renew_script =
    "if redis.call(\"GET\", KEYS[1]) == ARGV[1] then return redis.call(\"PEXPIRE\", KEYS[1], ARGV[2]) "
    "else return 0 end";
inline constexpr std::string_view release_script =
    "if redis.call(\"GET\", KEYS[1]) == ARGV[1] then return redis.call(\"DEL\", KEYS[1]) else return 0 end";
/// Their SHA-1, for EVALSHA.
inline constexpr std::string_view renew_script_sha = "c50343e01dd9310b37fcced0dccd5ac1eecff492";
inline constexpr std::string_view release_script_sha = "013976d92eab7585a652ddbf0f4ae3746f38b191";

/// Writes requests as RESP commands and reads their answers.
class LeaseCommands {
 public:
    LeaseCommands(std::string instance, Duration lease_ttl, Duration node_ttl);

    void write(std::string& out, const LeaseRequest& request) const;
    /// As write(), with the full text of the script: for a store that answered NOSCRIPT.
    void write_in_full(std::string& out, const LeaseRequest& request) const;
    static LeaseAnswer read(const LeaseRequest& request, const codec::resp::Value& value);
    static bool is_unknown_script(const codec::resp::Value& value) {
        return value.is_error() && value.text.starts_with("NOSCRIPT");
    }

    void write_heartbeat(std::string& out) const;
    void write_farewell(std::string& out) const;
    /// A lower bound of the time since the store may last have lost data, from its answer to INFO; zero if unknown.
    /// Nothing for Holdfast, which recovers by itself (S1).
    static std::optional<Duration> read_memory_age(const codec::resp::Value& info);
    static void write_scan(std::string& out, std::string_view cursor);
    static void write_node_ttl(std::string& out, std::string_view instance);

 private:
    void write(std::string& out, const LeaseRequest& request, bool in_full) const;

    std::string instance_;
    std::string lease_ttl_ms_;
    std::string node_ttl_;
    bool node_ttl_in_seconds_;
};

}  // namespace holdfast::client::sessions
