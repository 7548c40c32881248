#pragma once

#include <functional>
#include <string>

#include "sim/cluster.h"
#include "sim/log_checker.h"

namespace holdfast::sim {

/// Counts of the admins' changes in a world.
struct AdminWork {
    std::uint64_t changes = 0;      ///< requested, of policy, bans and agents
    std::uint64_t done = 0;         ///< acknowledged
    std::uint64_t unavailable = 0;  ///< with an unknown outcome
};

/// Bans holders and lifts the bans, changes the longest TTL and removes agents, through any node. Each change has a
/// mark of its own, by which the checker identifies it in the log and in the audit.
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

    /// Call this when the faults are over. The first admin lifts all bans and restores the first longest TTL, and
    /// retries until both are acknowledged.
    void tidy_up();
    bool finished() const { return finished_; }

 private:
    /// A change at an authority. The callback gets whether it was done.
    using Told = std::function<void(bool done)>;
    using Change = std::function<void(authority::Authority&, const authority::Caller& by, Told told)>;

    void think();
    void act();
    void ban(const std::string& holder);
    void unban(const std::string& holder);
    void set_ttl_max(Duration ttl_max);
    void forget(const std::string& agent);
    /// Sends the change to any node. `then` is called if an answer comes.
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
