#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "authority/answers.h"
#include "authority/events.h"
#include "authority/requests.h"
#include "authority/single_record.h"
#include "authority/token_source.h"
#include "base/callback.h"
#include "base/result.h"
#include "lease/rules.h"
#include "lease/skew_margin.h"
#include "store/durable.h"
#include "store/store.h"

namespace holdfast::authority {

/// Handles requests: applies the rules through the store, wakes waiters, publishes events. The only caller of the
/// store.
///
/// Runs on one thread. It reads no clock: its driver calls advance() before each request (T6). A reply callback runs
/// once, before the call returns or later, and may call the authority again. The door has checked the form of the input
/// (lease/manifest.h); its meaning is checked here.
class Authority : private store::StoreListener {
 public:
    struct Parts {
        store::Durable& durable;
        lease::Policy policy;
        lease::Token tokens_issued =
            0;                       ///< the durable ceiling found at start: every token up to it may have been issued
        std::int64_t wall_ms = 0;    ///< the wall clock at start, for the first token and for timestamps
        Instant started_at{};        ///< the same moment on the store's clock
        Instant recovering_until{};  ///< S1: nothing is granted before this
        std::string recovering_why{};  ///< for people; empty: the server stopped uncleanly
        std::vector<store::SavedAgent> agents{};
        /// Seeds the jitter of the DIE backoff and the names of sessions that belong to one request. No two
        /// incarnations may use the same seed.
        std::uint64_t seed = 0;
        /// The first request number. Where nodes share the queues of a record, no two nodes, and no two incarnations of
        /// a node, may use the same numbers.
        std::uint64_t first_request = 1;
        Events::Teller teller = Events::Teller::authority;
        bool store_gives_tokens = false;  ///< the store raises every token above its own, whatever the claim's (G3)
        double rho = lease::default_rho;  ///< the largest error of a clock's rate, here and at the holders (T3)
    };
    explicit Authority(Parts parts);
    ~Authority() override;

    /// The listener for the store's notifications. REQUIRES: both are connected before the first request.
    store::StoreListener& listener() { return *this; }
    void use(store::Store& store);
    /// As Parts::first_request, if it is known only once the store exists. REQUIRES: no request was made yet.
    void number_requests_from(std::uint64_t first);

    /// Sets the time. Call it before each request and whenever next_deadline() is reached.
    void advance(Instant now);
    /// When advance() must be called next for the waiters.
    Instant next_deadline() const;

    /// Identifies a waiting request for cancel(). 0: already answered.
    using WaitTicket = std::uint64_t;
    WaitTicket acquire(AcquireRequest request, Callback<AcquireAnswer> reply);
    /// Removes a waiting request from the queues; it is answered with `cancelled`. Does nothing if it was already
    /// answered.
    void cancel(WaitTicket ticket);

    /// The fast path for requests on one record that do not wait.
    SingleRecord& single_record();
    /// True if the holder is registered as an agent (G5).
    bool is_agent(std::string_view holder) const;

    /// Answers each lease separately, in order (R1).
    void renew(RenewRequest request, Callback<std::vector<RenewAnswer>> reply);
    /// Renews all leases of the request's holder, at most limits::leases_per_heartbeat and
    /// limits::name_bytes_per_heartbeat. REQUIRES: the request names no leases.
    void renew_all(RenewRequest request, Callback<Answer<RenewAllAnswer>> reply);
    void release(ReleaseRequest request, Callback<Answer<ReleaseAnswer>> reply);
    /// Restores a lease that an earlier incarnation granted and lost, as its holder claims it. Only while nothing is
    /// granted (S1), and only for a token that an earlier incarnation may have issued; otherwise `unknown_lease`.
    void reassert(lease::Reassertion reassertion, Callback<Answer<HeldLease>> reply);

    void verify(std::vector<lease::LeaseName> names, Callback<Answer<std::vector<VerifyAnswer>>> reply);
    /// Verifies the holder's leases and reservations (R5). A newer epoch takes effect as with any request; an older one
    /// is refused with `stale_epoch`.
    void verify_all(std::string holder, std::optional<std::uint64_t> epoch,
                    Callback<Answer<std::vector<VerifyAnswer>>> reply);
    void list(const store::ListQuery& query, Callback<Answer<store::ListPage>> reply);

