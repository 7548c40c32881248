#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast {

/// An address of this machine.
sockaddr_in loopback(std::uint16_t port);

/// A real Redis on a free port of loopback that keeps nothing. Killed at the end, also if the thread that started it
/// goes away. Throws std::runtime_error if it does not start.
class RedisProcess {
 public:
    explicit RedisProcess(std::vector<std::string> options = {});
    ~RedisProcess();
    RedisProcess(const RedisProcess&) = delete;
    RedisProcess& operator=(const RedisProcess&) = delete;

    std::uint16_t port() const { return port_; }
    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

    /// On the same port, with nothing of what it knew.
    void start();
    void kill();
    void freeze();
    void thaw();

 private:
    std::vector<std::string> options_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

}  // namespace holdfast
