// holdfast-sim, the simulator's program (docs/simulator.md). sim_mutant is the same file in a build whose rules can be
// switched off.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <iostream>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "sim/session.h"

namespace holdfast::sim {
namespace {

constexpr int exit_usage = 2;
constexpr std::uint64_t max_minutes = 60 * 24 * 365;

volatile std::sig_atomic_t stop_requested = 0;
void request_stop(int) {
    stop_requested = 1;
}

/// One object per line; `kind` says what it reports.
class JsonReport final : public Report {
 public:
    void progress(const Tally& tally, Seconds elapsed) override { print(object("progress", tally, elapsed)); }
    void finished(const Tally& tally, Seconds elapsed) override { print(object("finished", tally, elapsed)); }
    void failed(const Failure& failure) override { print(object("failed", failure)); }
    void shrinking(const Scenario& scenario) override {
        print(JsonValue::object(
            {{"kind", "shrinking"}, {"faults", scenario.faults.size()}, {"holders", scenario.holders}}));
    }
    void shrunk(const Failure& failure) override { print(object("shrunk", failure)); }
    void searched(const std::string& what, const Searched& searched, Seconds elapsed) override {
        auto line = JsonValue::object({{"kind", "searched"},
                                       {"trouble", what},
                                       {"states", searched.states},
                                       {"executions", searched.executions},
                                       {"steps", searched.steps},
                                       {"longest", searched.longest},
                                       {"complete", searched.complete},
                                       {"seconds", elapsed.count()}});
        if (searched.violation) {
            line.set("rule", searched.violation->rule).set("what", searched.violation->what);
            line.set("steps_to_it", JsonValue::List{searched.steps_to_it.begin(), searched.steps_to_it.end()});
        }
        print(line);
    }
    void refused(const std::string& why) override {
        print(JsonValue::object({{"error", JsonValue::object({{"code", "invalid_argument"}, {"message", why}})}}));
    }

 private:
    static void print(const JsonValue& line) { std::cout << to_text(line) << '\n' << std::flush; }
    static JsonValue object(const char* kind, const Tally& tally, Seconds elapsed) {
        return JsonValue::object({{"kind", kind},
                                  {"seeds", tally.seeds},
                                  {"grants", tally.work.grants},
                                  {"renewals", tally.work.renewals},
                                  {"handovers", tally.handovers},
                                  {"restarts", tally.cluster.restarts},
                                  {"partitions", tally.cluster.partitions},
                                  {"log_entries", tally.log.entries},
                                  {"leaders", tally.log.leaders},
                                  {"policy_changes", tally.admins.done},
                                  {"messages", tally.cluster.messages},
                                  {"simulated_seconds", std::chrono::duration<double>(tally.simulated).count()},
                                  {"stopped", tally.stopped},
                                  {"seconds", elapsed.count()}});
    }
    static JsonValue object(const char* kind, const Failure& failure) {
        JsonValue::List faults;
        for (const Fault& fault : failure.scenario.faults)
            faults.emplace_back(describe(fault));
        return JsonValue::object({{"kind", kind},
                                  {"seed", failure.scenario.seed},
                                  {"rule", failure.violation.rule},
                                  {"what", failure.violation.what},
                                  {"nodes", failure.scenario.nodes},
                                  {"holders", failure.scenario.holders},
                                  {"faults", std::move(faults)},
                                  {"trace", failure.trace}});
    }
};

struct CommandLine {
    SessionOptions session;
    bool json = false;
    bool quiet = false;
};

/// CLI11 would read -1 as a huge number.
CLI::Option* add_number(CLI::App& app, const std::string& name, std::function<void(std::uint64_t)> take,
                        const std::string& description) {
    const auto read = [take = std::move(take)](const std::string& text) {
        const auto number = parse_number(text);
        if (!number) throw CLI::ValidationError("'" + text + "' is not a number");
        take(*number);
    };
    return app.add_option_function<std::string>(name, read, description)->type_name("NUMBER");
}

void add_options(CLI::App& app, CommandLine& line) {
    SessionOptions& session = line.session;
    CLI::Option* seeds = add_number(
        app, "--seeds", [&](std::uint64_t count) { session.seeds = count; }, "number of worlds to run; default 100");
    seeds->envname("HOLDFAST_SIM_SEEDS");
    CLI::Option* first = add_number(
        app, "--first", [&](std::uint64_t number) { session.first_seed = number; },
        "seed of the first world; default 1");
    CLI::Option* seed = add_number(
        app, "--seed", [&](std::uint64_t number) { session.seed = number; }, "replay the world of this seed");
    CLI::Option* minutes = add_number(
        app, "--minutes",
        [&](std::uint64_t count) { session.minutes = std::chrono::minutes{std::min(count, max_minutes)}; },
        "run worlds for this many minutes");
    seed->excludes(seeds)->excludes(minutes)->excludes(first);
    minutes->excludes(seeds);
    app.add_option("--mutant", session.mutant, "switch this rule off; only in a build made for it")->type_name("NAME");
    app.add_flag("--shrink", session.shrink, "after a failure, find a smaller world that breaks the same rule");
    CLI::Option* exhaustive =
        app.add_flag("--exhaustive", session.exhaustive, "try every order of events in a very small cluster instead");
    CLI::Option* bound = add_number(
        app, "--bound", [&](std::uint64_t count) { session.max_states = count; },
        "with --exhaustive: states to visit for each kind of fault");
    bound->needs(exhaustive);
    app.add_flag("--json", line.json, "print one JSON object per line");
    app.add_flag("--quiet", line.quiet, "print no progress");
}

int run(int argc, char** argv) {
    CLI::App app{"Runs simulated clusters and checks that no rule is broken.", "holdfast-sim"};
    app.footer(
        "Exit codes: 0 no rule was broken, 1 a rule was broken, 2 usage. docs/simulator.md explains the output.");
    CommandLine line;
    add_options(app, line);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        std::cout << app.help();
        return 0;
    } catch (const CLI::ParseError& error) {
        std::cerr << "holdfast-sim: " << printable(error.what()) << "; see 'holdfast-sim --help'\n";
        return exit_usage;
    }
    // A signal ends the session after the current world, with its summary.
    line.session.stopped = [] { return stop_requested != 0; };
    for (const int signal : {SIGINT, SIGTERM})
        std::signal(signal, request_stop);
    JsonReport as_json;
    TextReport as_text(line.quiet);
    return run_session(line.session, line.json ? static_cast<Report&>(as_json) : as_text);
}

}  // namespace
}  // namespace holdfast::sim

int main(int argc, char** argv) {
    return holdfast::sim::run(argc, argv);
}
