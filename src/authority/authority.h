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
#include "lease/reassertion.h"
#include "lease/skew_margin.h"
#include "store/durable.h"
#include "store/store.h"

namespace holdfast::core {

/// Takes requests, runs them through the rules and the store, wakes waiters, publishes events. The only caller of the
/// store.
///
/// Runs on one thread. It reads no clock: whoever drives it calls advance() before each request (T6). Replies come
/// once, before the call returns or later, and may call the authority again. Input has been checked for form
/// (lease/manifest.h) by the door; what it means is judged here.
class Authority : private StoreListener {
 public:
    struct Parts {
        Durable& durable;
        Policy policy;
        Token tokens_issued = 0;     ///< the durable ceiling found at start: every token up to it may have been issued
        std::int64_t wall_ms = 0;    ///< the wall clock at start, for the first token and for what is as old as now
        Instant started_at{};        ///< the same moment on the store's clock
        Instant recovering_until{};  ///< S1: nothing is granted before
        std::string recovering_why{};  ///< for people; empty: the server stopped uncleanly
        std::vector<SavedAgent> agents{};
        /// Of the jitter in how long a request that was told to die should stay away, and of the names of sessions that
        /// belong to one request: no two lives may have the same.
        std::uint64_t seed = 0;
        /// Requests are numbered from here. Where nodes share the queues of a record, no two of them, and no two lives
        /// of one, may use the same numbers.
        std::uint64_t first_request = 1;
        Events::Teller teller = Events::Teller::authority;
        bool store_gives_tokens = false;  ///< above its own, whatever a claim brings along (G3)
        double rho = default_rho;         ///< how far the rate of a clock may be wrong, here and at the holders (T3)
    };
    explicit Authority(Parts parts);
    ~Authority() override;

    /// The store tells this listener what ended; connect both before the first request.
    StoreListener& listener() { return *this; }
    void use(Store& store);
    /// As Parts::first_request, where that is known only once the store is there. REQUIRES: there was no request yet.
    void number_requests_from(std::uint64_t first);

    /// The time, before each request and whenever next_deadline() is reached.
    void advance(Instant now);
    /// When advance() should be called next for the waiters' sake.
    Instant next_deadline() const;

    /// Names a request that waits, for cancel(). 0: answered already.
    using WaitTicket = std::uint64_t;
    WaitTicket acquire(AcquireRequest request, Callback<AcquireAnswer> reply);
    /// Takes a waiting request out of the queues; it is answered with `cancelled`. Nothing if it was answered before.
    void cancel(WaitTicket ticket);

    /// The short way, for one record and without waiting.
    SingleRecord& single_record();
    /// True for a holder that is registered as an agent (G5).
    bool is_agent(std::string_view holder) const;

    /// Each lease gets its own answer, in order (R1).
    void renew(RenewRequest request, Callback<std::vector<RenewAnswer>> reply);
    /// All leases of the request's holder, limits::leases_per_heartbeat and limits::name_bytes_per_heartbeat at most;
    /// the request names none.
    void renew_all(RenewRequest request, Callback<Answer<RenewAllAnswer>> reply);
    void release(ReleaseRequest request, Callback<Answer<ReleaseAnswer>> reply);
    /// Takes up again a lease that an earlier life granted and lost, at its holder's word: only while nothing is
    /// granted (S1), and only a token that an earlier life may have issued. Else `unknown_lease`.
    void reassert(Reassertion reassertion, Callback<Answer<HeldLease>> reply);

    void verify(std::vector<LeaseName> names, Callback<Answer<std::vector<VerifyAnswer>>> reply);
    /// What the holder has, and what is reserved for it (R5). An epoch begins a new life, or is refused as stale.
    void verify_all(std::string holder, std::optional<std::uint64_t> epoch,
                    Callback<Answer<std::vector<VerifyAnswer>>> reply);
    void list(const ListQuery& query, Callback<Answer<ListPage>> reply);

