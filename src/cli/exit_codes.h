#pragma once

#include "base/code.h"

namespace holdfast::cli {

/// The exit codes of all commands. Otherwise `run` ends as its command does: with the command's own code, or 128+n if
/// signal n killed it. The numbers are part of the interface: scripts test them.
enum ExitCode : int {
    exit_ok = 0,
    exit_failed = 1,         ///< anything else
    exit_usage = 2,          ///< the command line, the environment or the config file is wrong
    exit_busy = 103,         ///< not acquired: another holder has it
    exit_lost = 104,         ///< the lease is not yours any more, or never was
    exit_unreachable = 105,  ///< no server answered
    exit_refused = 106,      ///< the server refused: a retry of the same request will not help
    exit_told_to_die = 107,  ///< an older agent has it: retry later, a supervisor may restart the program
    exit_not_now = 108,      ///< the server cannot do it now: a retry may succeed later
    exit_cannot_run = 126,   ///< the command was found but could not be run
    exit_not_found = 127     ///< there is no such command
};

/// The exit code for an error code: it tells a script whether to give up or to retry.
int exit_code_of(Code code);
/// An unknown code, such as one of a later server, is mapped by its HTTP status, if any.
int exit_code_of(const ErrorCode& error_code, int status = 0);

/// True for an HTTP status that means "retry later", which a proxy also sends while the server behind it is
/// unavailable.
bool says_later(int status);

/// Combines two exit codes. Every other failure takes precedence over `not now`, since a retry would not fix it.
int worst_of(int one, int other);

}  // namespace holdfast::cli
