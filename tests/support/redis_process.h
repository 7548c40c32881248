#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast {

/// An address of this machine.
sockaddr_in loopback(std::uint16_t port);

/// A port of loopback that nobody listens on.
std::uint16_t free_port();

/// A real Redis on a free port of loopback that keeps nothing, unless the options say so: it has a scratch folder of
/// its own. Killed at the end, also if the thread that started it goes away. Throws std::runtime_error if it does not
/// start.
class RedisProcess {
 public:
    explicit RedisProcess(std::vector<std::string> options = {}, std::vector<std::string> environment = {});
    ~RedisProcess();
    RedisProcess(const RedisProcess&) = delete;
    RedisProcess& operator=(const RedisProcess&) = delete;

    std::uint16_t port() const { return port_; }
    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

    const std::string& folder() const { return folder_; }

    /// On the same port, with nothing of what it knew but what is in its folder.
    void start();
    void kill();
    void freeze();
    void thaw();

 private:
    std::vector<std::string> options_, environment_;
    std::string folder_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

}  // namespace holdfast
