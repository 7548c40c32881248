#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/fd.h"

namespace holdfast::supervise {

using namespace std::chrono_literals;

/// How long a test waits for what must happen before it calls it a failure. With a rule switched off it does not
/// happen.
#ifdef HOLDFAST_MUTANTS
inline constexpr auto patience = 10s;
#else
inline constexpr auto patience = 30s;
#endif

/// What becomes of processes that left the command's group, when the command has ended.
enum class Daemons { end, stay };

/// A keeper without a server: this test binary again, run as `EXE __keeper SOFT_MS HARD_MS COMMAND…`. It starts the
/// command with these deadlines and supervises it. A line on its standard input is an order to pass on: `lost`, or
/// `renew SOFT_MS HARD_MS` counted from now. It exits as `holdfast run` would: with the command's code, 128+n, 104 if
/// the command was told to stop, 126 or 127 if it could not be run.
class KeeperProcess {
 public:
    KeeperProcess(std::chrono::milliseconds soft, std::chrono::milliseconds hard, std::vector<std::string> command,
                  Daemons daemons = Daemons::end);
    /// Kills it if it still runs.
    ~KeeperProcess();
    KeeperProcess(const KeeperProcess&) = delete;
    KeeperProcess& operator=(const KeeperProcess&) = delete;

    pid_t id() const { return id_; }
    void signal(int signal) const;
    void say(const std::string& order);
    /// The next line the command printed; empty if there is none in time.
    std::string line();
    /// The exit code, or -1 if it did not end in time.
    int wait();

 private:
    pid_t id_ = 0;
    bool ended_ = false;
    Fd input_;
    Fd output_;
    std::string buffer_;
};

/// What the keeper process does: arguments after `__keeper`.
int keeper_main(const std::vector<std::string>& arguments);

/// True once the process is dead or a zombie; false if it still lives after all our patience.
bool dies(pid_t process);
bool lives(pid_t process);

/// A command for sh that first prints its process id.
std::vector<std::string> shell(const std::string& script);

}  // namespace holdfast::supervise
