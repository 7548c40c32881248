#pragma once

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast {

/// A command to start under guard.
struct Launch {
    std::vector<std::string> command;      ///< program and arguments; the program is looked up in PATH
    std::vector<std::string> environment;  ///< `NAME=value`, on top of this process's own
    sigset_t mask{};                       ///< signals blocked when the command starts
    bool foreground = false;               ///< give its group the terminal before it runs
    bool session = false;                  ///< in a session of its own, not only a group
    std::string directory{};               ///< its working directory; empty: this process's
    std::string cgroup{};                  ///< the control group it joins (cgroup.h); empty: none
};

struct Launched {
    pid_t leader = 0;  ///< also its process group; zero if it could not be run
    int error = 0;     ///< errno of exec, or of entering the directory, if it could not be run
};

/// Starts the command in a process group of its own. It dies with the calling process, which must have one thread.
/// Returns once the command runs or is known not to.
Launched launch(const Launch& what);

}  // namespace holdfast
