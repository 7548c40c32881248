#include <cstdio>

#include "sim/session.h"

namespace holdfast::sim {
namespace {

using ULong = unsigned long long;

double per_second(double amount, Report::Seconds elapsed) {
    return elapsed.count() > 0 ? amount / elapsed.count() : 0;
}

double seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

}  // namespace

void TextReport::progress(const Tally& tally, Seconds elapsed) {
    if (quiet_) return;
    std::fprintf(stderr, "%llu seeds, %llu grants, %.1f seeds/s, %.0f simulated seconds per second\n",
                 ULong{tally.seeds}, ULong{tally.work.grants}, per_second(static_cast<double>(tally.seeds), elapsed),
                 per_second(seconds(tally.simulated), elapsed));
}

void TextReport::finished(const Tally& tally, Seconds elapsed) {
    if (tally.stopped) std::printf("stopped; ");
    std::printf(
        "no rule was broken in %llu worlds, %.0f simulated seconds, in %.1f s: %.1f worlds and %.0f simulated "
        "seconds per second\n",
        ULong{tally.seeds}, seconds(tally.simulated), elapsed.count(),
        per_second(static_cast<double>(tally.seeds), elapsed), per_second(seconds(tally.simulated), elapsed));
    const Work& work = tally.work;
    std::printf(
        "holders: %llu requests, %llu grants (%llu after a wait, %llu answered too late), %llu refusals, %llu "
        "unavailable, %llu renewals, %llu releases, %llu lost, %llu hand-overs\n",
        ULong{work.requests}, ULong{work.grants}, ULong{work.waited}, ULong{work.abandoned}, ULong{work.refusals},
        ULong{work.unavailable}, ULong{work.renewals}, ULong{work.releases}, ULong{work.lost}, ULong{tally.handovers});
    std::printf(
        "log: %llu entries, %llu leaders, %llu snapshots sent to nodes, %llu found at a start; admins: %llu "
        "changes, %llu done, %llu refused\n",
        ULong{tally.log.entries}, ULong{tally.log.leaders}, ULong{tally.log.installs}, ULong{tally.log.snapshots},
        ULong{tally.admins.changes}, ULong{tally.admins.done}, ULong{tally.admins.unavailable});
    std::printf("agents: %llu registrations, %llu DIEs; %llu requests of banned holders refused\n", ULong{work.agents},
                ULong{work.deaths}, ULong{work.banned});
    const Cluster::Counts& cluster = tally.cluster;
    std::printf(
        "cluster: %llu restarts, %llu clean stops, %llu partitions, %llu messages, %llu of them past a restart, "
        "%llu events, %llu copies of directories, %llu times refused\n",
        ULong{cluster.restarts}, ULong{cluster.clean}, ULong{cluster.partitions}, ULong{cluster.messages},
        ULong{cluster.past_restart}, ULong{tally.events}, ULong{cluster.copies}, ULong{cluster.refused});
}

void TextReport::failed(const Failure& failure) {
    std::printf("%s", failure.text().c_str());
    std::fflush(stdout);
}

void TextReport::shrinking(const Scenario& scenario) {
    if (quiet_) return;
    std::fprintf(stderr, "still fails with %zu faults, %u holders, %u resources, %s of faults\n",
                 scenario.faults.size(), scenario.holders, scenario.resources,
                 seconds_text(scenario.turbulent).c_str());
}

void TextReport::shrunk(const Failure& failure) {
    std::printf("\nshrunk:\n%s", failure.text().c_str());
    std::printf("(with only the faults, holders and time listed here, not all that the seed has)\n");
}

void TextReport::searched(const std::string& what, const Searched& searched, Seconds elapsed) {
    std::printf(
        "%-24s %llu states, %llu executions to their end (%llu with a grant, %llu without, %llu not answered), "
        "%llu steps, longest %zu, %.1f s, %s\n",
        (what + ':').c_str(), ULong{searched.states}, ULong{searched.executions}, ULong{searched.granted_one},
        ULong{searched.granted_none}, ULong{searched.unanswered}, ULong{searched.steps}, searched.longest,
        elapsed.count(), searched.complete ? "complete" : "cut at the bound");
    if (!searched.violation) return;
    std::printf("rule %s is broken: %s\n", searched.violation->rule.c_str(), searched.violation->what.c_str());
    for (const std::string& step : searched.steps_to_it)
        std::printf("  %s\n", step.c_str());
}

void TextReport::refused(const std::string& why) {
    std::fprintf(stderr, "holdfast-sim: %s\n", why.c_str());
}

}  // namespace holdfast::sim
