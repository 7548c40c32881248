#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
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

    /// No other load generator has it, also not an earlier one whose leases are still held. Locks beyond `locks_each`
    /// are for leases that are held, and renewed.
    std::string lock_name(std::uint32_t client, std::uint32_t lock) const;
    std::string holder_name(std::uint32_t client) const;
};

/// The pause of a client before it asks again, after an error.
inline constexpr std::chrono::milliseconds retry_pause{5};

/// Acquire and release; renew one lease; renew many of them by one request.
enum class Operation : std::uint8_t { cycle, renew, heartbeat };

inline constexpr std::uint32_t leases_of_a_heartbeat = 100;

/// What a client must hold before it can begin.
constexpr std::uint32_t leases_to_hold(Operation operation) {
    return operation == Operation::heartbeat ? leases_of_a_heartbeat : operation == Operation::renew ? 1 : 0;
}

/// Clients that all ask, one operation after the other, until the time is up.
class Load {
 public:
    virtual ~Load() = default;
    /// Until there is what must be there before it is measured: connections, a history of the locks, and all leases
    /// that are to be renewed. Throws if they cannot be had.
    void get_ready(Operation operation);
    /// Clients that do not hold enough acquire first; that is not scored.
    virtual void run(Operation operation, SteadyClock::time_point until, Score& score) = 0;

 protected:
    virtual bool all_hold(std::uint32_t leases) const = 0;
};

/// CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,PORT,… from `arguments`, beginning at `first`. Throws what is wrong.
Setting read_setting(const std::vector<std::string>& arguments, std::size_t first);

/// Takes orders from standard input, one line each: `cycle|renew|heartbeat SECONDS`. Says `ready` when the measurement
/// begins, and answers with a line of JSON. The exit code.
int serve_orders(Load& load);

/// The whole of a program whose load works in one of two ways, the one that its first argument names: `make` is told
/// whether that is the first of them. The exit code.
using MakeLoad = std::function<std::unique_ptr<Load>(Setting setting, bool first_way)>;
int run_load(int argc, char** argv, const std::array<std::string, 2>& ways, const MakeLoad& make);

}  // namespace holdfast::bench
