#include <algorithm>
#include <gtest/gtest.h>

#include "discovery/publisher/dial.h"
#include "discovery/publisher/publisher_world.h"

namespace holdfast::discovery::publisher {
namespace {

class Publishing : public testing::Test {
 protected:
    static const identity::Identity& identity() {
        static const identity::Identity one = identity::Identity::generate();
        return one;
    }
    ScriptedRelay relay;
    PublisherWorld world{identity(), {{.name = "web"}}, relay};
};

TEST_F(Publishing, registers_at_once_and_renews_every_five_seconds) {
    world.run_for(60s);
    ASSERT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.happenings(), (std::vector{PublisherEventKind::connected, PublisherEventKind::registered}));
    EXPECT_EQ(relay.updates.front().action, Action::enter);
    EXPECT_FALSE(relay.updates.front().returning);
    EXPECT_EQ(std::count_if(relay.updates.begin(), relay.updates.end(),
                            [](const Update& update) { return update.action == Action::enter; }),
              1);
    EXPECT_GE(relay.updates.size(), 12U);
    EXPECT_LE(relay.updates.size(), 15U);
}

TEST_F(Publishing, never_uses_a_nonce_twice_and_says_the_relays_time) {
    relay.clock_offset_ms = -500'000;
    world.run_for(5min);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(relay.nonces.size(), relay.updates.size());
}

TEST_F(Publishing, unregisters_when_it_is_stopped) {
    world.run_for(10s);
    world.core.stop(world.clock);
    world.step(world.clock);
    EXPECT_TRUE(world.core.finished(world.clock));
    EXPECT_EQ(relay.updates.back().action, Action::unregister);
    EXPECT_TRUE(relay.leases.empty());
    EXPECT_EQ(world.events.back().what, PublisherEventKind::unregistered);
    EXPECT_FALSE(world.core.held(0, world.clock));
}

TEST_F(Publishing, does_not_wait_for_ever_when_it_is_stopped) {
    world.run_for(10s);
    world.relay_answers = false;
    world.core.stop(world.clock);
    world.step(world.clock);
    EXPECT_FALSE(world.core.finished(world.clock));
    world.run_for(3s);
    EXPECT_TRUE(world.core.finished(world.clock));
}

TEST_F(Publishing, holds_nothing_once_the_connection_is_gone_and_comes_back_by_itself) {
    world.run_for(10s);
    world.cut();
    EXPECT_FALSE(world.core.held(0, world.clock));
    world.run_for(5s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.happenings(), (std::vector{PublisherEventKind::connected, PublisherEventKind::registered,
                                               PublisherEventKind::disconnected, PublisherEventKind::lost,
                                               PublisherEventKind::connected, PublisherEventKind::taken_again}));
    EXPECT_TRUE(relay.updates.back().returning || relay.updates.back().action == Action::renew);
}

TEST_F(Publishing, comes_back_to_a_relay_that_restarted) {
    world.run_for(10s);
    relay.restart();
    world.cut();
    world.run_for(5s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(relay.updates.back().relay, relay.life);
}

TEST_F(Publishing, spreads_its_tries_to_connect_from_half_a_second_to_thirty) {
    world.relay_is_there = false;
    world.run_for(10min);
    ASSERT_GT(world.connects.size(), 20U);
    Duration longest{};
    for (std::size_t i = 1; i < world.connects.size(); ++i) {
        const Duration wait = world.connects[i] - world.connects[i - 1];
        EXPECT_GE(wait, 500ms);
        EXPECT_LE(wait, 30s + 1ms);
        longest = std::max(longest, wait);
    }
    EXPECT_GT(longest, 15s);
    EXPECT_EQ(world.count(PublisherEventKind::disconnected), 1U) << "it is told once";
    world.relay_is_there = true;
    world.run_for(31s);
    EXPECT_TRUE(world.core.held(0, world.clock));
}

TEST_F(Publishing, of_ten_thousand_that_lost_the_relay_no_second_gets_more_than_their_share) {
    Random random{1};
    std::vector<int> seconds(32);
    for (int i = 0; i < 10'000; ++i)
        ++seconds[static_cast<std::size_t>(soon.after(5, random) / 1s)];
    EXPECT_LT(*std::max_element(seconds.begin(), seconds.end()), 600);
}

TEST_F(Publishing, gives_a_relay_up_that_accepts_and_says_nothing) {
    world.relay_answers = false;
    world.run_for(60s);
    EXPECT_GT(world.connects.size(), 2U);
    EXPECT_TRUE(relay.updates.empty());
}

TEST_F(Publishing, gives_a_connection_up_on_which_renewals_are_not_answered) {
    world.run_for(10s);
    world.relay_answers = false;
    world.run_for(20s);
    EXPECT_EQ(world.count(PublisherEventKind::lost), 1U);
    EXPECT_FALSE(world.core.held(0, world.clock));
    world.relay_answers = true;
    world.run_for(45s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.events.back().what, PublisherEventKind::taken_again);
}

TEST_F(Publishing, notices_that_it_slept_longer_than_its_lease_and_registers_again) {
    world.run_for(10s);
    world.clock += 45s;
    EXPECT_FALSE(world.core.held(0, world.clock)) << "before anything is done about it";
    world.step(world.clock);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.happenings(), (std::vector{PublisherEventKind::connected, PublisherEventKind::registered,
                                               PublisherEventKind::lost, PublisherEventKind::taken_again}));
}

TEST_F(Publishing, counts_its_lease_from_the_request_and_a_little_shorter) {
    world.run_for(1s);
    const HolderInstant sent_at{1000s};
    EXPECT_TRUE(world.core.held(0, sent_at + 30s - 301ms));
    EXPECT_FALSE(world.core.held(0, sent_at + 30s - 300ms)) << "one per cent less";
}

TEST_F(Publishing, registers_again_when_its_lease_is_not_known) {
    world.run_for(10s);
    relay.leases.clear();
    world.run_for(6s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.count(PublisherEventKind::lost), 1U);
    EXPECT_EQ(world.count(PublisherEventKind::taken_again), 1U);
}

TEST_F(Publishing, signs_again_for_another_life_or_clock_of_the_relay) {
    world.run_for(10s);
    ++relay.life;
    world.run_for(6s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.count(PublisherEventKind::lost), 0U);
    relay.clock_offset_ms += 3'600'000;
    world.run_for(6s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.events.size(), 2U) << "nobody needs to know";
}

TEST_F(Publishing, stands_by_for_a_later_publisher_of_its_identity_and_returns_when_that_is_gone) {
    PublisherWorld later{identity(), {{.name = "web"}}, relay, 2};
    world.run_for(10s);
    later.clock = world.clock;
    later.run_for(1s);
    ASSERT_TRUE(later.core.held(0, later.clock));
    for (int i = 0; i < 300; ++i) {
        world.run_for(1s);
        later.run_until(world.clock);
    }
    EXPECT_TRUE(later.core.held(0, later.clock)) << "nobody chases it";
    EXPECT_EQ(later.count(PublisherEventKind::lost), 0U);
    EXPECT_FALSE(world.core.held(0, world.clock));
    EXPECT_EQ(world.count(PublisherEventKind::superseded), 1U);
    later.core.stop(later.clock);
    later.step(later.clock);
    world.run_for(31s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.events.back().what, PublisherEventKind::taken_again);
}

TEST_F(Publishing, that_stood_by_does_not_take_the_name_because_its_connection_was_lost) {
    PublisherWorld later{identity(), {{.name = "web"}}, relay, 2};
    world.run_for(10s);
    later.clock = world.clock;
    later.run_for(1s);
    world.run_for(10s);
    later.run_until(world.clock);
    world.cut();
    for (int i = 0; i < 60; ++i) {
        world.run_for(1s);
        later.run_until(world.clock);
    }
    EXPECT_TRUE(world.connected());
    EXPECT_TRUE(later.core.held(0, later.clock));
    EXPECT_FALSE(world.core.held(0, world.clock));
}

TEST_F(Publishing, stands_by_at_once_when_the_relay_says_that_it_was_superseded) {
    world.run_for(10s);
    const std::uint64_t token = world.core.advert(0).token();
    world.core.on_message(Withdrawn{"web", token - 1, Code::superseded}, world.clock);
    EXPECT_TRUE(world.core.held(0, world.clock)) << "that was another lease";
    world.core.on_message(Withdrawn{"web", token, Code::superseded}, world.clock);
    EXPECT_FALSE(world.core.held(0, world.clock));
    EXPECT_GT(world.core.next_due(), world.clock + 900ms);
}

TEST_F(Publishing, stands_by_for_another_identity_with_patience) {
    relay.code = Code::name_taken;
    world.run_for(10min);
    EXPECT_EQ(world.count(PublisherEventKind::standing_by), 1U);
    EXPECT_GT(relay.updates.size(), 20U);
    EXPECT_LT(relay.updates.size(), 200U);
    relay.code.reset();
    world.run_for(31s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.events.back().what, PublisherEventKind::registered);
}

TEST_F(Publishing, tells_a_refusal_once_with_its_code_and_asks_again_slowly) {
    for (const Code code :
         {Code::banned, Code::name_refused, Code::ttl_too_short, Code::awaiting_approval, Code::too_many_services}) {
        ScriptedRelay strict;
        PublisherWorld refused{identity(), {{.name = "web"}}, strict};
        strict.code = code;
        refused.run_for(10min);
        EXPECT_EQ(refused.count(PublisherEventKind::refused), 1U) << name_of(code);
        EXPECT_EQ(refused.events.back().code, code);
        EXPECT_GT(strict.updates.size(), 8U) << name_of(code);
        EXPECT_LT(strict.updates.size(), 80U) << name_of(code);
        strict.code.reset();
        refused.run_for(61s);
        EXPECT_TRUE(refused.core.held(0, refused.clock)) << name_of(code);
    }
}

TEST_F(Publishing, serves_what_it_holds_until_its_end_after_a_renewal_was_refused) {
    for (const Code code :
         {Code::banned, Code::name_refused, Code::name_denied, Code::awaiting_approval, Code::unavailable}) {
        ScriptedRelay strict;
        PublisherWorld refused{identity(), {{.name = "web"}}, strict};
        refused.run_for(10s);
        strict.code = code;
        strict.retry_in = 10s;
        const std::size_t asked = strict.updates.size();
        refused.run_for(20s);
        EXPECT_TRUE(refused.core.held(0, refused.clock)) << name_of(code);
        EXPECT_GE(strict.updates.size(), asked + 4)
            << "the relay hears of it as often as of any other: " << name_of(code);
        EXPECT_EQ(refused.count(PublisherEventKind::refused), 1U) << name_of(code);
        EXPECT_EQ(refused.count(PublisherEventKind::lost), 0U) << name_of(code);
        refused.core.on_message(StreamOffer{std::string(ticket_bytes, 't'), "web", "10.0.0.1:5"}, refused.clock);
        refused.step(refused.clock);
        EXPECT_EQ(refused.serves.size(), 1U) << name_of(code);
        refused.run_for(15s);
        EXPECT_FALSE(refused.core.held(0, refused.clock)) << name_of(code);
        EXPECT_EQ(refused.count(PublisherEventKind::lost), 1U) << name_of(code);
        EXPECT_EQ(refused.count(PublisherEventKind::refused), 1U) << "each state is told once: " << name_of(code);
    }
}

TEST_F(Publishing, goes_on_with_the_same_lease_if_the_refusal_is_lifted_in_time) {
    world.run_for(10s);
    const std::uint64_t token = world.core.advert(0).token();
    relay.code = Code::name_refused;
    world.run_for(15s);
    relay.code.reset();
    world.run_for(6s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.core.advert(0).token(), token);
    EXPECT_EQ(world.events.back().what, PublisherEventKind::recovered);
}

TEST_F(Publishing, keeps_what_an_admin_hides_until_its_end_and_tells_the_reason) {
    world.run_for(10s);
    const std::uint64_t token = world.core.advert(0).token();
    relay.code = Code::banned;
    world.core.on_message(Withdrawn{"web", token, Code::banned, "banned, for spam"}, world.clock);
    world.step(world.clock);
    EXPECT_TRUE(world.core.held(0, world.clock)) << "nobody else can have it yet";
    EXPECT_EQ(world.events.back().what, PublisherEventKind::refused);
    EXPECT_NE(world.events.back().message.find("for spam"), std::string::npos);
    relay.code.reset();
    world.core.on_message(MayRetry{"web", {}}, world.clock);
    world.step(world.clock);
    EXPECT_EQ(relay.updates.back().action, Action::renew) << "at once";
    EXPECT_EQ(world.core.advert(0).token(), token);
    EXPECT_EQ(world.events.back().what, PublisherEventKind::recovered);
}

TEST_F(Publishing, asks_again_at_once_when_the_relay_says_that_it_may) {
    for (const Code code :
         {Code::banned, Code::name_taken, Code::superseded, Code::awaiting_approval, Code::name_denied}) {
        ScriptedRelay strict;
        PublisherWorld refused{identity(), {{.name = "web"}}, strict};
        strict.code = code;
        refused.run_for(10min);
        strict.code.reset();
        const std::size_t asked = strict.updates.size();
        refused.core.on_message(MayRetry{"other", {}}, refused.clock);
        refused.step(refused.clock);
        EXPECT_EQ(strict.updates.size(), asked) << "not its name";
        refused.core.on_message(MayRetry{"web", {}}, refused.clock);
        refused.step(refused.clock);
        EXPECT_TRUE(refused.core.held(0, refused.clock)) << name_of(code);
    }
}

TEST_F(Publishing, that_may_ask_again_with_many_others_does_so_within_the_time_given) {
    relay.code = Code::name_taken;
    world.run_for(10min);
    const std::size_t asked = relay.updates.size();
    world.core.on_message(MayRetry{"web", 500ms}, world.clock);
    world.run_for(500ms);
    EXPECT_EQ(relay.updates.size(), asked + 1);
}

TEST_F(Publishing, that_was_refused_nothing_does_not_ask_because_it_may) {
    world.run_for(1s);
    const std::size_t asked = relay.updates.size();
    world.core.on_message(MayRetry{"web", {}}, world.clock);
    world.step(world.clock);
    EXPECT_EQ(relay.updates.size(), asked);
}

TEST_F(Publishing, of_a_name_that_the_relay_writes_otherwise_is_told_by_the_relays_name) {
    ScriptedRelay strict;
    PublisherWorld unnamed{identity(), {{}}, strict};
    strict.code = Code::awaiting_approval;
    unnamed.run_for(10min);
    strict.code.reset();
    unnamed.core.on_message(MayRetry{"~0000000000000020", {}}, unnamed.clock);
    unnamed.step(unnamed.clock);
    EXPECT_TRUE(unnamed.core.held(0, unnamed.clock));
}

TEST_F(Publishing, goes_on_through_a_renewal_that_the_relay_could_not_answer) {
    world.run_for(10s);
    relay.code = Code::unavailable;
    world.run_for(6s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    relay.code.reset();
    world.run_for(10s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.count(PublisherEventKind::lost), 0U);
    EXPECT_EQ(world.events.back().what, PublisherEventKind::recovered);
}

TEST_F(Publishing, waits_as_long_as_the_relay_asks_it_to) {
    relay.code = Code::recovering;
    relay.retry_in = 20s;
    world.run_for(1s);
    relay.code.reset();
    world.run_for(18s);
    EXPECT_EQ(relay.updates.size(), 1U);
    world.run_for(12s);
    EXPECT_TRUE(world.core.held(0, world.clock));
}

TEST_F(Publishing, gives_up_what_can_never_be_and_says_why) {
    relay.code = Code::invalid_name;
    world.run_for(1s);
    EXPECT_TRUE(world.core.gave_up());
    EXPECT_TRUE(world.core.finished(world.clock));
    EXPECT_EQ(world.events.back().what, PublisherEventKind::gave_up);
    EXPECT_EQ(world.events.back().code, Code::invalid_name);
}

TEST_F(Publishing, serves_offers_for_what_it_holds_and_refuses_others) {
    world.run_for(1s);
    const std::string ticket(ticket_bytes, 't');
    world.core.on_message(StreamOffer{ticket, "web", "10.0.0.1:5"}, world.clock);
    world.core.on_message(StreamOffer{ticket, "other", "10.0.0.1:5"}, world.clock);
    world.step(world.clock);
    ASSERT_EQ(world.serves.size(), 1U);
    EXPECT_EQ(world.serves[0].service, 0U);
    ASSERT_TRUE(std::holds_alternative<StreamRefused>(world.sent.back()));
    EXPECT_TRUE(std::get<StreamRefused>(world.sent.back()).not_held);
}

TEST_F(Publishing, leaves_what_is_no_relay_or_speaks_another_version) {
    world.relay_answers = false;
    world.step(world.clock);
    ASSERT_TRUE(world.connected());
    world.core.on_message(RelayHello{.version = 2, .relay = 5, .time_ms = 1}, world.clock);
    world.step(world.clock);
    EXPECT_FALSE(world.connected());
    EXPECT_NE(world.events.back().message.find("version 2"), std::string::npos);
}

TEST(PublishingWithSeveralRelays, uses_the_next_when_one_is_lost_and_serves_from_the_one_it_is_at) {
    const identity::Identity identity = identity::Identity::generate();
    ScriptedRelay relay;
    PublisherWorld world{identity, {{.name = "web"}}, relay, 1, 3};
    world.run_for(1s);
    ASSERT_TRUE(world.core.held(0, world.clock));
    EXPECT_EQ(world.tried, std::vector<std::size_t>{0}) << "the first as long as it is there";
    world.away = {0, 1};
    world.cut();
    world.run_for(5s);
    EXPECT_TRUE(world.core.held(0, world.clock)) << "two seconds for each at most";
    EXPECT_EQ(world.tried, (std::vector<std::size_t>{0, 1, 2}));
    world.core.on_message(StreamOffer{std::string(ticket_bytes, 't'), "web", "10.0.0.1:5"}, world.clock);
    world.step(world.clock);
    ASSERT_EQ(world.serves.size(), 1U);
    EXPECT_EQ(world.serves[0].relay, 2U);
}

TEST(PublishingWithSeveralRelays, goes_round_with_waits_that_grow_by_the_round) {
    const identity::Identity identity = identity::Identity::generate();
    ScriptedRelay relay;
    PublisherWorld world{identity, {{.name = "web"}}, relay, 1, 3};
    world.relay_is_there = false;
    world.run_for(10min);
    for (std::size_t i = 0; i < world.tried.size(); ++i)
        EXPECT_EQ(world.tried[i], i % 3);
    for (std::size_t i = 1; i <= 3; ++i)
        EXPECT_LE(world.connects[i] - world.connects[i - 1], 2s + 1ms) << "the first round is quick";
    EXPECT_EQ(world.count(PublisherEventKind::disconnected), 3U) << "each is told of once";
}

TEST(Remedies, are_of_codes_that_there_are) {
    EXPECT_EQ(remedy_for(Code::name_denied), Remedy::ask_slowly);
    EXPECT_EQ(remedy_for(Code::over_quota), Remedy::ask_slowly);
    EXPECT_EQ(remedy_for(Code::lease_revoked), Remedy::register_again);
    EXPECT_EQ(remedy_for(Code::invalid_metadata), Remedy::give_up);
    EXPECT_EQ(remedy_for(Code::recovering), Remedy::ask_soon);
    EXPECT_EQ(remedy_for(ErrorCode::named("a_code_of_a_later_relay")), Remedy::ask_soon);
    EXPECT_EQ(code_in("superseded"), Code::superseded);
    EXPECT_EQ(code_in("quota_exceeded"), std::nullopt);
}

TEST(NotARelay, is_said_by_what_it_speaks) {
    EXPECT_NE(not_a_relay("HTTP/1.1 400 Bad Request").find("speaks HTTP"), std::string::npos);
    EXPECT_NE(not_a_relay("-ERR unknown command").find("Redis"), std::string::npos);
    EXPECT_EQ(not_a_relay("SSH-2.0"), "what answers is not a relay");
}

TEST(PublishingMany, unregisters_what_it_gives_up_while_others_go_on) {
    const identity::Identity identity = identity::Identity::generate();
    ScriptedRelay relay;
    PublisherWorld world{identity, {{.name = "good"}, {.name = "bad"}}, relay};
    world.run_for(1s);
    ASSERT_TRUE(relay.leases.contains("bad"));
    const std::uint64_t token = world.core.advert(1).token();
    world.core.on_message(Withdrawn{"bad", token, Code::invalid_name}, world.clock);
    world.step(world.clock);
    EXPECT_FALSE(world.core.held(1, world.clock));
    EXPECT_FALSE(relay.leases.contains("bad")) << "the relay knows that it is not served";
    EXPECT_TRUE(world.core.held(0, world.clock));
    world.run_for(20s);
    EXPECT_TRUE(world.core.held(0, world.clock));
    EXPECT_FALSE(world.core.gave_up());
}

TEST(PublishingMany, keeps_each_service_by_itself) {
    const identity::Identity identity = identity::Identity::generate();
    ScriptedRelay relay;
    std::vector<Advertisement> services;
    for (int i = 0; i < 50; ++i)
        services.push_back({.name = "service " + std::to_string(i)});
    services.push_back({});
    PublisherWorld world{identity, services, relay};
    world.run_for(20s);
    for (std::size_t i = 0; i < services.size(); ++i)
        EXPECT_TRUE(world.core.held(i, world.clock)) << i;
    EXPECT_TRUE(world.core.advert(50).name().starts_with("~")) << "the relay gave it a name";
    relay.leases.erase("service 7");
    world.run_for(6s);
    EXPECT_EQ(world.count(PublisherEventKind::lost), 1U);
    EXPECT_TRUE(world.core.held(7, world.clock));
}

}  // namespace
}  // namespace holdfast::discovery::publisher
