// Thousands of random histories of requests, run through the authority and through a slow obvious model, and compared
// after every step.

#include <cstdlib>
#include <gtest/gtest.h>
#include <ostream>
#include <rapidcheck.h>

#include "authority/desk.h"
#include "authority/slow_model.h"

namespace holdfast::core {
namespace {

enum class Do : std::uint8_t { acquire, renew, renew_all, release, revoke, bar, ban, unban, verify, pass, set_ttl_max };
constexpr const char* names[] = {"acquire", "renew", "renew_all", "release", "revoke",     "bar",
                                 "ban",     "unban", "verify",    "pass",    "set_ttl_max"};

/// One step of a history, in small numbers that shrink well.
struct Step {
    Do what = Do::pass;
    unsigned holder = 0;
    unsigned session = 0;
    std::vector<std::pair<unsigned, unsigned>> intents;  // resource, predicate
    unsigned ttl_ms = 0;
    unsigned lease = 0;  // counted back from the newest
    unsigned pass_us = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
    out << names[static_cast<int>(step.what)] << " holder " << step.holder << '/' << step.session << " lease -"
        << step.lease << " ttl " << step.ttl_ms << "ms pass " << step.pass_us << "us on";
    for (const auto& [resource, predicate] : step.intents)
        out << " r" << resource << ':' << to_string(all_predicates[predicate]);
    return out;
}

template <class T>
rc::Gen<T> below(T bound) {
    return rc::gen::inRange<T>(0, bound);
}

rc::Gen<Step> any_step() {
    const auto what = rc::gen::weightedElement<Do>({{12, Do::acquire},
                                                    {5, Do::renew},
                                                    {1, Do::renew_all},
                                                    {4, Do::release},
                                                    {1, Do::revoke},
                                                    {1, Do::bar},
                                                    {1, Do::ban},
                                                    {2, Do::unban},
                                                    {3, Do::verify},
                                                    {5, Do::pass},
                                                    {1, Do::set_ttl_max}});
    const auto intent = rc::gen::pair(below(8U), below(6U));
    return rc::gen::build<Step>(
        rc::gen::set(&Step::what, what), rc::gen::set(&Step::holder, below(4U)),
        rc::gen::set(&Step::session, below(2U)),
        rc::gen::set(&Step::intents,
                     rc::gen::resize(3, rc::gen::container<std::vector<std::pair<unsigned, unsigned>>>(intent))),
        rc::gen::set(&Step::ttl_ms, rc::gen::element(500U, 1000U, 1001U, 5000U, 5000U, 60'000U, 60'000U, 400'000U)),
        rc::gen::set(&Step::lease, below(6U)),
        rc::gen::set(&Step::pass_us,
                     rc::gen::element(0U, 1U, 999U, 1000U, 250'000U, 999'999U, 5'000'000U, 61'000'000U, 299'000'000U)));
}

/// Both sides of a history.
class Comparison {
 public:
    void run(const Step& step) {
        switch (step.what) {
            case Do::acquire:
                acquire(step);
                break;
            case Do::renew:
                renew(step);
                break;
            case Do::renew_all:
                renew_all(step);
                break;
            case Do::release:
                release(step);
                break;
            case Do::revoke:
                revoke(step);
                break;
            case Do::bar:
                bar(step);
                break;
            case Do::ban:
                model_.policy.bans[holder(step)] = {};
                desk_.authority.ban(holder(step), {}, [](const Answer<Ban>&) {});
                break;
            case Do::unban:
                model_.policy.bans.erase(holder(step));
                desk_.authority.unban(holder(step), [](const Answer<bool>&) {});
                break;
            case Do::verify:
                verify(step);
                break;
            case Do::pass:
                pass(step);
                break;
            case Do::set_ttl_max:
                set_ttl_max(step);
                break;
        }
        compare_all();
    }

    long grants() const { return grants_; }

 private:
    static std::string holder(const Step& step) { return "holder-with-a-longer-name-" + std::to_string(step.holder); }

    void acquire(const Step& step) {
        SlowModel::Asked asked{holder(step), std::to_string(step.session), {}, std::chrono::milliseconds{step.ttl_ms}};
        AcquireRequest request = Desk::request(asked.holder, {});
        request.session = asked.session;
        request.ttl = asked.ttl;
        for (const auto& [resource, predicate] : step.intents)
            request.intents.push_back({"r" + std::to_string(resource), all_predicates[predicate]});
        if (request.intents.empty()) request.intents.push_back({"r0"});
        request.intents = *checked_manifest(std::move(request.intents));
        for (const Intent& intent : request.intents)
            asked.intents.emplace_back(intent.resource, intent.predicate);

        const SlowModel::Verdict expected = model_.acquire(asked, desk_.now);
        const AcquireAnswer answer = *desk_.ask(std::move(request));
        if (expected.refused) {
            RC_ASSERT(std::get<Refused>(answer).code == *expected.refused);
        } else if (!expected.in_the_way.empty()) {
            std::multiset<Token> in_the_way;
            for (const NamedConflict& conflict : std::get<AcquireBusy>(answer).conflicts)
                in_the_way.insert(conflict.conflict.token);
            RC_ASSERT(in_the_way == expected.in_the_way);
        } else {
            granted(asked, std::get<AcquireGranted>(answer));
        }
    }

    void granted(const SlowModel::Asked& asked, const AcquireGranted& answer) {
        std::vector<Token> tokens;
        std::set<Token> distinct;
        for (const HeldLease& held : answer.leases) {
            RC_ASSERT(held.lease.token > highest_token_);  // G3: above every one of an earlier request
            tokens.push_back(held.lease.token);
            distinct.insert(held.lease.token);
        }
        RC_ASSERT(distinct.size() == tokens.size());
        highest_token_ = *distinct.rbegin();
        model_.add(asked, tokens, desk_.now);
        ++grants_;
    }

    /// A lease that was granted in this history, or one that never was.
    LeaseName lease(const Step& step) const {
        const auto& entries = model_.entries();
        if (step.lease >= entries.size()) return {"r0", 5};
        const SlowModel::Entry& entry = entries[entries.size() - 1 - step.lease];
        return {entry.resource, entry.token};
    }

    void renew(const Step& step) {
        const LeaseName name = lease(step);
        const auto expected = model_.renew(name.resource, name.token, holder(step), desk_.now);
        desk_.authority.renew({{}, holder(step), {name}, {}},
                              [&](const std::vector<RenewAnswer>& answers) { compare_renewal(answers[0], expected); });
    }

    void compare_renewal(const RenewAnswer& answer, std::optional<Code> expected) {
        const auto* refused = std::get_if<Refused>(&answer.result);
        RC_ASSERT((refused != nullptr) == expected.has_value());
        if (refused != nullptr) RC_ASSERT(refused->code == *expected);
    }

    void renew_all(const Step& step) {
        const std::set<Token> mine = model_.of_holder(holder(step), desk_.now);
        RenewRequest request;
        request.holder = holder(step);
        desk_.authority.renew_all(std::move(request), [&](const Answer<std::vector<RenewAnswer>>& answer) {
            const auto& answers = std::get<std::vector<RenewAnswer>>(answer);
            RC_ASSERT(answers.size() == mine.size());
            for (const RenewAnswer& one : answers)
                compare_renewal(one, model_.renew(one.name.resource, one.name.token, holder(step), desk_.now));
        });
    }

    void release(const Step& step) {
        const LeaseName name = lease(step);
        const auto expected = model_.release(name.resource, name.token, holder(step), desk_.now);
        desk_.authority.release({{}, name, holder(step)}, [&](const Answer<ReleaseAnswer>& answer) {
            const auto* told = std::get_if<ReleaseAnswer>(&answer);
            RC_ASSERT((told != nullptr) == expected.has_value());
            if (told != nullptr) RC_ASSERT(told->state == *expected);
        });
    }

    template <class T>
    static std::optional<Code> refusal(const Answer<T>& answer) {
        const auto* refused = std::get_if<Refused>(&answer);
        return refused != nullptr ? std::optional(refused->code) : std::nullopt;
    }

    void revoke(const Step& step) {
        const LeaseName name = lease(step);
        const auto expected = model_.revoke(name.resource, name.token, desk_.now);
        desk_.authority.revoke(name, [&](const Answer<Lease>& answer) { RC_ASSERT(refusal(answer) == expected); });
    }

    void bar(const Step& step) {
        const LeaseName name = lease(step);
        const auto expected = model_.bar(name.resource, name.token, desk_.now);
        desk_.authority.bar(name, [&](const Answer<HeldLease>& answer) { RC_ASSERT(refusal(answer) == expected); });
    }

    void verify(const Step& step) {
        const LeaseName name = lease(step);
        const VerifyAnswer answer = desk_.verify(name.resource, name.token);
        RC_ASSERT(answer.verified.state == model_.state(name.resource, name.token, desk_.now));
    }

    /// Time passes. Now and then the sweep is kept from its work: that must make no difference (T2).
    void pass(const Step& step) {
        desk_.now += std::chrono::microseconds{step.pass_us};
        desk_.store.advance(desk_.now, step.lease % 2 == 0 ? 0 : 100'000);
        desk_.authority.advance(desk_.now);
    }

    void set_ttl_max(const Step& step) {
        const Duration ttl_max = std::max<Duration>(std::chrono::milliseconds{step.ttl_ms}, 60s);
        model_.policy.ttl_max = ttl_max;
        PolicyChange change;
        change.ttl_max = ttl_max;
        desk_.authority.change_policy(change, [](const Answer<Policy>&) {});
    }

    void compare_all() {
        for (int i = 0; i < 8; ++i) {
            const std::string resource = "r" + std::to_string(i);
            std::set<Token> current;
            for (const Lease& held : desk_.verify(resource, 1).verified.current)
                current.insert(held.token);
            RC_ASSERT(current == model_.current(resource, desk_.now));
        }
        std::set<Token> listed;
        std::set<Token> expected;
        desk_.authority.list({}, [&](const Answer<ListPage>& page) {
            for (const NamedLease& named : std::get<ListPage>(page).leases)
                listed.insert(named.lease.token);
        });
        for (const SlowModel::Entry& entry : model_.entries())
            if (!entry.ended) expected.insert(entry.token);
        RC_ASSERT(listed == expected);
    }

    Desk desk_;
    SlowModel model_;
    Token highest_token_ = 0;
    long grants_ = 0;
};

TEST(Histories, of_random_requests_go_as_the_slow_model_says) {
    setenv("RC_PARAMS", "max_success=3000 max_size=80", 0);
    long grants = 0;
    const bool held = rc::check("authority and model agree after every step", [&] {
        const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
        Comparison comparison;
        for (const Step& step : steps)
            comparison.run(step);
        grants += comparison.grants();
    });
    RecordProperty("grants", static_cast<int>(grants));
    EXPECT_TRUE(held);
    EXPECT_GT(grants, 3'000) << "too little happened to prove anything";
}

}  // namespace
}  // namespace holdfast::core
