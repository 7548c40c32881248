#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "score.h"

namespace holdfast::bench {

/// What a load generator is told once. Each client has locks of its own, which it takes and releases in turn, and is at
/// home at one of the nodes; when that fails it goes to the next one.
struct Setting {
    std::uint32_t clients = 1;
    std::uint32_t locks_each = 100;
    std::uint32_t ttl_ms = 300'000;
    std::chrono::milliseconds attempt_time{1000};  ///< of a client; then it asks the next node
    std::vector<std::uint16_t> ports;              ///< of the nodes, on loopback

    std::string lock_name(std::uint32_t client, std::uint32_t lock) const;
    std::string holder_name(std::uint32_t client) const;
};

/// The pause of a client before it asks again, after an error.
inline constexpr std::chrono::milliseconds retry_pause{5};

enum class Operation : std::uint8_t { cycle, renew };  ///< acquire and release; or renew

/// Clients that all ask, one operation after the other, until the time is up.
class Load {
 public:
    virtual ~Load() = default;
    /// What must be there before it is measured: connections, and leases to renew.
    virtual void get_ready(Operation operation) = 0;
    virtual void run(Operation operation, SteadyClock::time_point until, Score& score) = 0;
};

/// CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,PORT,… from `arguments`, beginning at `first`. Throws what is wrong.
Setting read_setting(const std::vector<std::string>& arguments, std::size_t first);

/// Takes orders from standard input, one line each: `cycle|renew SECONDS`. Says `ready` when the measurement begins,
/// and answers with a line of JSON. The exit code.
int serve_orders(Load& load);

}  // namespace holdfast::bench
