#include "authority/single_record.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "authority/allocations.h"
#include "authority/desk.h"

namespace holdfast::authority {
namespace {

/// What came of a request, in one form for both ways.
struct Told {
    int answers = 0;
    std::optional<Code> code;
    std::string detail;
    std::optional<Duration> retry_in;
    lease::Token token = 0;
    Duration ttl{};
    std::optional<Instant> expires_at;
    std::optional<Duration> cut_from;
    lease::LeaseState state = lease::LeaseState::unknown;
    std::size_t conflicts = 0;

    bool operator==(const Told&) const = default;
};

Told told_by(const SingleRecordAnswer& answer) {
    Told told;
    told.answers = 1;
    told.code = answer.refused;
    told.detail = answer.detail;
    told.retry_in = answer.retry_in;
    told.state = answer.state;
    told.cut_from = answer.cut_from;
    told.conflicts = answer.standing.conflicts.size();
    if (!answer.has_lease) return told;
    told.token = answer.lease.token;
    told.ttl = answer.lease.ttl;
    told.expires_at = answer.lease.expires_at;
    return told;
}

Told told_of(const lease::Lease& lease, const std::optional<TtlCut>& cut) {
    Told told;
    told.answers = 1;
    told.token = lease.token;
    told.ttl = lease.ttl;
    told.expires_at = lease.expires_at;
    if (cut) told.cut_from = cut->requested;
    return told;
}

Told told_of(const Refused& refused) {
    Told told;
    told.answers = 1;
    told.code = refused.code;
    told.detail = refused.detail;
    told.retry_in = refused.retry_in;
    return told;
}

/// An authority that writes down its events, asked the long or the short way.
struct Witness {
    explicit Witness(const lease::Policy& policy) : desk(policy) {
        desk.authority.events().subscribe([this](const Event& event) {
            events.push_back(std::string(to_string(event.kind)) + " " + event.resource + "#" +
                             std::to_string(event.token) + " " + event.holder);
        });
    }

    Told acquire(bool quickly, const std::string& holder, const std::string& resource, lease::Predicate predicate,
                 std::optional<Duration> ttl) {
        Told told;
        if (quickly) {
            desk.authority.single_record().acquire(resource, holder, predicate, ttl,
                                                   [&](const SingleRecordAnswer& answer) { told = told_by(answer); });
            return told;
        }
        AcquireRequest asked = Desk::request(holder, {{resource, predicate}});
        asked.ttl = ttl;
        const auto answer = desk.ask(std::move(asked));
        if (!answer) return told;
        if (const auto* refused = std::get_if<Refused>(&*answer)) return told_of(*refused);
        told.answers = 1;
        if (const auto* granted = std::get_if<AcquireGranted>(&*answer))
            return told_of(granted->leases[0].lease, granted->ttl_cut);
        told.code = code_of(*answer);
        if (told.code == Code::die) told.code = Code::busy;  // only the long way tells an agent to die (G5)
        if (const auto* busy = std::get_if<AcquireBusy>(&*answer)) told.conflicts = busy->conflicts.size();
        return told;
    }

    Told renew(bool quickly, const std::string& holder, const lease::LeaseName& name, std::optional<Duration> ttl) {
        Told told;
        if (quickly) {
            desk.authority.single_record().renew(name.resource, holder, name.token, ttl,
                                                 [&](const SingleRecordAnswer& answer) { told = told_by(answer); });
            return told;
        }
        RenewRequest asked;
        asked.holder = holder;
        asked.leases = {{name, {}}};
        asked.ttl = ttl;
        desk.authority.renew(std::move(asked), [&](const std::vector<RenewAnswer>& answers) {
            if (const auto* renewed = std::get_if<RenewedLease>(&answers.at(0).result))
                told = told_of(renewed->held.lease, renewed->ttl_cut);
            else
                told = told_of(std::get<Refused>(answers.at(0).result));
        });
        return told;
    }

    Told release(bool quickly, const std::string& holder, const lease::LeaseName& name) {
        Told told;
        if (quickly) {
            desk.authority.single_record().release(name.resource, holder, name.token,
                                                   [&](const SingleRecordAnswer& answer) {
                                                       if (answer.refused) return void(told = told_by(answer));
                                                       told.answers = 1;
                                                       told.state = answer.state;
                                                   });
            return told;
        }
        desk.authority.release({{}, name, holder}, [&](const Answer<ReleaseAnswer>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return void(told = told_of(*refused));
            told.answers = 1;
            told.state = std::get<ReleaseAnswer>(answer).state;
        });
        return told;
    }

