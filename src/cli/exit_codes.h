#pragma once

#include <holdfast/outcome.h>

#include <string>
#include <string_view>

#include "base/code.h"

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
    exit_refused = 106,      ///< the server answered no: asking again as it is will not help
    exit_told_to_die = 107,  ///< an older agent is in the way: come back later, a supervisor may start it again
    exit_not_now = 108,      ///< the server answered not now: the same may succeed later
    exit_cannot_run = 126,   ///< the command was found and could not be run
    exit_not_found = 127     ///< there is no such command
};

/// The exit code for an error code of docs/http-api.md: whether a script should give up or ask again.
int exit_code_of(core::Code code);
/// For its name as it comes from a server or from the client itself. A name that is not known, as of a later server,
/// goes by the HTTP status it came with, if any.
int exit_code_of(std::string_view error_code, int status = 0);

/// HTTP's own way to say "later", which a proxy has too while the server behind it is away.
bool says_later(int status);

/// The exit code of several things of which each ended with one. `not now` gives way to every other failure: asking
/// again would not mend that one.
int worst_of(int one, int other);

/// Why there is no lease, in words: who holds it and until when, or what to do about it.
std::string describe(const Failure& failure);

}  // namespace holdfast
