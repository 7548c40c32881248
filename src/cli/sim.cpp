#include <algorithm>
#include <boost/json/value.hpp>
#include <csignal>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/screen.h"
#include "sim/session.h"

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr std::uint64_t minutes_most = 60 * 24 * 365;

volatile std::sig_atomic_t told_to_stop = 0;
void stop_soon(int) {
    told_to_stop = 1;
}

/// One object per line: `kind` says what it tells.
class JsonReport final : public sim::Report {
 public:
    explicit JsonReport(const Screen& screen) : screen_(screen) {}

    void progress(const sim::Tally& tally, Seconds elapsed) override {
        screen_.show(object("progress", tally, elapsed));
    }
    void finished(const sim::Tally& tally, Seconds elapsed) override {
        screen_.show(object("finished", tally, elapsed));
    }
    void failed(const sim::Failure& failure) override { screen_.show(object("failed", failure)); }
    void shrinking(const sim::Scenario& scenario) override {
        screen_.show(
            json::object{{"kind", "shrinking"}, {"faults", scenario.faults.size()}, {"holders", scenario.holders}});
    }
    void shrunk(const sim::Failure& failure) override { screen_.show(object("shrunk", failure)); }
    void searched(const std::string& what, const sim::Searched& searched, Seconds elapsed) override {
        json::object told{{"kind", "searched"},
                          {"trouble", what},
                          {"states", searched.states},
                          {"executions", searched.executions},
                          {"steps", searched.steps},
                          {"longest", searched.longest},
                          {"complete", searched.complete},
                          {"seconds", elapsed.count()}};
        if (searched.violation) {
            told["rule"] = searched.violation->rule;
            told["what"] = searched.violation->what;
            told["steps_to_it"] = json::array(searched.steps_to_it.begin(), searched.steps_to_it.end());
        }
        screen_.show(told);
    }
    void refused(const std::string& why) override { screen_.complain(Error{"invalid_argument", why}); }

 private:
    static json::object object(const char* kind, const sim::Tally& tally, Seconds elapsed) {
        return {{"kind", kind},
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
                {"seconds", elapsed.count()}};
    }
    static json::object object(const char* kind, const sim::Failure& failure) {
        json::array faults;
        for (const sim::Fault& fault : failure.scenario.faults)
            faults.emplace_back(sim::describe(fault));
        return {{"kind", kind},
                {"seed", failure.scenario.seed},
                {"rule", failure.violation.rule},
                {"what", failure.violation.what},
                {"nodes", failure.scenario.nodes},
                {"holders", failure.scenario.holders},
                {"faults", std::move(faults)},
                {"trace", failure.trace}};
    }

    const Screen& screen_;
};

}  // namespace

int sim_command(const Arguments& arguments) {
    const SimOptions& asked = arguments.sim;
    sim::SessionOptions options;
    options.seeds = asked.seeds.value_or(options.seeds);
    options.seed = asked.seed;
    if (asked.minutes) options.minutes = std::chrono::minutes{std::min(*asked.minutes, minutes_most)};
    options.mutant = asked.mutant;
    options.shrink = asked.shrink;
    options.exhaustive = asked.exhaustive;
    options.states_most = asked.bound.value_or(options.states_most);
    // A signal ends it after the world in hand, with its summary.
    options.stopped = [] { return told_to_stop != 0; };
    for (const int signal : {SIGINT, SIGTERM})
        std::signal(signal, stop_soon);
    const Screen screen(arguments.common);
    JsonReport as_json(screen);
    sim::TextReport as_text(arguments.common.quiet);
    return sim::run_session(options, screen.json() ? static_cast<sim::Report&>(as_json) : as_text);
}

}  // namespace holdfast
