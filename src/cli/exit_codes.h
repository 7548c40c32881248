#pragma once

#include <string_view>

namespace holdfast {

/// How every command ends. `run` otherwise ends as its command does: with the command's own code, or 128+n if signal n
/// killed it. The numbers are part of the interface: scripts test them.
enum ExitCode : int {
    exit_ok = 0,
    exit_failed = 1,         ///< anything else
    exit_usage = 2,          ///< the command line, the environment or the config file is wrong
    exit_busy = 103,         ///< not acquired: somebody else has it
    exit_lost = 104,         ///< the lease is not yours any more, or never was
    exit_unreachable = 105,  ///< no server answered
    exit_refused = 106,      ///< the server answered no
    exit_told_to_die = 107,  ///< an older agent is in the way: come back later, a supervisor may start it again
    exit_cannot_run = 126,   ///< the command was found and could not be run
    exit_not_found = 127     ///< there is no such command
};

/// The exit code for an error code of docs/http-api.md.
int exit_code_of(std::string_view error_code);

}  // namespace holdfast
