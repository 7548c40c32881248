#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace holdfast::client {

/// A real `holdfast serve` (HOLDFAST_BIN) on a free port with a state directory of its own. Killed and cleaned up at
/// the end, also if the thread that started it goes away. Throws std::runtime_error if it does not start.
class ServerProcess {
 public:
    ServerProcess();
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

    /// On the same port and state directory as before.
    void start();
    /// SIGTERM, and waits: a clean stop keeps the leases (S1).
    void stop();
    /// SIGKILL, and waits.
    void kill();
    /// SIGSTOP and SIGCONT: a server that hangs.
    void freeze();
    void thaw();

 private:
    void end(int signal);

    std::string directory_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
};

}  // namespace holdfast::client
