#include <CLI/CLI.hpp>

#include "base/text.h"
#include "cli/app_commands.h"

namespace holdfast {
namespace {

/// The parser itself takes -1 for a huge number.
CLI::Option* add_count(CLI::App* command, const std::string& name, std::optional<std::uint64_t>& target,
                       const std::string& description) {
    const auto read = [&target](const std::string& text) {
        target = parse_number(text);
        if (!target) throw CLI::ValidationError("'" + text + "' is not a number");
    };
    return command->add_option_function<std::string>(name, read, description)->type_name("NUMBER");
}

}  // namespace

void add_sim_options(CLI::App* command, SimOptions& sim) {
    CLI::Option* seeds = add_count(command, "--seeds", sim.seeds, "how many worlds to run, from seed 1; default 100")
                             ->envname("HOLDFAST_SIM_SEEDS");
    CLI::Option* seed = add_count(command, "--seed", sim.seed, "run the world of this seed, as it always goes");
    CLI::Option* minutes = add_count(command, "--minutes", sim.minutes, "run worlds for so long");
    seed->excludes(seeds)->excludes(minutes);
    minutes->excludes(seeds);
    command->add_option("--mutant", sim.mutant, "switch this rule off; only in a build made for it")->type_name("NAME");
    command->add_flag("--shrink", sim.shrink, "look for a smaller world that breaks the same rule");
    CLI::Option* exhaustive =
        command->add_flag("--exhaustive", sim.exhaustive, "instead, try every order of events in a very small cluster");
    add_count(command, "--bound", sim.bound, "of --exhaustive: states to look at, for each kind of trouble")
        ->needs(exhaustive);
}

}  // namespace holdfast
