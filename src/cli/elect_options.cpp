#include "cli/app_commands.h"
#include "cli/option_kinds.h"

namespace holdfast {
namespace {

/// The parser never sees the command and so cannot describe it.
class ElectFormatter : public CLI::Formatter {
 public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: holdfast elect GROUP [OPTIONS] [-- COMMAND [ARGUMENT...]]\n";
    }
};

}  // namespace

void add_elect_options(CLI::App* command, Arguments& arguments) {
    TakeOptions& take = arguments.take;
    command->formatter(std::make_shared<ElectFormatter>());
    command->add_option("GROUP", arguments.elect.group, "what there is one leader of; the lease is leader:GROUP")
        ->required();
    add_duration(
        command, "--ttl", take.ttl,
        "how soon another leads if this machine vanishes, and never before the command is dead; else the policy's "
        "default")
        ->envname("HOLDFAST_TTL");
    command->add_option("--holder", take.holder, "who stands; default user@host")
        ->type_name("TEXT")
        ->envname("HOLDFAST_HOLDER");
    add_leave_daemons(command, take.leave_daemons)->envname("HOLDFAST_LEAVE_DAEMONS");
}

}  // namespace holdfast
