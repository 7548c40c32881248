#include "sim/session.h"

#include <algorithm>

#include "sim/mutants.h"

namespace holdfast::sim {
namespace {

using SteadyClock = std::chrono::steady_clock;

bool is_stopped(const SessionOptions& options) {
    return options.stopped && options.stopped();
}

/// From few faults to all of them, so that a bound that is reached cuts off only the last parts.
int run_search(const SessionOptions& options, Report& report) {
    struct Part {
        std::string what;
        SearchBounds bounds;
    };
    const Part parts[] = {
        {"no trouble", {.losses = 0, .crashes = 0, .early_timers = 0, .max_states = options.max_states}},
        {"one message lost", {.losses = 1, .crashes = 0, .early_timers = 0, .max_states = options.max_states}},
        {"one crash", {.losses = 0, .crashes = 1, .early_timers = 0, .max_states = options.max_states}},
        {"one early timer", {.losses = 0, .crashes = 0, .early_timers = 1, .max_states = options.max_states}},
        {"one lost and one crash", {.losses = 1, .crashes = 1, .early_timers = 0, .max_states = options.max_states}},
    };
    for (Part part : parts) {
        part.bounds.stopped = options.stopped;
        if (is_stopped(options)) return 0;
        const auto began = SteadyClock::now();
        const Searched found = search(part.bounds);
        report.searched(part.what, found, SteadyClock::now() - began);
        if (found.violation) return 1;
    }
    return 0;
}

int fail(const SessionOptions& options, const Failure& failure, Report& report) {
    report.failed(failure);
    if (options.shrink)
        report.shrunk(shrink(failure, {.stopped = options.stopped},
                             [&](const Scenario& scenario) { report.shrinking(scenario); }));
    return 1;
}

int run_worlds(const SessionOptions& options, Report& report) {
    const auto began = SteadyClock::now();
    auto told = began;
    Tally tally;
    const std::uint64_t first = options.seed.value_or(options.first_seed);
    const std::uint64_t count = options.seed ? 1 : options.seeds;
    for (std::uint64_t seed = first;; ++seed) {
        const auto now = SteadyClock::now();
        if (options.minutes ? now - began >= *options.minutes : seed - first >= count) break;
        tally.stopped = is_stopped(options);
        if (tally.stopped) break;
        if (now - told >= std::chrono::seconds{1}) {
            told = now;
            report.progress(tally, now - began);
        }
        if (const auto failure = hunt(scenario_of(seed), tally)) return fail(options, *failure, report);
    }
    report.finished(tally, SteadyClock::now() - began);
    return 0;
}

}  // namespace

int run_session(const SessionOptions& options, Report& report) {
    if (!options.mutant.empty()) {
        const auto& all = mutants();
        if (std::none_of(all.begin(), all.end(), [&](const auto& one) { return one.name == options.mutant; })) {
            std::string names;
            for (const MutantInfo& one : all)
                names += ' ' + std::string(one.name);
            report.refused("there is no mutant '" + options.mutant + "'; there are:" + names);
            return 2;
        }
        if (!set_mutant(options.mutant)) {
            report.refused("this build has no mutants, so that no user meets one; 'make sim MUTANT=" + options.mutant +
                           "' builds and runs one that has");
            return 2;
        }
    }
    return options.exhaustive ? run_search(options, report) : run_worlds(options, report);
}

}  // namespace holdfast::sim
