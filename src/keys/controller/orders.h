#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keys/controller/key.h"

namespace holdfast::keys::controller {

/// How a drone detects that a backend is ready.
struct Readiness {
    enum class How : std::uint8_t { tcp, http, started };
    How how = How::tcp;
    std::string path{};  ///< for http
};

/// The process to start, as sent to the drone. The controller does not interpret it.
struct Spawn {
    std::string command;
    std::vector<std::string> args;
    std::map<std::string, std::string> env;
    std::optional<std::string> cwd;
    std::optional<std::uint16_t> port;
    Readiness ready;
    std::optional<std::uint64_t> max_idle_s, lifetime_s;
    std::uint64_t start_timeout_s = 60;

    /// The approximate size of the encoded message.
    std::size_t bytes() const {
        std::size_t sum = command.size() + cwd.value_or("").size() + ready.path.size() + 256;
        for (const std::string& argument : args)
            sum += argument.size() + 4;
        for (const auto& [name, value] : env)
            sum += name.size() + value.size() + 8;
        return sum;
    }
};

enum class Severity : std::uint8_t { soft, hard };

/// An order to a drone: start a backend under a key, or end one.
struct Order {
    std::uint64_t number = 0;
    std::string backend;
    struct Start {
        Key key;
        lease::Token token = 0;
        Duration ttl{};
        Instant expires_at;
        KeyTimeline timeline;
        Spawn spawn;
    };
    std::optional<Start> start;  ///< none: this order ends the backend
    Severity how = Severity::soft;
    bool sent = false;  ///< at least once: the drone may have carried it out
};

/// The orders for one incarnation of a drone, oldest first. Each is resent until the drone reports it done or it has
/// become pointless.
class Orders {
 public:
    bool full() const;
    std::size_t size() const { return orders_.size(); }

    void start(std::uint64_t number, std::string backend, Order::Start start);
    /// At most one per backend; a hard one replaces a soft one.
    void terminate(std::uint64_t number, const std::string& backend, Severity how);

    void done(const std::vector<std::uint64_t>& numbers);
    /// Drops all orders about this backend.
    void forget(const std::string& backend);
    /// Drops starts whose key has expired.
    void drop_expired(Instant now);

    /// The pending order to start this backend; null if there is none.
    const Order* start_of(const std::string& backend) const;

    /// The orders to send now, up to the limits of one answer. Marks them as sent.
    std::vector<Order> take(Instant now);

    /// The backends whose start was never sent, and which therefore cannot be running.
    std::vector<std::string> unsent_starts() const;

 private:
    std::map<std::uint64_t, Order> orders_;  // ascending numbers
};

}  // namespace holdfast::keys::controller
