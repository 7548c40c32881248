#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "authority/desk.h"
#include "base/random.h"
#include "scenarios/holding_checker.h"

namespace holdfast::authority {

/// A world of agents that share files and other things, in simulated time: they take manifests, ask for more while they
/// hold some, work, die when told to, are stopped, crash, come back and resume. Everything follows from the seed.
///
/// The authority, the rules and the store are those that ship. What the agents do is what docs/http-api.md tells them
/// to.
class AgentsWorld {
 public:
    struct Options {
        std::size_t agents = 100;
        std::size_t folders = 10;
        std::size_t files_per_folder = 10;
        std::uint64_t seed = 1;
        bool faults = true;
        Duration wait = 30s;  ///< how long they wait before they ask again
        bool plain = false;   ///< nobody registers, so there is no wait-die
    };
    explicit AgentsWorld(const Options& options);
    ~AgentsWorld();

    /// Stops early if a rule was broken or nothing gets done any more.
    void run_for(Duration duration);

    /// What was broken first, if anything.
    std::optional<std::string> violation() const { return checker_.violation(); }
    /// No agent has finished anything for ten minutes: they wait for each other.
    bool stuck() const { return desk_.now - last_done_ > 10min; }
    /// The longest that anybody has been the oldest of all before its job was done. The oldest always gets through
    /// (G5); whoever is younger may have to let many pass first.
    Duration longest_as_oldest() const;

    struct Counts {
        long jobs = 0, grants = 0, waits = 0, deaths = 0, lost = 0, restarts = 0, resumed = 0, too_late = 0;
    };
    const Counts& counts() const { return counts_; }

 private:
    struct Actor;

    void at(Instant when, std::function<void()> action) { agenda_.emplace(when, std::move(action)); }
    void later(Actor& actor, Duration delay, void (AgentsWorld::*action)(Actor&));
    Duration between(Duration least, Duration most);
    bool chance(double probability) { return options_.faults && random_.unit() < probability; }

    std::vector<lease::Intent> any_manifest();
    void begin_job(Actor& actor);
    void ask(Actor& actor);
    void answered(Actor& actor, AcquireAnswer answer);
    void granted(Actor& actor, AcquireGranted answer);
    void worked(Actor& actor);
    void finish(Actor& actor);
    void beat(Actor& actor);
    void release_all(Actor& actor);
    void start_over(Actor& actor, Duration delay);
    void stop_for_a_while(Actor& actor);
    void crash(Actor& actor, bool declared);
    void come_back(Actor& actor);
    void resume(Actor& actor);

    Options options_;
    Random random_;
    Desk desk_;
    HoldingChecker checker_;
    std::vector<std::string> resources_;
    std::vector<std::unique_ptr<Actor>> actors_;
    std::multimap<Instant, std::function<void()>> agenda_;
    Instant last_done_;
    std::set<std::pair<lease::Priority, std::string>> jobs_;  // under way, oldest first
    Instant oldest_since_;
    Duration longest_as_oldest_{};
    Counts counts_;
};

}  // namespace holdfast::authority