    /// Registers an agent (G5). Durable before it is answered.
    void put_agent(AgentRequest request, Callback<Answer<AgentAnswer>> reply);
    void get_agent(const std::string& id, Callback<Answer<AgentAnswer>> reply);
    /// A page of the agents, ordered by id.
    AgentPage agents(std::string_view after, std::size_t limit) const;
    /// DIE_RESTART: from now on this epoch is granted nothing more, and its leases stay reserved for the next one (R5).
    void declare_restart(AgentRequest request, Callback<Answer<RestartAnswer>> reply);
    /// The answer says whether the agent was registered.
    void forget_agent(const std::string& id, Callback<Answer<bool>> reply, const Caller& by = {});

    // Admin requests are recorded in the audit, with their caller (L3).
    /// Only for leases that belong to no service (lease/owner.h). The lease of a service can only be barred.
    void revoke(lease::LeaseName name, Callback<Answer<lease::Lease>> reply, const Caller& by = {});
    void bar(lease::LeaseName name, Callback<Answer<HeldLease>> reply, const Caller& by = {});
    const lease::Policy& policy() const;
    void change_policy(const PolicyChange& change, Callback<Answer<lease::Policy>> reply, const Caller& by = {});
    void ban(std::string holder, lease::Ban ban, Callback<Answer<lease::Ban>> reply, const Caller& by = {});
    /// The answer says whether there was a ban.
    void unban(const std::string& holder, Callback<Answer<bool>> reply, const Caller& by = {});
    /// Approves an identity to advertise services. The answer is true if it was not approved before.
    void approve(std::string identity, Callback<Answer<bool>> reply, const Caller& by = {});
    /// Bans the identity and withdraws its approval.
    void deny(std::string identity, lease::Ban ban, Callback<Answer<lease::Ban>> reply, const Caller& by = {});
    /// Denies a service name to one identity or to all, or reserves it (D5).
    void put_name_rule(lease::NameRuleKey about, lease::NameRule rule, Callback<Answer<lease::NameRule>> reply,
                       const Caller& by = {});
    /// Removes the rule for this name and identity; without an identity, all rules for the name. The answer is the
    /// number of removed rules.
    void lift_name_rules(lease::NameRuleKey about, Callback<Answer<std::size_t>> reply, const Caller& by = {});
    store::AuditPage audit(std::uint64_t after, std::size_t limit) const;

    /// Grants nothing until then, since leases that are unknown here may still be held (S1). `why` is for people.
    void recover_until(Instant until, std::string why);
    /// The latest `why` of recover_until(), or the one in Parts.
    const std::string& recovering_why() const;

    /// While memory is full, requests that would add state are refused (`memory_full`). Leases can still be renewed,
    /// released and verified. Waiting requests keep their place and are served.
    void set_memory_full(bool full);
    bool memory_full() const;
    /// The number of requests refused with `memory_full`.
    std::uint64_t refused_for_memory() const;
    /// Approximate memory of the waiting requests, including their queue entries, excluding their connections.
    std::size_t waiter_bytes() const;

    // Apply a change of the policy or of agents made through any node; in force from now on. Where the durable state is
    // shared with other nodes, it calls these before it answers.
    void take_policy(lease::Policy policy);
    void take_agent(const store::SavedAgent& agent);
    void take_forgotten_agent(const std::string& id);
    void take_agents(const std::map<std::string, store::SavedAgent, std::less<>>& all);

    Events& events();
    Instant now() const;
    std::size_t waiters() const;
    std::size_t active_leases() const;  ///< zero before use()
    /// The time left until grants resume (S1); zero if not recovering.
    Duration recovering_for() const;
    /// The number of tokens left before more must be reserved on disk (G3). Meaningless if the store assigns the
    /// tokens.
    lease::Token token_headroom() const;

    /// From now on nothing is granted and every waiter is answered with `stopping`.
    void stop();
    bool stopping() const;

    /// The observer is called whenever a new policy comes into force. For the directory.
    void on_policy_changed(std::function<void()> observer);
    /// The observer is called with the lateness of every expiry (T5). For metrics.
    void on_expiry_lateness(std::function<void(Duration)> observer);

 private:
    friend struct SingleRecordCall;
    friend class RecordTransaction;
    friend class SingleRecord;
    struct Impl;
    std::unique_ptr<Impl> impl_;

    void on_expired(std::string_view resource, const lease::Lease& lease, Duration late) override;
    void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) override;
    void on_changed(std::string_view resource, const lease::Lease& lease, store::LeaseChange change) override;
};

}  // namespace holdfast::authority