    /// A request that waits, so that there are some whose turn may come.
    void wait(const std::string& holder, const std::string& resource, Duration wait) {
        desk.authority.acquire(Desk::request(holder, {{resource}}, wait), [this, holder](const AcquireAnswer& answer) {
            events.push_back(holder + (std::holds_alternative<AcquireGranted>(answer) ? " got it" : " did not get it"));
        });
    }

    Desk desk;
    std::vector<std::string> events;
};

template <class T>
T pick(std::initializer_list<T> from) {
    return *rc::gen::elementOf(std::vector<T>(from));
}

lease::Policy some_policy() {
    lease::Policy policy;
    policy.ttl_min = 1s;
    policy.ttl_max = 100s;
    policy.reject_above_max = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) policy.hold_max = 150s;
    if (*rc::gen::arbitrary<bool>()) policy.leases_per_holder_max = 2;
    if (*rc::gen::arbitrary<bool>()) policy.bans.emplace("mallory", lease::Ban{"a reason", 0});
    if (*rc::gen::arbitrary<bool>()) policy.name_pattern = *lease::NamePattern::compile("FILE:.*|a");
    if (*rc::gen::arbitrary<bool>()) policy.namespaces["team"].name_pattern = *lease::NamePattern::compile("a");
    if (*rc::gen::arbitrary<bool>()) policy.namespaces["team"].leases_per_holder_max = 1;
    if (*rc::gen::arbitrary<bool>()) policy.namespaces["team"].hold_max = 70s;
    return policy;
}

std::optional<Duration> some_ttl() {
    return pick<std::optional<Duration>>({std::nullopt, 10s, 60s, 500ms, 500s});
}

TEST(SingleRecord, answers_and_publishes_as_the_long_way_does_over_any_history) {
    const bool held = rc::check([] {
        const lease::Policy policy = some_policy();
        Witness quick(policy), slow(policy);
        std::uint64_t epoch = 1;
        for (Witness* witness : {&quick, &slow}) {
            witness->desk.agent("old", 5, epoch);
            witness->desk.agent("young", 50, epoch);
        }
        std::vector<lease::LeaseName> names{{"a", 1}, {"@~services/web", 1}, {"KEY:room", 1}, {"leader:g", 1}};
        const int steps = *rc::gen::inRange(1, 60);
        for (int step = 0; step < steps; ++step) {
            const auto holder = pick<std::string>({"ann", "bob", "mallory", "old", "young"});
            const auto resource = pick<std::string>({"a", "b", "@team/a", "@team/b", "FILE:/x/y", "FILE:/x/**",
                                                     "@~services/web", "@~other/web", "KEY:room", "leader:g"});
            const lease::LeaseName name = *rc::gen::elementOf(names);
            const auto ttl = some_ttl();
            switch (*rc::gen::inRange(0, 10)) {
                case 0:
                case 1: {
                    const auto predicate = pick({lease::Predicate::mutates, lease::Predicate::consumes});
                    const Told told = quick.acquire(true, holder, resource, predicate, ttl);
                    RC_ASSERT(told.answers == 1);
                    RC_ASSERT(told == slow.acquire(false, holder, resource, predicate, ttl));
                    if (told.token != 0) names.push_back({resource, told.token});
                    break;
                }
                case 2: {
                    const Told told = quick.renew(true, holder, name, ttl);
                    RC_ASSERT(told.answers == 1);
                    RC_ASSERT(told == slow.renew(false, holder, name, ttl));
                    break;
                }
                case 3: {
                    const Told told = quick.release(true, holder, name);
                    RC_ASSERT(told.answers == 1);
                    RC_ASSERT(told == slow.release(false, holder, name));
                    break;
                }
                case 4:
                    quick.wait(holder, resource, 20s);
                    slow.wait(holder, resource, 20s);
                    break;
                case 5: {
                    const auto agent = pick<std::string>({"old", "young"});
                    RC_ASSERT(quick.desk.restarting(agent) == slow.desk.restarting(agent));
                    break;
                }
                case 6: {
                    const auto agent = pick<std::string>({"old", "young"});
                    ++epoch;
                    RC_ASSERT(quick.desk.agent(agent, {}, epoch).has_value() ==
                              slow.desk.agent(agent, {}, epoch).has_value());
                    break;
                }
                case 7: {
                    const bool full = *rc::gen::arbitrary<bool>();
                    quick.desk.authority.set_memory_full(full);
                    slow.desk.authority.set_memory_full(full);
                    break;
                }
                case 8: {
                    if (*rc::gen::inRange(0, 4) != 0) break;
                    quick.desk.authority.recover_until(quick.desk.now + 5s, "why");
                    slow.desk.authority.recover_until(slow.desk.now + 5s, "why");
                    break;
                }
                default: {
                    const auto by = pick<Duration>({1s, 9s, 30s, 70s});
                    quick.desk.pass(by);
                    slow.desk.pass(by);
                }
            }
            RC_ASSERT(quick.events == slow.events);
            RC_ASSERT(quick.desk.authority.active_leases() == slow.desk.authority.active_leases());
            RC_ASSERT(quick.desk.authority.waiters() == slow.desk.authority.waiters());
        }
    });
    EXPECT_TRUE(held);
}

/// What a short acquire of `bob` was refused with.
struct TransactionRefusal {
    std::optional<Code> code;
    std::optional<Duration> retry_in;
    int answers = 0;
};

TransactionRefusal refusal_of(Desk& desk, std::string_view resource = "a") {
    TransactionRefusal told;
    desk.authority.single_record().acquire(resource, "bob", lease::Predicate::mutates, {},
                                           [&](const SingleRecordAnswer& answer) {
                                               told.code = answer.refused;
                                               told.retry_in = answer.retry_in;
                                               ++told.answers;
                                           });
    EXPECT_EQ(told.answers, 1);
    return told;
}

TEST(SingleRecord, grants_nothing_while_the_server_stops_or_recovers) {
    Desk recovering({}, Instant{2000s});
    const TransactionRefusal told = refusal_of(recovering);
    EXPECT_EQ(told.code, Code::recovering);
    EXPECT_EQ(told.retry_in, Duration{1000s});
    Desk stopping;
    stopping.authority.stop();
    EXPECT_EQ(refusal_of(stopping).code, Code::stopping);
    EXPECT_EQ(stopping.authority.active_leases(), 0U);
}

TEST(SingleRecord, refuses_a_life_of_an_agent_that_has_declared_its_restart) {
    Desk desk;
    desk.agent("bob", 5);
    desk.restarting("bob");
    EXPECT_EQ(refusal_of(desk).code, Code::agent_restarting);
    EXPECT_EQ(refusal_of(desk, "@~services/web").code, Code::agent_restarting) << "as the long way does";
}

TEST(SingleRecord, runs_a_rule_of_several_steps_as_one_change) {
    Desk desk;
    const lease::Token token = desk.lock("ann", "a");
    std::vector<std::string> kinds;
    desk.authority.events().subscribe([&](const Event& event) { kinds.emplace_back(to_string(event.kind)); });
    lease::Token taken = 0;
    std::int64_t number = 0;
    desk.authority.single_record().update(
        {.resource = "a", .holder = "bob", .extra = "ann", .takes = true},
        [](RecordTransaction& at) {
            const lease::Lease& lease = at.record().leases.at(0);
            at.answer().number = lease.holder == at.extra() ? 1 : 0;
            at.end(lease.token, lease::Ending::revoked);
            at.acquire(lease::Predicate::mutates, 10s);
        },
        [&](const SingleRecordAnswer& answer) {
            EXPECT_FALSE(answer.refused);
            number = answer.number;
            taken = answer.lease.token;
        });
    EXPECT_GT(taken, token);
    EXPECT_EQ(number, 1);
    EXPECT_EQ(kinds, (std::vector<std::string>{"revoked", "granted"}));
    EXPECT_EQ(desk.verify("a", token).verified.state, lease::LeaseState::revoked);
}

TEST(SingleRecord, takes_the_place_of_whoever_has_it_and_tells_of_the_ends_first) {
    Desk desk;
    const lease::Token shared = desk.lock("ann", "a");
    std::vector<std::string> kinds;
    desk.authority.events().subscribe([&](const Event& event) { kinds.emplace_back(to_string(event.kind)); });
    std::vector<lease::Token> taken;
    for (const std::string holder : {"bob", "bob"})
        desk.authority.single_record().update(
            {.resource = "a", .holder = holder, .takes = true, .exact = true},
            [](RecordTransaction& at) { at.replace(lease::Predicate::mutates, 10s); },
            [&](const SingleRecordAnswer& answer) {
                EXPECT_FALSE(answer.refused);
                taken.push_back(answer.lease.token);
            });
    ASSERT_EQ(taken.size(), 2U);
    EXPECT_GT(taken.at(0), shared);
    EXPECT_GT(taken.at(1), taken.at(0));
    EXPECT_EQ(kinds, (std::vector<std::string>{"revoked", "granted", "released", "granted"}));
    EXPECT_EQ(desk.verify("a", shared).verified.state, lease::LeaseState::revoked);
    EXPECT_EQ(desk.verify("a", taken[0]).verified.state, lease::LeaseState::released);
    EXPECT_EQ(desk.verify("a", taken[1]).verified.state, lease::LeaseState::active);
}

TEST(SingleRecord, ends_nothing_if_it_may_not_take_the_place) {
    Desk desk;
    const lease::Token token = desk.lock("ann", "a");
    std::optional<Code> refused;
    desk.authority.single_record().update(
        {.resource = "a", .holder = "bob", .takes = true, .exact = true},
        [](RecordTransaction& at) { at.replace(lease::Predicate::mutates, 10min); },
        [&](const SingleRecordAnswer& answer) { refused = answer.refused; });
    EXPECT_EQ(refused, Code::ttl_too_long);
    EXPECT_EQ(desk.verify("a", token).verified.state, lease::LeaseState::active);
}

TEST(SingleRecord, may_be_called_again_from_its_own_answer) {
    Desk desk;
    int granted = 0;
    std::function<void()> next = [&] {
        if (granted == 50) return;
        desk.authority.single_record().acquire("r" + std::to_string(granted), "bob", lease::Predicate::mutates, {},
                                               [&](const SingleRecordAnswer& answer) {
                                                   if (answer.has_lease) ++granted;
                                                   next();
                                               });
    };
    next();
    EXPECT_EQ(granted, 50);
}

/// How many allocations a number of rounds of this takes once it is warm.
template <class Function>
std::size_t allocations_in(int rounds, Function function) {
    // The ring of events is warm when every slot has been used.
    for (int i = 0; i < 25'000; ++i)
        function(i);
    const std::size_t before = allocations();
    for (int i = 0; i < rounds; ++i)
        function(i);
    return allocations() - before;
}

class QuickAllocation : public testing::TestWithParam<std::string> {};

TEST_P(QuickAllocation, is_none_for_a_renewal) {
    Desk desk;
    const std::string& holder = GetParam();
    std::vector<lease::Token> tokens;
    std::vector<std::string> names;
    for (int i = 0; i < 100; ++i) {
        names.push_back("a resource with a name of some length " + std::to_string(i));
        tokens.push_back(desk.lock(holder, names.back()));
    }
    int renewed = 0;
    const std::size_t made = allocations_in(1000, [&](int i) {
        desk.authority.single_record().renew(
            names[i % 100], holder, tokens[i % 100], {},
            [&](const SingleRecordAnswer& answer) { renewed += answer.has_lease ? 1 : 0; });
    });
    EXPECT_EQ(made, 0U);
    EXPECT_EQ(renewed, 26'000);
}

TEST_P(QuickAllocation, is_none_for_taking_and_letting_go_of_what_had_been_taken_before) {
    Desk desk;
    const std::string& holder = GetParam();
    std::vector<std::string> names;
    for (int i = 0; i < 100; ++i)
        names.push_back("a resource with a name of some length " + std::to_string(i));
    int released = 0;
    const std::size_t made = allocations_in(1000, [&](int i) {
        const std::string& name = names[i % 100];
        lease::Token token = 0;
        desk.authority.single_record().acquire(name, holder, lease::Predicate::mutates, 30s,
                                               [&](const SingleRecordAnswer& answer) { token = answer.lease.token; });
        desk.authority.single_record().release(
            name, holder, token, [&](const SingleRecordAnswer& answer) { released += answer.has_lease ? 1 : 0; });
    });
    EXPECT_EQ(made, 0U);
    EXPECT_EQ(released, 26'000);
}

INSTANTIATE_TEST_SUITE_P(Holders, QuickAllocation,
                         testing::Values("bob", "an-instance-with-a-long-name-1763208000001-9f86d081"));

}  // namespace
}  // namespace holdfast::authority
