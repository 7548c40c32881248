#pragma once

#include <functional>
#include <string>

#include "sim/cluster.h"
#include "sim/log_checker.h"

namespace holdfast::sim {

/// What admins have done in a world.
struct AdminWork {
    std::uint64_t changes = 0;      ///< of policy, bans and agents, that were asked for
    std::uint64_t done = 0;         ///< as it was told
    std::uint64_t unavailable = 0;  ///< what became of these is not known
};

/// Somebody who bans holders and lifts the bans, changes how long leases may last and forgets agents, through any node.
/// Each change has a mark of its own, by which the checker knows it again in the log and in the audit.
class Admin {
 public:
    struct Parts {
        unsigned index = 0;
        const Scenario& scenario;
        EventQueue& events;
        Network& network;
        Cluster& cluster;
        LogChecker& log_checker;
        Trace& trace;
        AdminWork& work;
    };
    explicit Admin(Parts parts);

    /// The trouble is over. The first of them lifts all bans and lets leases be as long as at first, until it is told
    /// that this is done.
    void tidy_up();
    bool finished() const { return finished_; }

 private:
    /// A change at an authority; it says whether it was done.
    using Told = std::function<void(bool done)>;
    using Change = std::function<void(Authority&, const Caller& by, Told told)>;

    void think();
    void act();
    void ban(const std::string& holder);
    void unban(const std::string& holder);
    void set_ttl_max(Duration ttl_max);
    void forget(const std::string& agent);
    /// At any node; `then` comes unless no answer does.
    void submit(const std::string& what, Change change, Told then);
    void tidy_next(unsigned step);

    std::string any_holder() { return "h" + std::to_string(dice_.below(parts_.scenario.holders)); }

    Parts parts_;
    std::string name_;
    Dice dice_;
    std::uint64_t changes_ = 0;
    bool last_ = false;
    bool finished_ = false;
};

}  // namespace holdfast::sim
