#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/checker.h"
#include "sim/cluster.h"

namespace holdfast::sim {

/// Counts of the holders' work in a world, to check that enough happened.
struct Work {
    std::uint64_t requests = 0, grants = 0, renewals = 0, releases = 0, refusals = 0, unavailable = 0, lost = 0;
    std::uint64_t waited = 0;     ///< grants after a wait
    std::uint64_t abandoned = 0;  ///< grants that arrived after the holder had given up
    std::uint64_t agents = 0;     ///< registrations that were answered
    std::uint64_t deaths = 0;     ///< requests that got DIE (G5)
    std::uint64_t banned = 0;     ///< requests that were refused for a ban (R7)
};

/// A client with a clock of its own. It acquires, renews and releases leases in rounds, as docs/http-api.md says, with
/// the faults of real clients: it asks another node when no answer comes, forgets to renew, sleeps past its deadline,
/// releases twice and disappears.
///
/// Some are agents (G5): they register, request more while they hold something, and when they get DIE, release
/// everything and come back with their next epoch.
///
/// It believes that it holds a lease from the answer until the end of the granted time, counted from when it asked,
/// less the margin (T3), or until it releases the lease.
class Holder {
 public:
    struct Parts {
        unsigned index = 0;
        const Scenario& scenario;
        const std::vector<std::string>& resources;
        EventQueue& events;
        Network& network;
        Cluster& cluster;
        Checker& checker;
        Trace& trace;
        Work& work;
    };
    explicit Holder(Parts parts);

    /// Call this when the faults are over: one more round, which must succeed.
    void begin_last_round();
    bool finished() const { return finished_; }
    const std::string& name() const { return name_; }
    /// Describes the request that it waits for, for the report of a violation.
    std::string waits_for() const;

 private:
    enum class Belief : std::uint8_t { not_yet, holds, over };
    struct Held {
        lease::LeaseName name;
        Duration ttl{};
        Duration until{};  ///< on its own clock
        Belief belief = Belief::not_yet;
    };
    struct Asked {
        std::uint64_t round = 0;
        std::uint64_t request = 0;
        std::vector<lease::Intent> intents;
        Duration ttl{};
        Duration wait{};
        Duration sent{};  ///< on its own clock
        TrueInstant sent_at;
        lease::Token floor = 0;
    };
    struct Sent {
        std::vector<lease::LeaseName> names;
        Duration sent{};
        TrueInstant sent_at;
    };
    enum class Manner : std::uint8_t { dutiful, forgetful, sleepy, careless };

    // One round (holder.cpp).
    void think();
    void begin_round();
    void ask();
    void on_answer(const Asked& asked, const authority::AcquireAnswer& answer);
    void on_granted(const Asked& asked, const authority::AcquireGranted& granted);
    void on_refused(const authority::AcquireAnswer& answer);
    void on_no_answer(std::uint64_t request);
    void work_on(const Asked& asked);
    /// Stops believing in all leases. Returns those that it may still hold.
    std::vector<lease::LeaseName> drop_all();
    void end_round();
    void give_up_round();
    std::vector<lease::Intent> any_manifest();

    // As an agent (holder_agent.cpp).
    void register_agent();
    void on_registered(const authority::Answer<authority::AgentAnswer>& answer);
    void ask_for_more();
    void die(Duration retry_in);

    // Leases (holder_leases.cpp).
    void renew();
    void plan_renewal();
    void on_renewed(const Sent& sent, const std::vector<authority::RenewAnswer>& answers);
    void let_go();
    void release(const lease::LeaseName& name, unsigned tries);
    void verify(const lease::LeaseName& name);
    void expire();
    Held* find(const lease::LeaseName& name);
    Duration believed_until(Duration sent, Duration left, Duration ttl) const;

    PolicySeen policy_seen(unsigned node, const authority::Authority& authority) const;
    unsigned any_node() { return static_cast<unsigned>(dice_.below(parts_.cluster.size())); }
    Duration local_now() const { return clock_.reading(parts_.events.now()); }
    /// Runs the action after `delay` on its own clock, and not before it wakes.
    void later(Duration delay, std::function<void()> action);
    /// As later(), unless the round has ended by then.
    void in_round(Duration delay, std::function<void()> action);
    /// Sends a request to the node; the answer comes back through Node::answer().
    void send(unsigned node, Network::Doubles doubles, Node::Ask ask);
    void tell(unsigned node, std::uint64_t life, std::function<void()> action);
    template <class... What>
    void note(const What&... what) {
        parts_.trace.note(parts_.events.now(), name_, what...);
    }

    Parts parts_;
    std::string name_;
    Dice dice_;
    SimClock clock_;
    TrueInstant asleep_until_;
    unsigned node_ = 0;  // the node it asks first
    std::uint64_t round_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t open_ = 0;  // the request that has no answer yet; 0: none
    Asked asking_;
    unsigned tries_ = 0;
    Manner manner_ = Manner::dutiful;
    bool agent_ = false;
    bool registered_ = false;  // as far as it knows
    bool wants_more_ = false;  // in this round, after its first grant
    lease::Priority priority_ = 0;
    std::uint64_t epoch_ = 1;
    std::vector<Held> held_;
    bool last_ = false;
    bool finished_ = false;
};

}  // namespace holdfast::sim
