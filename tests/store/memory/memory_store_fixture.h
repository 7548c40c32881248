#pragma once

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "authority/store_call.h"
#include "lease/rules.h"
#include "store/memory/memory_store.h"

namespace holdfast::store::memory {

/// A store with the rules around it and nothing else, and what it tells.
class MemoryStoreTest : public ::testing::Test, protected StoreListener {
 protected:
    static constexpr Instant start{1000s};

    MemoryStoreTest() { store.advance(start); }

    /// Runs a rule that returns the effect.
    template <class Rule>
    void apply(const std::string& resource, Rule rule) {
        bool applied = false;
        authority::apply_rule(
            store, resource,
            [&](lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
                return authority::Ruling<bool>{true, rule(record, neighbours, now)};
            },
            [&](const Result<bool>&) { applied = true; });
        EXPECT_TRUE(applied);
    }

    static lease::Claim claim_of(const std::string& holder, lease::Predicate predicate, Duration ttl = 60s) {
        lease::Claim claim;
        claim.holder = holder;
        claim.predicate = predicate;
        claim.ttl = ttl;
        return claim;
    }

    /// The token, or 0 if somebody is in the way.
    lease::Token acquire(const std::string& resource, const std::string& holder, Duration ttl = 60s,
                         lease::Predicate predicate = lease::Predicate::mutates) {
        lease::Token granted = 0;
        apply(resource, [&](lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
            lease::Claim claim = claim_of(holder, predicate, ttl);
            claim.session = "one";
            claim.token = ++next_token;
            const auto verdict = lease::acquire(record, neighbours, claim, now);
            if (!std::holds_alternative<lease::Granted>(verdict)) return Effect::none;
            granted = claim.token;
            return Effect::changed;
        });
        return granted;
    }
    void wait(const std::string& resource, std::uint64_t request,
              lease::Predicate predicate = lease::Predicate::mutates, Duration how_long = 1h) {
        apply(resource, [&](lease::Record& record, const lease::Neighbours&, Instant now) {
            const std::string holder = "waiter-" + std::to_string(request);
            lease::Claim claim = claim_of(holder, predicate);
            claim.request = request;
            claim.priority = static_cast<lease::Priority>(request);
            lease::enqueue(record, claim, now + how_long);
            return Effect::changed;
        });
    }
    void leave(const std::string& resource, std::uint64_t request) {
        apply(resource, [&](lease::Record& record, const lease::Neighbours&, Instant) {
            lease::dequeue(record, request);
            return Effect::freed;
        });
    }
    void release(const std::string& resource, lease::Token token, const std::string& holder) {
        apply(resource, [&](lease::Record& record, const lease::Neighbours&, Instant now) {
            lease::release(record, token, holder, now);
            return Effect::freed;
        });
    }
    void declare_restart(const std::string& resource, const std::string& holder) {
        apply(resource, [&](lease::Record& record, const lease::Neighbours&, Instant now) {
            lease::declare_restart(record, holder, now);
            return Effect::changed;
        });
    }
    lease::LeaseState state(const std::string& resource, lease::Token token) {
        lease::LeaseState found = lease::LeaseState::unknown;
        apply(resource, [&](lease::Record& record, const lease::Neighbours&, Instant now) {
            found = lease::verify(record, token, now).state;
            return Effect::none;
        });
        return found;
    }
    std::vector<std::string> leases_of(std::string_view holder, Store::Which which = Store::Which::active,
                                       std::size_t most = 1000) {
        std::vector<std::string> names;
        store.leases_of(holder, which, most, [&](const Result<std::vector<lease::LeaseName>>& found) {
            for (const lease::LeaseName& name : *found)
                names.push_back(lease::to_string(name));
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

    void on_expired(std::string_view resource, const lease::Lease& lease, Duration late) override {
        expired.emplace_back(lease::to_string(lease::LeaseName{std::string(resource), lease.token}));
        latest = std::max(latest, late);
    }
    void on_due(std::string_view resource, const std::vector<std::uint64_t>& waiters) override {
        for (const std::uint64_t request : waiters)
            due.push_back(std::string(resource) + ' ' + std::to_string(request));
    }

    std::vector<std::string> expired;
    std::vector<std::string> due;  ///< resource and request
    Duration latest{};
    lease::Token next_token = 0;
    MemoryStore store{*this, {1, 2}};
};

}  // namespace holdfast::store::memory
