#include "authority/authority.h"

#include <gtest/gtest.h>
#include <utility>

#include "authority/desk.h"
#include "authority/store_call.h"

namespace holdfast::authority {
namespace {

std::vector<RenewAnswer> renew_all(Desk& desk, const std::string& holder) {
    std::vector<RenewAnswer> told;
    RenewRequest request;
    request.holder = holder;
    desk.authority.renew_all(std::move(request), [&](Answer<RenewAllAnswer> answer) {
        told = std::get<RenewAllAnswer>(std::move(answer)).answers;
    });
    return told;
}

TEST(Authority, grants_one_of_a_hundred_who_ask_for_the_same) {
    Desk desk;
    int granted = 0;
    for (int i = 0; i < 100; ++i)
        granted += desk.lock("h" + std::to_string(i), "r") != 0;
    EXPECT_EQ(granted, 1);
}

TEST(Authority, gives_tokens_that_only_rise) {  // G3
    Desk desk;
    lease::Token last = 0;
    for (int i = 0; i < 100; ++i) {
        const std::string resource = "r" + std::to_string(i % 7);
        AcquireRequest asked = Desk::request("h", {{resource}});
        asked.session = "one";
        const auto answer = desk.ask(std::move(asked));
        const lease::Token token = std::get<AcquireGranted>(*answer).leases[0].lease.token;
        EXPECT_GT(token, last);
        last = token;
    }
}

TEST(Authority, grants_nothing_before_its_tokens_are_durable) {  // G3
    TestDurable durable;
    durable.hold = true;
    Authority authority(
        {.durable = durable, .policy = {}, .tokens_issued = 500, .wall_ms = 100, .recovering_until = {}});
    store::memory::MemoryStore store{authority.listener(), {}};
    authority.use(store);
    authority.advance(Instant{1s});
    std::optional<AcquireAnswer> answer;
    const auto ask = [&] {
        authority.acquire(Desk::request("alice", {{"r"}}), [&](AcquireAnswer got) { answer = std::move(got); });
    };
    ask();
    EXPECT_EQ(code_of(*answer), Code::tokens_exhausted);
    durable.answer_one();
    ask();
    EXPECT_EQ(std::get<AcquireGranted>(*answer).leases[0].lease.token, 501U);
}

TEST(Authority, asks_a_failing_disk_again_but_not_with_every_request) {  // G3
    TestDurable durable;
    durable.outcome = Error{Code::storage_failed, "disk full"};
    Authority authority({.durable = durable, .policy = {}, .tokens_issued = 0, .wall_ms = 100, .recovering_until = {}});
    store::memory::MemoryStore store{authority.listener(), {}};
    authority.use(store);
    authority.advance(Instant{10s});
    EXPECT_NE(std::exchange(durable.reserved, 0), 0U);
    authority.advance(Instant{10s + 999ms});
    EXPECT_EQ(durable.reserved, 0U);
    authority.advance(Instant{11s});
    EXPECT_NE(durable.reserved, 0U);
}

TEST(Authority, says_of_a_store_that_cannot_how_long_that_is_known_to_last) {
    EXPECT_EQ(storage_failure({Code::unavailable, "silent", Duration{254s}}).retry_in, Duration{254s});
    EXPECT_EQ(storage_failure({Code::store_unavailable, "away"}).retry_in, Duration{1s}) << "nobody knows: look soon";
    EXPECT_EQ(storage_failure({Code::storage_failed, "full"}).retry_in, std::nullopt);
    EXPECT_EQ(storage_failure({Code::invalid_argument, "no"}).retry_in, std::nullopt);
}

TEST(Authority, grants_nothing_while_it_recovers_and_says_for_how_long) {  // S1
    Desk desk{{}, Instant{1010s}};
    const auto answer = desk.ask(Desk::request("alice", {{"r"}}));
    EXPECT_EQ(code_of(*answer), Code::recovering);
    EXPECT_EQ(std::get<Refused>(*answer).retry_in, Duration{10s});
    EXPECT_EQ(desk.authority.recovering_for(), 10s);
    desk.at(Instant{1010s});
    EXPECT_NE(desk.lock("alice", "r"), 0U);
}

TEST(Authority, renews_many_with_an_answer_each) {  // R1
    Desk desk;
    const lease::Token mine = desk.lock("alice", "a");
    const lease::Token other = desk.lock("bob", "b");
    desk.pass(10s);
    std::vector<RenewAnswer> told;
    desk.authority.renew({{}, "alice", {}, {{{"a", mine}, {}}, {{"b", other}, {}}, {{"c", 3}, {}}}, {}, {}},
                         [&](std::vector<RenewAnswer> answers) { told = std::move(answers); });
    ASSERT_EQ(told.size(), 3U);
    EXPECT_EQ(std::get<RenewedLease>(told[0].result).held.timeline.expires_in, 60s);
    EXPECT_EQ(std::get<Refused>(told[1].result).code, Code::not_holder);
    EXPECT_EQ(std::get<Refused>(told[2].result).code, Code::unknown_lease);
}

TEST(Authority, renews_all_of_a_holder_in_one_go) {
    Desk desk;
    for (int i = 0; i < 20; ++i)
        desk.lock("alice", "a" + std::to_string(i));
    desk.lock("bob", "b");
    desk.ask(Desk::request("alice", {{"shared", lease::Predicate::consumes}}));
    desk.ask(Desk::request("bob", {{"shared", lease::Predicate::consumes}}));
    desk.pass(59s);
    EXPECT_EQ(renew_all(desk, "alice").size(), 21U);
    desk.pass(1s);
    EXPECT_EQ(desk.authority.active_leases(), 21U) << "bob's have run out";
    EXPECT_TRUE(renew_all(desk, "nobody").empty());
}

TEST(Authority, tells_the_truth_about_a_holders_leases) {  // R3
    Desk desk;
    desk.lock("alice", "a");
    desk.lock("alice", "b");
    std::vector<VerifyAnswer> told;
    desk.authority.verify_all("alice", {}, [&](Answer<std::vector<VerifyAnswer>> answer) {
        told = std::get<std::vector<VerifyAnswer>>(std::move(answer));
    });
    ASSERT_EQ(told.size(), 2U);
    for (const VerifyAnswer& answer : told)
        EXPECT_EQ(answer.verified.state, lease::LeaseState::active);
}

TEST(Authority, publishes_what_happens_to_a_lease) {
    Desk desk;
    std::vector<std::string> heard;
    desk.authority.events().subscribe([&](const Event& event) {
        heard.push_back(std::string(to_string(event.kind)) + " " + event.resource + "#" + std::to_string(event.token));
    });
    const lease::Token a = desk.lock("alice", "a");
    renew_all(desk, "alice");
    desk.unlock("alice", "a", a);
    desk.lock("alice", "b", 10s);
    desk.pass(10s);
    const lease::Token c = desk.lock("alice", "c");
    desk.authority.revoke({"c", c}, [](const Answer<lease::Lease>&) {});
    EXPECT_EQ(heard, (std::vector<std::string>{"granted a#1001", "renewed a#1001", "released a#1001", "granted b#1002",
                                               "expired b#1002", "granted c#1003", "revoked c#1003"}));
}

TEST(Authority, bars_and_revokes_and_bans) {  // R7
    Desk desk;
    const lease::Token a = desk.lock("alice", "a");
    bool barred = false;
    desk.authority.bar({"a", a}, [&](const Answer<HeldLease>& answer) {
        barred = std::holds_alternative<HeldLease>(answer) && !std::get<HeldLease>(answer).lease.renewable;
    });
    EXPECT_TRUE(barred);
    EXPECT_EQ(std::get<Refused>(renew_all(desk, "alice")[0].result).code, Code::renewal_barred);
    desk.authority.ban("alice", {"mischief", 0}, [](const Answer<lease::Ban>&) {});
    EXPECT_EQ(code_of(*desk.ask(Desk::request("alice", {{"b"}}))), Code::banned);
    EXPECT_EQ(std::get<Refused>(renew_all(desk, "alice")[0].result).code, Code::banned);
    ASSERT_TRUE(desk.durable.saved);
    EXPECT_TRUE(desk.durable.saved->bans.contains("alice"));
    std::optional<bool> was_banned;
    desk.authority.ban("alice", {"too many builds", 0}, [](const Answer<lease::Ban>&) {});
    const Refused told = std::get<Refused>(*desk.ask(Desk::request("alice", {{"b"}})));
    EXPECT_NE(told.detail.find("too many builds"), std::string::npos) << "the reason reaches the banned";
    const Refused renewal = std::get<Refused>(renew_all(desk, "alice")[0].result);
    EXPECT_NE(renewal.detail.find("too many builds"), std::string::npos) << renewal.detail;
    desk.authority.unban("alice", [&](const Answer<bool>& answer) { was_banned = std::get<bool>(answer); });
    EXPECT_EQ(was_banned, true);
    EXPECT_NE(desk.lock("alice", "b"), 0U);
}

TEST(Authority, cuts_or_refuses_a_ttl_out_of_bounds_and_says_so) {  // G4
    Desk desk;
    AcquireRequest request = Desk::request("alice", {{"r"}});
    request.ttl = 1h;
    const auto granted = std::get<AcquireGranted>(*desk.ask(request));
    ASSERT_TRUE(granted.ttl_cut);
    EXPECT_EQ(granted.ttl_cut->granted, 5min);
    request.ttl = 10ms;
    EXPECT_EQ(code_of(*desk.ask(request)), Code::ttl_too_short);
}

TEST(Authority, tells_the_same_time_of_a_grant_in_every_answer) {
    Desk desk;
    desk.at(Instant{1000s + 123'456'789ns});
    const auto granted = std::get<AcquireGranted>(*desk.ask(Desk::request("alice", {{"r"}})));
    const lease::Lease& lease = granted.leases.at(0).lease;
    std::vector<Instant> told{lease.acquired_at};
    desk.pass(1'234'567ns);
    told.push_back(desk.verify("r", lease.token).verified.lease.value().acquired_at);
    desk.authority.list({}, [&](const Answer<store::ListPage>& page) {
        told.push_back(std::get<store::ListPage>(page).leases.at(0).lease.acquired_at);
    });
    RenewRequest renewal;
    renewal.holder = "alice";
    renewal.leases = {{{"r", lease.token}, {}}};
    desk.authority.renew(std::move(renewal), [&](const std::vector<RenewAnswer>& answers) {
        told.push_back(std::get<RenewedLease>(answers.at(0).result).held.lease.acquired_at);
    });
    EXPECT_EQ(told, std::vector<Instant>(4, lease.acquired_at));
}

TEST(Authority, verifies_as_many_leases_at_a_time_as_an_answer_has_room_for) {
    Desk desk;
    std::vector<lease::LeaseName> names;
    for (int i = 0; i < 100; ++i) {
        AcquireRequest asked = Desk::request("reader" + std::to_string(i), {{"r", lease::Predicate::consumes}});
        asked.reason = std::string(1000, 'x');
        const auto answer = desk.ask(std::move(asked));
        names.push_back({"r", std::get<AcquireGranted>(*answer).leases.at(0).lease.token});
    }
    const auto verified = [&](std::size_t count) {
        std::optional<Answer<std::vector<VerifyAnswer>>> got;
        desk.authority.verify({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count)},
                              [&](Answer<std::vector<VerifyAnswer>> answer) { got = std::move(answer); });
        return got.value();
    };
    EXPECT_EQ(std::get<std::vector<VerifyAnswer>>(verified(1)).size(), 1U);
    EXPECT_EQ(std::get<std::vector<VerifyAnswer>>(verified(5)).size(), 5U);
    EXPECT_EQ(std::get<Refused>(verified(100)).code, Code::answer_too_large) << "each of them names all hundred";
}

TEST(Authority, keeps_the_old_pattern_if_the_new_one_does_not_compile) {
    Desk desk;
    PolicyChange change;
    change.name_pattern = "ok.*";
    desk.authority.change_policy(change, [](const Answer<lease::Policy>&) {});
    change.name_pattern = "(broken";
    std::optional<Code> code;
    desk.authority.change_policy(change,
                                 [&](const Answer<lease::Policy>& answer) { code = std::get<Refused>(answer).code; });
    EXPECT_EQ(code, Code::invalid_policy);
    EXPECT_EQ(desk.authority.policy().name_pattern.text(), "ok.*");
    EXPECT_EQ(desk.lock("alice", "no"), 0U);
    EXPECT_NE(desk.lock("alice", "ok1"), 0U);
}

}  // namespace
}  // namespace holdfast::authority
