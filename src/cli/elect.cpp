#include <sys/wait.h>

#include "cli/commands.h"
#include "cli/leader_watch.h"
#include "cli/leased_run.h"
#include "election/candidate.h"
#include "supervise/supervisor.h"

namespace holdfast {
namespace {

TakeOptions candidacy(const Arguments& arguments) {
    TakeOptions take = arguments.take;
    take.resources = {core::leader_resource(arguments.elect.group)};
    take.wait_for_ever = true;
    take.reason = "leads " + arguments.elect.group;
    return take;
}

/// Stands until the command ends by itself, or a signal ends it. A term that is lost is followed by another try.
int lead(const Arguments& arguments) {
    const std::string& group = arguments.elect.group;
    const Screen screen{arguments.common};
    const TakeOptions take = candidacy(arguments);
    SignalInbox signals{supervised_signals()};
    for (;;) {
        LeasedRun term{{.common = arguments.common,
                        .take = take,
                        .screen = screen,
                        .signals = signals,
                        .environment = {"HOLDFAST_GROUP=" + group},
                        .on_granted = [&](const Lease& lease) {
                            screen.note("leads " + group + " with token " + std::to_string(lease.token()));
                        }}};
        const LeasedRun::Ending ending = term.run();
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        if (!ending.lost) return ending.exit_code;
        if (ending.told_to_end) return 128 + *ending.told_to_end;
        screen.note("does not lead " + group + " any more, and the command was stopped; standing again");
    }
}

}  // namespace

int elect_command(const Arguments& arguments) {
    if (arguments.take.command.empty()) return LeaderWatch{arguments}.run();
    return lead(arguments);
}

}  // namespace holdfast
