#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "authority/store_call.h"
#include "lease/rules.h"
#include "store/memory/memory_store.h"

namespace holdfast::core {

/// A store with the rules around it and nothing else, and what it tells.
class MemoryStoreTest : public ::testing::Test, protected StoreListener {
 protected:
    static constexpr Instant start{1000s};

    MemoryStoreTest() { store.advance(start); }

    /// Runs a rule that returns the effect.
    template <class Rule>
    void apply(const std::string& resource, Rule rule) {
        bool applied = false;
        apply_rule(
            store, resource,
            [&](Record& record, const Neighbours& neighbours, Instant now) {
                return Ruling<bool>{true, rule(record, neighbours, now)};
            },
            [&](const Result<bool>&) { applied = true; });
        EXPECT_TRUE(applied);
    }

    static Claim claim_of(const std::string& holder, Predicate predicate, Duration ttl = 60s) {
        Claim claim;
        claim.holder = holder;
        claim.predicate = predicate;
        claim.ttl = ttl;
        return claim;
    }

    /// The token, or 0 if somebody is in the way.
    Token acquire(const std::string& resource, const std::string& holder, Duration ttl = 60s,
                  Predicate predicate = Predicate::mutates) {
        Token granted = 0;
        apply(resource, [&](Record& record, const Neighbours& neighbours, Instant now) {
            Claim claim = claim_of(holder, predicate, ttl);
            claim.session = "one";
            claim.token = ++next_token;
            const auto verdict = core::acquire(record, neighbours, claim, now);
            if (!std::holds_alternative<Granted>(verdict)) return Effect::none;
            granted = claim.token;
            return Effect::changed;
        });
        return granted;
    }
    void wait(const std::string& resource, std::uint64_t request, Predicate predicate = Predicate::mutates,
              Duration how_long = 1h) {
        apply(resource, [&](Record& record, const Neighbours&, Instant now) {
            const std::string holder = "waiter-" + std::to_string(request);
            Claim claim = claim_of(holder, predicate);
            claim.request = request;
            claim.priority = static_cast<Priority>(request);
            enqueue(record, claim, now + how_long);
            return Effect::changed;
        });
    }
    void leave(const std::string& resource, std::uint64_t request) {
        apply(resource, [&](Record& record, const Neighbours&, Instant) {
            dequeue(record, request);
            return Effect::freed;
        });
    }
    void release(const std::string& resource, Token token, const std::string& holder) {
        apply(resource, [&](Record& record, const Neighbours&, Instant now) {
            core::release(record, token, holder, now);
            return Effect::freed;
        });
    }
    void declare_restart(const std::string& resource, const std::string& holder) {
        apply(resource, [&](Record& record, const Neighbours&, Instant now) {
            core::declare_restart(record, holder, now);
            return Effect::changed;
        });
    }
    LeaseState state(const std::string& resource, Token token) {
        LeaseState found = LeaseState::unknown;
        apply(resource, [&](Record& record, const Neighbours&, Instant now) {
            found = verify(record, token, now).state;
            return Effect::none;
        });
        return found;
    }
    std::vector<std::string> leases_of(std::string_view holder, Store::Which which = Store::Which::active,
                                       std::size_t most = 1000) {
        std::vector<std::string> names;
        store.leases_of(holder, which, most, [&](const Result<std::vector<LeaseName>>& found) {
            for (const LeaseName& name : *found)
                names.push_back(to_string(name));
        });
        return names;
    }
    ListPage page(ListQuery query) {
        ListPage found;
        store.list(query, [&](Result<ListPage> listed) { found = std::move(*listed); });
        return found;
    }
    void sweep(Instant now) {
        while (store.advance(now)) {
        }
    }

    void on_expired(std::string_view resource, const Lease& lease, Duration late) override {
        expired.emplace_back(to_string(LeaseName{std::string(resource), lease.token}));
        latest = std::max(latest, late);
    }
    void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) override {
        for (const std::uint64_t request : waiters)
            due.push_back(std::string(resource) + ' ' + std::to_string(request));
    }

    std::vector<std::string> expired;
    std::vector<std::string> due;  ///< resource and request
    Duration latest{};
    Token next_token = 0;
    MemoryStore store{*this, {1, 2}};
};

}  // namespace holdfast::core
