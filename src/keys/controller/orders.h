#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keys/controller/key.h"

namespace holdfast::core {

/// How a drone finds out that a backend is ready.
struct Readiness {
    enum class How : std::uint8_t { tcp, http, started };
    How how = How::tcp;
    std::string path{};  ///< of http
};

/// What is to be started, as a drone is told. The controller understands nothing of it.
struct Spawn {
    std::string command;
    std::vector<std::string> args;
    std::map<std::string, std::string> env;
    std::optional<std::string> cwd;
    std::optional<std::uint16_t> port;
    Readiness ready;
    std::optional<std::uint64_t> max_idle_s, lifetime_s;
    std::uint64_t start_timeout_s = 60;

    /// How much there is to send.
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

/// Something a drone is to do: start a backend under a key, or end one.
struct Order {
    std::uint64_t number = 0;
    std::string backend;
    struct Start {
        Key key;
        Token token = 0;
        Duration ttl{};
        Instant expires_at;
        KeyTimeline timeline;
        Spawn spawn;
    };
    std::optional<Start> start;  ///< none: end it
    Severity how = Severity::soft;
    bool sent = false;  ///< at least once: the drone may have carried it out
};

/// The orders for one life of a drone, in the order in which they were given. Each is sent again and again until the
/// drone says that it is done, or until it has no point any more.
class Orders {
 public:
    bool full() const;
    std::size_t size() const { return orders_.size(); }

    void start(std::uint64_t number, std::string backend, Order::Start start);
    /// Once per backend; a hard one takes the place of a soft one.
    void terminate(std::uint64_t number, const std::string& backend, Severity how);

    void done(const std::vector<std::uint64_t>& numbers);
    /// Nothing is to be done about this backend any more.
    void forget(const std::string& backend);
    /// Drops what is to be started under a key that has run out.
    void drop_expired(Instant now);

    /// The order to start this backend, if it is not done.
    const Order* start_of(const std::string& backend) const;

    /// Those to be sent now, as many as one answer holds. They count as sent.
    std::vector<Order> take(Instant now);

    /// The backends whose start was never sent: nothing can have been started by it.
    std::vector<std::string> unsent_starts() const;

 private:
    std::map<std::uint64_t, Order> orders_;  // numbers rise
};

}  // namespace holdfast::core
