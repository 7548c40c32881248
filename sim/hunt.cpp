#include "sim/hunt.h"

#include <algorithm>

namespace holdfast::sim {

void Tally::add(const Outcome& outcome) {
    ++seeds;
    const auto sum = [](auto& into, const auto& from, auto... members) { ((into.*members += from.*members), ...); };
    sum(work, outcome.work, &Work::requests, &Work::grants, &Work::renewals, &Work::releases, &Work::refusals,
        &Work::unavailable, &Work::lost, &Work::waited, &Work::abandoned, &Work::agents, &Work::deaths, &Work::banned);
    using Counts = Cluster::Counts;
    sum(cluster, outcome.cluster, &Counts::restarts, &Counts::clean, &Counts::partitions, &Counts::messages,
        &Counts::past_restart, &Counts::log_messages, &Counts::copies, &Counts::refused);
    using LogCounts = LogChecker::Counts;
    sum(log, outcome.log, &LogCounts::entries, &LogCounts::leaders, &LogCounts::installs, &LogCounts::snapshots,
        &LogCounts::acknowledged);
    sum(admins, outcome.admins, &AdminWork::changes, &AdminWork::done, &AdminWork::unavailable);
    handovers += outcome.handovers;
    events += outcome.events;
    simulated += outcome.simulated;
}

std::string Failure::text() const {
    return "rule " + violation.rule + " is broken: " + violation.what + "\n\nin " + describe(scenario) +
           "\nthe last events (true time in seconds, who, what):\n" + trace + "\nreplay with: holdfast-sim --seed " +
           std::to_string(scenario.seed) + '\n';
}

std::optional<std::string> too_quiet(const Scenario& scenario, const Outcome& outcome) {
    const auto lacks = [&](const char* what, std::uint64_t got, std::uint64_t least) {
        return got < least ? std::optional("only " + std::to_string(got) + ' ' + what + ", and " +
                                           std::to_string(least) + " are the least that proves something")
                           : std::nullopt;
    };
    if (auto why = lacks("grants", outcome.work.grants, 2ULL * scenario.holders)) return why;
    if (auto why = lacks("renewals", outcome.work.renewals, 5)) return why;
    if (auto why = lacks("hand-overs", outcome.handovers, scenario.holders)) return why;
    if (auto why = lacks("leaders of the log", outcome.log.leaders, 1)) return why;
    if (scenario.admins > 0)
        if (auto why = lacks("changes of policy", outcome.log.acknowledged, 5)) return why;
    const std::uint64_t troubles = outcome.cluster.restarts + outcome.cluster.clean + outcome.cluster.partitions;
    return lacks("restarts and partitions", troubles, 1);
}

std::optional<Failure> hunt(const Scenario& scenario, Tally& tally) {
    Outcome outcome = World(scenario).run();
    tally.add(outcome);
    if (!outcome.violation)
        if (const auto quiet = too_quiet(scenario, outcome)) outcome.violation = Violation{"useful work", *quiet};
    if (!outcome.violation) return std::nullopt;
    Outcome again = World(scenario, World::Traced::yes).run();
    return Failure{scenario, *outcome.violation, std::move(again.trace)};
}

}  // namespace holdfast::sim
