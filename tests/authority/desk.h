#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "authority/authority.h"
#include "authority/store_call.h"
#include "store/memory/memory_store.h"

namespace holdfast::authority {

/// Answers at once, or when the test says so.
class HeldAnswers {
 public:
    /// Answers the oldest call that is held back.
    void answer_one() {
        Callback<Result<void>> done = std::move(held.front());
        held.pop_front();
        done(outcome);
    }

    bool hold = false;
    Result<void> outcome;
    std::deque<Callback<Result<void>>> held;

 protected:
    void finish(Callback<Result<void>> done) {
        if (hold)
            held.push_back(std::move(done));
        else
            done(outcome);
    }
};

/// A server's own disk, for tests.
class TestLocalDurable final : public store::LocalDurable, public HeldAnswers {
 public:
    void reserve_tokens(lease::Token, Callback<Result<void>> done) override { finish(std::move(done)); }
    void save_ttl_max(Duration ttl_max, Callback<Result<void>> done) override {
        saved = ttl_max;
        finish(std::move(done));
    }

    std::optional<Duration> saved;
};

/// Durable state for tests.
class TestDurable final : public store::Durable, public HeldAnswers {
 public:
    void reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) override {
        reserved = ceiling;
        finish(std::move(done));
    }
    void submit(store::Change change, std::optional<store::AuditEntry>, Callback<Result<void>> done) override {
        if (auto* policy = std::get_if<lease::Policy>(&change)) saved = std::move(*policy);
        if (const auto* agent = std::get_if<store::SavedAgent>(&change)) agents[agent->id] = *agent;
        if (const auto* gone = std::get_if<store::ForgottenAgent>(&change)) agents.erase(gone->id);
        finish(std::move(done));
    }

    lease::Token reserved = 0;
    std::optional<lease::Policy> saved;
    std::map<std::string, store::SavedAgent> agents;
};

/// An authority on a memory store, with time in the test's hand.
struct Desk {
    explicit Desk(lease::Policy policy = {}, Instant recovering_until = Instant{})
        : authority({.durable = durable,
                     .policy = std::move(policy),
                     .tokens_issued = 0,
                     .wall_ms = 1000,
                     .recovering_until = recovering_until}),
          store(authority.listener(), {1, 2}) {
        authority.use(store);
        at(Instant{1000s});
    }

    void at(Instant time) {
        now = time;
        while (store.advance(now)) {
        }
        authority.advance(now);
    }
    void pass(Duration duration) { at(now + duration); }

    static AcquireRequest request(std::string holder, std::vector<lease::Intent> intents, Duration wait = {}) {
        AcquireRequest made;
        made.holder = std::move(holder);
        made.intents = std::move(intents);
        made.wait = wait;
        return made;
    }

    /// The answer, if it came at once.
    std::optional<AcquireAnswer> ask(AcquireRequest asked) {
        std::optional<AcquireAnswer> got;
        authority.acquire(std::move(asked), [&got](AcquireAnswer answer) { got = std::move(answer); });
        return got;
    }
    /// The token of a plain lock, or 0.
    lease::Token lock(const std::string& holder, const std::string& resource, Duration ttl = 60s) {
        AcquireRequest asked = request(holder, {{resource}});
        asked.ttl = ttl;
        const auto answer = ask(std::move(asked));
        const auto* granted = std::get_if<AcquireGranted>(&*answer);
        return granted != nullptr ? granted->leases[0].lease.token : 0;
    }
    bool unlock(const std::string& holder, const std::string& resource, lease::Token token) {
        bool released = false;
        authority.release({{}, {resource, token}, holder}, [&](Answer<ReleaseAnswer> answer) {
            const auto* told = std::get_if<ReleaseAnswer>(&answer);
            released = told != nullptr && told->released;
        });
        return released;
    }
    /// Puts the entry of a request that another node has queued long ago into the queue of `r`.
    bool queue_elsewhere(const std::string& holder, const std::string& session) {
        bool queued = false;
        apply_rule(
            store, "r",
            [&](lease::Record& record, Instant here) {
                lease::Claim claim;
                claim.holder = holder;
                claim.session = session;
                claim.priority = 1;
                claim.request = std::uint64_t{1} << 50;  // no request of this node
                return Ruling{!lease::enqueue(record, claim, here + 1h), store::Effect::changed};
            },
            [&](const Result<bool>& done) { queued = done && *done; });
        return queued;
    }
    /// Registers an agent. Nothing if it was refused.
    std::optional<Agent> agent(const std::string& id, std::optional<lease::Priority> priority = {},
                               std::optional<std::uint64_t> epoch = {}) {
        const auto got = std::make_shared<std::optional<Agent>>();  // the answer may come later than this returns
        authority.put_agent({{}, id, priority, epoch}, [got](Answer<AgentAnswer> answer) {
            if (auto* told = std::get_if<AgentAnswer>(&answer)) *got = told->agent;
        });
        return *got;
    }
    /// How many leases were reserved, or why none.
    std::variant<std::size_t, Code> restarting(const std::string& id, std::optional<std::uint64_t> epoch = {}) {
        std::variant<std::size_t, Code> got = Code::storage_failed;
        authority.declare_restart({{}, id, {}, epoch}, [&](Answer<RestartAnswer> answer) {
            if (auto* told = std::get_if<RestartAnswer>(&answer))
                got = told->reserved;
            else
                got = std::get<Refused>(answer).code;
        });
        return got;
    }
    VerifyAnswer verify(const std::string& resource, lease::Token token) {
        VerifyAnswer told;
        authority.verify({{resource, token}}, [&](Answer<std::vector<VerifyAnswer>> answer) {
            told = std::get<std::vector<VerifyAnswer>>(std::move(answer)).at(0);
        });
        return told;
    }

    TestDurable durable;
    Authority authority;
    store::memory::MemoryStore store;
    Instant now;
};

inline Code code_of(const AcquireAnswer& answer) {
    if (const auto* busy = std::get_if<AcquireBusy>(&answer)) return busy->code;
    return std::get<Refused>(answer).code;
}

}  // namespace holdfast::authority
