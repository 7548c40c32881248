#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/admin.h"
#include "sim/checker.h"
#include "sim/cluster.h"
#include "sim/holder.h"

namespace holdfast::sim {

/// The result of a world.
struct Outcome {
    std::optional<Violation> violation;
    Work work;
    AdminWork admins;
    LogChecker::Counts log;
    Cluster::Counts cluster;
    std::uint64_t handovers = 0;
    std::uint64_t events = 0;
    Duration simulated{};
    std::string trace;  ///< the last events, if tracing was on
};

/// A cluster, its holders and the faults of a scenario. The same scenario always runs in the same way.
///
/// First the faults happen; then they stop. When all silence and all abandoned leases are over, an admin lifts all
/// bans, and all nodes must reach the same policy within a bound. Then every holder makes one more request, which must
/// be granted within a bound.
class World {
 public:
    enum class Traced : bool { no, yes };
    explicit World(const Scenario& scenario, Traced traced = Traced::no);
    ~World();

    Outcome run();

 private:
    bool run_until(TrueInstant end);
    /// Runs until `done` is true. Running out of time is a violation.
    bool run_until(const std::function<bool()>& done, Duration within, const std::function<std::string()>& what);
    bool come_to_rest();
    bool all_agree() const;

    Scenario scenario_;
    Trace trace_;
    EventQueue events_;
    Checker checker_;
    LogChecker log_checker_;
    Work work_;
    AdminWork admin_work_;
    std::vector<std::string> resources_;
    std::unique_ptr<Network> network_;
    std::unique_ptr<Cluster> cluster_;
    std::vector<std::unique_ptr<Holder>> holders_;
    std::vector<std::unique_ptr<Admin>> admins_;
};

}  // namespace holdfast::sim
