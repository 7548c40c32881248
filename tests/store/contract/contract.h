#pragma once

#include <gtest/gtest.h>
#include <optional>

#include "authority/store_call.h"
#include "lease/rules.h"
#include "store/contract/store_under_test.h"

namespace holdfast::store::contract {

/// What every store keeps to, checked through the rules and nothing else. A test program that links
/// holdfast_store_contract runs all of it against a store of its own by
///
///     INSTANTIATE_TEST_SUITE_P(Redis, StoreContract, testing::Values(ContractStore{"redis", make_it}), contract_name);
///
/// The tests take leases of a second or two, so that they are as good in real time.
class StoreContract : public testing::TestWithParam<ContractStore> {
 protected:
    /// Makes the store. False, with the reason in `skipped`, if it cannot be put through one of these.
    bool set_up(std::initializer_list<Ordeal> ordeals, ContractShape shape = {});

    /// What came of a call, now or later.
    template <class Value>
    struct Later {
        bool done = false;
        std::optional<Value> value;
        ErrorCode error;
        std::string message;
    };
    template <class Value>
    using Promised = std::shared_ptr<Later<Value>>;

    struct Ask {
        std::string holder;
        Duration ttl = 60s;
        lease::Predicate predicate = lease::Predicate::mutates;
        std::string session{};
        std::uint64_t request = 0;  ///< if it may be in the queue
        lease::Token token{};       ///< to give, if it is not too low
        std::string metadata{};
    };
    /// The token, or 0 if somebody is in the way.
    Promised<lease::Token> ask(std::size_t front, const std::string& resource, const Ask& ask);
    Promised<bool> ask_renew(std::size_t front, const lease::LeaseName& name, const std::string& holder);
    Promised<bool> ask_release(std::size_t front, const lease::LeaseName& name, const std::string& holder);
    Promised<bool> ask_wait(std::size_t front, const std::string& resource, std::uint64_t request,
                            const std::string& holder, Duration how_long = 1h);
    Promised<lease::Verified> ask_state(std::size_t front, const lease::LeaseName& name);
    Promised<std::vector<lease::LeaseName>> ask_leases_of(std::size_t front, const std::string& holder);

    /// Runs a rule: `rule(Record&, const Neighbours&, Instant) -> Ruling<Verdict>`.
    template <class Rule>
    auto apply(std::size_t front, const std::string& resource, Rule rule) {
        using Verdict = typename decltype(authority::call_rule(
            rule, std::declval<lease::Record&>(), std::declval<const lease::Neighbours&>(), Instant{}))::verdict_type;
        auto later = std::make_shared<Later<Verdict>>();
        authority::apply_rule(tested->store(front), resource, std::move(rule),
                              [later](const Result<Verdict>& result) { settle_later(*later, result); });
        return later;
    }

    // The same, until they are answered: fails the test if they are not, or with an error.
    lease::Token acquire(std::size_t front, const std::string& resource, const Ask& ask);
    bool renew(std::size_t front, const lease::LeaseName& name, const std::string& holder);
    bool release(std::size_t front, const lease::LeaseName& name, const std::string& holder);
    lease::LeaseState state(std::size_t front, const lease::LeaseName& name);
    std::vector<std::string> leases_of(std::size_t front, const std::string& holder);
    struct Listing {
        std::string name_space{}, prefix{}, holder{};
        std::size_t limit = 100;
    };
    std::vector<std::string> list_all(std::size_t front, const Listing& listing);

    /// Asks what has become of a lease, and waits for that. False if there is no answer but an error.
    bool ask_answered(std::size_t front, const lease::LeaseName& name);

    template <class Value>
    std::optional<Value> answer(const Promised<Value>& later, Duration limit = 20s) {
        EXPECT_TRUE(tested->run_until([&] { return later->done; }, limit)) << "no answer";
        EXPECT_EQ(later->error, ErrorCode{}) << later->message;
        return later->value;
    }
    bool until(const std::function<bool()>& condition, Duration limit = 20s) {
        return tested->run_until(condition, limit);
    }
    void pass(Duration time);

    std::unique_ptr<StoreUnderTest> tested;
    lease::Token next_token = 1000;
    std::string skipped;

 private:
    template <class Value>
    static void settle_later(Later<Value>& later, const Result<Value>& result) {
        later.done = true;
        if (result) {
            later.value = *result;
            return;
        }
        later.error = result.error().code;
        later.message = result.error().message;
    }
};

/// First in each test: what it puts the store through, and the shape if it matters.
#define HOLDFAST_SET_UP(...) \
    if (!set_up(__VA_ARGS__)) GTEST_SKIP() << skipped

/// For INSTANTIATE_TEST_SUITE_P.
std::string contract_name(const testing::TestParamInfo<ContractStore>& info);

}  // namespace holdfast::store::contract
