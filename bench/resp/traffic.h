#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lock_commands.h"

namespace holdfast::bench {

/// A stretch of load: so many requests, one operation, on locks `first`, `first + 1`, … in a shuffled order that is the
/// same every time.
struct Stretch {
    Operation operation = Operation::acquire;
    std::uint32_t pipeline = 1;
    std::uint32_t requests = 0;
    std::uint32_t first = 0;
    std::uint32_t max_seconds = 60;
};

struct Outcome {
    std::uint32_t good = 0;
    std::uint32_t other = 0;
    double seconds = 0;
    std::string first_other;  ///< the first reply that was not a good one
    std::string trouble;      ///< why it ended early, if it did
};

/// Connections to one server on loopback, kept open between stretches. Each sends as many commands as the pipeline is
/// deep, and sends again when it has all the replies, as redis-benchmark does.
class Traffic {
 public:
    Traffic(std::uint16_t port, std::uint32_t connections, std::uint32_t locks, LockCommands& commands);
    ~Traffic();
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;

    Outcome run(const Stretch& stretch);

 private:
    struct Connection;

    std::uint32_t lock_at(std::uint32_t position) const;
    void send_batch(Connection& connection);
    void flush(Connection& connection);
    void receive(Connection& connection);
    bool take_reply(Connection& connection, std::string_view input);

    int poll_fd_ = -1;
    std::uint32_t locks_;
    std::uint32_t stride_ = 1;
    LockCommands& commands_;
    std::vector<Connection> connections_;

    Stretch stretch_;
    Outcome outcome_;
    std::uint32_t asked_ = 0;
};

}  // namespace holdfast::bench