    /// Registers an agent (G5). Durable before it is answered.
    void put_agent(AgentRequest request, Callback<Answer<AgentAnswer>> reply);
    void get_agent(const std::string& id, Callback<Answer<AgentAnswer>> reply);
    /// A page of the agents, by id.
    AgentPage agents(std::string_view after, std::size_t limit) const;
    /// DIE_RESTART: from now on this life gets nothing more, and what it has stays reserved for the next one (R5).
    void declare_restart(AgentRequest request, Callback<Answer<RestartAnswer>> reply);
    /// The answer says whether it was there.
    void forget_agent(const std::string& id, Callback<Answer<bool>> reply, const Caller& by = {});

    // What an admin does goes into the audit, with who it was (L3).
    /// Of what belongs to nobody but its holder (lease/owner.h); what belongs to a service can be barred.
    void revoke(LeaseName name, Callback<Answer<Lease>> reply, const Caller& by = {});
    void bar(LeaseName name, Callback<Answer<HeldLease>> reply, const Caller& by = {});
    const Policy& policy() const;
    void change_policy(const PolicyChange& change, Callback<Answer<Policy>> reply, const Caller& by = {});
    void ban(std::string holder, Ban ban, Callback<Answer<Ban>> reply, const Caller& by = {});
    /// The answer says whether there was a ban.
    void unban(const std::string& holder, Callback<Answer<bool>> reply, const Caller& by = {});
    /// Approves an identity that wants to advertise services. The answer says whether it was not approved before.
    void approve(std::string identity, Callback<Answer<bool>> reply, const Caller& by = {});
    /// Bans the identity, and takes back that it was approved.
    void deny(std::string identity, Ban ban, Callback<Answer<Ban>> reply, const Caller& by = {});
    /// Denies the name of a service to an identity or to everybody, or reserves it (D5).
    void put_name_rule(NameRuleKey about, NameRule rule, Callback<Answer<NameRule>> reply, const Caller& by = {});
    /// Lifts the rule about this name and identity; without an identity all rules about the name. The answer says how
    /// many there were.
    void lift_name_rules(NameRuleKey about, Callback<Answer<std::size_t>> reply, const Caller& by = {});
    AuditPage audit(std::uint64_t after, std::size_t limit) const;

    /// Leases that are not known here may be held until then: nothing is granted before (S1). `why` is for people.
    void recover_until(Instant until, std::string why);
    /// As that said last, or as in Parts.
    const std::string& recovering_why() const;

    /// While there is no memory for more, requests that would add something are refused (`memory_full`). What is held
    /// may be renewed, released and asked for, and who waits keeps its place and gets its turn.
    void set_memory_full(bool full);
    bool memory_full() const;
    /// How many requests were refused so.
    std::uint64_t refused_for_memory() const;
    /// About how much memory those that wait take here, with their places in the queues and without their connections.
    std::size_t waiter_bytes() const;

    // What has become of the policy and of agents, through this node or another: in force from now on. Where the
    // durable state is shared with other nodes, it says so before it answers.
    void take_policy(Policy policy);
    void take_agent(const SavedAgent& agent);
    void take_forgotten_agent(const std::string& id);
    void take_agents(const std::map<std::string, SavedAgent, std::less<>>& all);

    Events& events();
    Instant now() const;
    std::size_t waiters() const;
    std::size_t active_leases() const;  ///< none before use()
    /// What is left of the time in which nothing is granted (S1); zero if it is over.
    Duration recovering_for() const;
    /// How many may be granted before the disk has reserved more (G3). Of no meaning if the store gives the tokens.
    Token token_headroom() const;

    /// From now on nothing is granted and every waiter is answered with `stopping`.
    void stop();
    bool stopping() const;

    /// Called whenever another policy has come into force. For the directory.
    void on_policy_changed(std::function<void()> observer);
    /// Called with the lateness of every expiry (T5). For metrics.
    void on_expiry_lateness(std::function<void(Duration)> observer);

 private:
    friend struct SingleRecordCall;
    friend class RecordTransaction;
    friend class SingleRecord;
    struct Impl;
    std::unique_ptr<Impl> impl_;

    void on_expired(std::string_view resource, const Lease& lease, Duration late) override;
    void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) override;
    void on_changed(std::string_view resource, const Lease& lease, LeaseChange change) override;
};

}  // namespace holdfast::core
