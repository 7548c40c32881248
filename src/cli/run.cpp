#include "cli/commands.h"
#include "cli/leased_run.h"
#include "supervise/supervisor.h"

namespace holdfast {

int run_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    SignalInbox signals{supervised_signals()};
    const auto ending =
        LeasedRun{{.common = arguments.common, .take = arguments.take, .screen = screen, .signals = signals}}.run();
    if (ending.lost) screen.complain(Error{"lost", "the command was stopped, because its lease could not be kept"});
    return ending.exit_code;
}

}  // namespace holdfast
