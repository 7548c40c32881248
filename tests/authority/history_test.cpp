// Thousands of random histories of requests, run through the authority and through a slow obvious model, and compared
// after every step.

#include <cstdlib>
#include <gtest/gtest.h>
#include <ostream>
#include <rapidcheck.h>

#include "authority/desk.h"
#include "authority/slow_model.h"

namespace holdfast::authority {
namespace {

enum class Do : std::uint8_t {
    acquire,
    renew,
    renew_all,
    release,
    revoke,
    bar,
    ban,
    unban,
    verify,
    pass,
    set_ttl_max,
    restart
};
constexpr const char* names[] = {"acquire", "renew", "renew_all", "release", "revoke",      "bar",
                                 "ban",     "unban", "verify",    "pass",    "set_ttl_max", "restart"};

/// Some of them overlap.
constexpr const char* resources[] = {"r0",          "r1",         "FILE:/a",      "FILE:/a/b",
                                     "FILE:/a/b/c", "FILE:/a/**", "FILE:/a/b/**", "FILE:/**"};

/// One step of a history, in small numbers that shrink well.
struct Step {
    Do what = Do::pass;
    unsigned holder = 0;
    unsigned session = 0;
    std::vector<std::pair<unsigned, unsigned>> intents{};  // resource, predicate
    unsigned ttl_ms = 0;
    unsigned lease = 0;  // counted back from the newest
    unsigned pass_us = 0;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
    out << names[static_cast<int>(step.what)] << " holder " << step.holder << '/' << step.session << " lease -"
        << step.lease << " ttl " << step.ttl_ms << "ms pass " << step.pass_us << "us on";
    for (const auto& [resource, predicate] : step.intents)
        out << ' ' << resources[resource] << ':' << to_string(lease::all_predicates[predicate]);
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
                                                    {6, Do::pass},
                                                    {1, Do::set_ttl_max},
                                                    {3, Do::restart}});
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
    /// Of the four holders the last two are agents; the one of lower id is younger.
    Comparison() {
        for (const unsigned i : {2U, 3U}) {
            const std::string id = holder({.holder = i});
            const lease::Priority priority = 1000 - static_cast<lease::Priority>(i);
            desk_.agent(id, priority);
            model_.agents[id] = {priority, 1, false};
        }
    }

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
                desk_.authority.ban(holder(step), {}, [](const Answer<lease::Ban>&) {});
                break;
            case Do::unban:
                model_.policy.bans.erase(holder(step));
                desk_.authority.unban(holder(step), [](const Answer<bool>&) {});
                break;
            case Do::verify:
                verify(lease(step));
                break;
            case Do::pass:
                pass(step);
                break;
            case Do::set_ttl_max:
                set_ttl_max(step);
                break;
            case Do::restart:
                restart(step);
                break;
        }
        compare_all();
    }

    /// How often something rare was reached.
    struct Reached {
        long grants = 0, deaths = 0, restarts = 0, in_grace = 0, resumed = 0, stale = 0;
    };
    const Reached& reached() const { return reached_; }

 private:
    static std::string holder(const Step& step) { return "holder-with-a-longer-name-" + std::to_string(step.holder); }

    void acquire(const Step& step) {
        SlowModel::Asked asked{
            holder(step), std::to_string(step.session), {}, {}, std::chrono::milliseconds{step.ttl_ms}};
        const auto agent = model_.agents.find(asked.holder);
        if (agent != model_.agents.end() && step.lease != 0)  // a life before, the same or the next
            asked.epoch = std::max<std::uint64_t>(agent->second.epoch + step.lease % 3, 2) - 1;
        AcquireRequest request = Desk::request(asked.holder, {});
        request.session = asked.session;
        request.epoch = asked.epoch;
        request.ttl = asked.ttl;
        for (const auto& [resource, predicate] : step.intents)
            request.intents.push_back({resources[resource], lease::all_predicates[predicate]});
        if (request.intents.empty()) request.intents.push_back({"r0"});
        request.intents = *checked_manifest(std::move(request.intents));
        for (const lease::Intent& intent : request.intents)
            asked.intents.emplace_back(intent.resource, intent.predicate);

        const SlowModel::Verdict expected = model_.acquire(asked, desk_.now);
        const AcquireAnswer answer = *desk_.ask(std::move(request));
        if (expected.refused) {
            RC_ASSERT(std::get<Refused>(answer).code == *expected.refused);
            reached_.stale += *expected.refused == Code::stale_epoch;
        } else if (!expected.in_the_way.empty()) {
            std::multiset<lease::Token> in_the_way;
            for (const NamedConflict& conflict : std::get<AcquireBusy>(answer).conflicts)
                in_the_way.insert(conflict.conflict.token);
            RC_ASSERT(in_the_way == expected.in_the_way);
            RC_ASSERT(std::get<AcquireBusy>(answer).code == (expected.die ? Code::die : Code::busy));
            reached_.deaths += expected.die;
        } else {
            granted(asked, std::get<AcquireGranted>(answer));
        }
    }

    void granted(const SlowModel::Asked& asked, const AcquireGranted& answer) {
        std::vector<lease::Token> tokens;
        std::set<lease::Token> distinct;
        for (const HeldLease& held : answer.leases) {
            RC_ASSERT(held.lease.token > highest_token_);  // G3: above every one of an earlier request
            tokens.push_back(held.lease.token);
            distinct.insert(held.lease.token);
        }
        RC_ASSERT(distinct.size() == tokens.size());
        highest_token_ = *distinct.rbegin();
        for (const SlowModel::Entry& entry : model_.entries()) {
            const bool kept = entry.reserved_until && desk_.now < *entry.reserved_until && entry.holder == asked.holder;
            for (const auto& [resource, predicate] : asked.intents)
                reached_.resumed += kept && entry.resource == resource;
        }
        model_.add(asked, tokens, desk_.now);
        ++reached_.grants;
    }

    /// A lease that was granted in this history, or one that never was.
    lease::LeaseName lease(const Step& step) const {
        const auto& entries = model_.entries();
        if (step.lease >= entries.size()) return {"r0", 5};
        const SlowModel::Entry& entry = entries[entries.size() - 1 - step.lease];
        return {entry.resource, entry.token};
    }

    void renew(const Step& step) {
        const lease::LeaseName name = lease(step);
        const auto expected = model_.renew(name.resource, name.token, holder(step), desk_.now);
        std::vector<RenewAnswer> got;
        desk_.authority.renew({{}, holder(step), {}, {{name, {}}}, {}, {}},
                              [&](std::vector<RenewAnswer> answers) { got = std::move(answers); });
        RC_ASSERT(got.size() == 1U);
        compare_renewal(got[0], expected);
    }

    void compare_renewal(const RenewAnswer& answer, std::optional<Code> expected) {
        const auto* refused = std::get_if<Refused>(&answer.result);
        RC_ASSERT((refused != nullptr) == expected.has_value());
        if (refused != nullptr) RC_ASSERT(refused->code == *expected);
    }

    void renew_all(const Step& step) {
        const std::set<lease::Token> mine = model_.of_holder(holder(step), desk_.now);
        RenewRequest request;
        request.holder = holder(step);
        std::optional<std::vector<RenewAnswer>> got;
        desk_.authority.renew_all(std::move(request), [&](const Answer<RenewAllAnswer>& answer) {
            got = std::get<RenewAllAnswer>(answer).answers;
        });
        RC_ASSERT(got && got->size() == mine.size());
        for (const RenewAnswer& one : *got)
            compare_renewal(one, model_.renew(one.name.resource, one.name.token, holder(step), desk_.now));
    }

    void release(const Step& step) {
        const lease::LeaseName name = lease(step);
        const auto expected = model_.release(name.resource, name.token, holder(step), desk_.now);
        std::optional<Answer<ReleaseAnswer>> got;
        desk_.authority.release({{}, name, holder(step), {}}, [&](Answer<ReleaseAnswer> answer) { got = answer; });
        RC_ASSERT(got.has_value());
        const auto* told = std::get_if<ReleaseAnswer>(&*got);
        RC_ASSERT((told != nullptr) == expected.has_value());
        if (told != nullptr) RC_ASSERT(told->state == *expected);
    }

    template <class T>
    static std::optional<Code> refusal(const Answer<T>& answer) {
        const auto* refused = std::get_if<Refused>(&answer);
        return refused != nullptr ? std::optional(refused->code) : std::nullopt;
    }

    void revoke(const Step& step) {
        const lease::LeaseName name = lease(step);
        const auto expected = model_.revoke(name.resource, name.token, desk_.now);
        std::optional<Answer<lease::Lease>> got;
        desk_.authority.revoke(name, [&](Answer<lease::Lease> answer) { got = std::move(answer); });
        RC_ASSERT(got && refusal(*got) == expected);
    }

    void bar(const Step& step) {
        const lease::LeaseName name = lease(step);
        const auto expected = model_.bar(name.resource, name.token, desk_.now);
        std::optional<Answer<HeldLease>> got;
        desk_.authority.bar(name, [&](Answer<HeldLease> answer) { got = std::move(answer); });
        RC_ASSERT(got && refusal(*got) == expected);
    }

    void verify(const lease::LeaseName& name) {
        const VerifyAnswer answer = desk_.verify(name.resource, name.token);
        RC_ASSERT(answer.verified.state == model_.state(name.resource, name.token, desk_.now));
        reached_.in_grace += answer.verified.state == lease::LeaseState::grace;
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
        desk_.authority.change_policy(change, [](const Answer<lease::Policy>&) {});
    }

    void restart(const Step& step) {
        if (!model_.agents.contains(holder(step))) return;
        ++reached_.restarts;
        RC_ASSERT(std::get<std::size_t>(desk_.restarting(holder(step))) ==
                  model_.declare_restart(holder(step), desk_.now));
    }

    void compare_all() {
        for (const std::string resource : resources) {
            std::set<lease::Token> current;
            for (const lease::Lease& held : desk_.verify(resource, 1).verified.current)
                current.insert(held.token);
            RC_ASSERT(current == model_.current(resource, desk_.now));
        }
        const auto& entries = model_.entries();
        for (std::size_t i = entries.size() > 4 ? entries.size() - 4 : 0; i < entries.size(); ++i)
            verify({entries[i].resource, entries[i].token});
        std::set<lease::Token> listed;
        std::set<lease::Token> expected;
        std::optional<Answer<store::ListPage>> page;
        desk_.authority.list({}, [&](Answer<store::ListPage> answer) { page = std::move(answer); });
        RC_ASSERT(page.has_value());
        for (const store::NamedLease& named : std::get<store::ListPage>(*page).leases)
            listed.insert(named.lease.token);
        for (const SlowModel::Entry& entry : model_.entries())
            if (!entry.ended) expected.insert(entry.token);
        RC_ASSERT(listed == expected);
    }

    Desk desk_;
    SlowModel model_;
    lease::Token highest_token_ = 0;
    Reached reached_;
};

TEST(Histories, of_random_requests_go_as_the_slow_model_says) {
    setenv("RC_PARAMS", "max_success=3000 max_size=80", 0);
    Comparison::Reached all;
    const bool held = rc::check("authority and model agree after every step", [&] {
        const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
        Comparison comparison;
        for (const Step& step : steps)
            comparison.run(step);
        const Comparison::Reached& one = comparison.reached();
        all.grants += one.grants;
        all.deaths += one.deaths;
        all.restarts += one.restarts;
        all.in_grace += one.in_grace;
        all.resumed += one.resumed;
        all.stale += one.stale;
    });
    std::printf("grants %ld deaths %ld restarts %ld seen in grace %ld resumed %ld stale %ld\n", all.grants, all.deaths,
                all.restarts, all.in_grace, all.resumed, all.stale);
    EXPECT_TRUE(held);
    EXPECT_GT(all.grants, 1'000) << "too little happened to prove anything";
    EXPECT_GT(all.deaths, 0);
    EXPECT_GT(all.in_grace, 10);
    EXPECT_GT(all.resumed, 0);
    EXPECT_GT(all.stale, 0);
}

}  // namespace
}  // namespace holdfast::authority
