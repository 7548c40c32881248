#include <gtest/gtest.h>

#include "discovery/directory/directory_desk.h"
#include "discovery/directory/replay_guard.h"
#include "discovery/identity/identity.h"

namespace holdfast::discovery::directory {
namespace {

TEST(Replay, of_a_message_is_refused_within_the_window_and_after_it) {
    DirectoryDesk desk;
    const auto message = desk.signed_by("anna", desk.named("web"));
    ASSERT_EQ(desk.send(message).refused, std::nullopt);
    EXPECT_EQ(desk.send(message).refused, Code::replayed);
    EXPECT_EQ(desk.send(message, DirectoryDesk::over(2)).refused, Code::replayed) << "over whichever connection";
    desk.pass(60s);
    EXPECT_EQ(desk.send(message).refused, Code::replayed);
    desk.pass(1s);
    EXPECT_EQ(desk.send(message).refused, Code::clock_apart);
    desk.pass(1h);
    EXPECT_EQ(desk.send(message).refused, Code::clock_apart);
}

TEST(Replay, of_one_that_was_signed_ahead_of_time_is_refused_for_as_long_as_it_could_be_accepted) {
    DirectoryDesk desk;
    Update update = desk.named("web");
    update.time_ms += 60'000;
    const auto message = desk.signed_by("anna", update);
    ASSERT_EQ(desk.send(message).refused, std::nullopt);
    for (int i = 0; i < 120; ++i) {
        desk.pass(1s);
        ASSERT_EQ(desk.send(message).refused, Code::replayed) << i;
    }
    desk.pass(1s);
    EXPECT_EQ(desk.send(message).refused, Code::clock_apart);
}

TEST(Replay, of_a_message_that_was_refused_is_refused_too) {
    DirectoryDesk desk;
    desk.ban(desk.id("anna"));
    const auto message = desk.signed_by("anna", desk.named("web"));
    ASSERT_EQ(desk.send(message).refused, Code::banned);
    desk.unban(desk.id("anna"));
    EXPECT_EQ(desk.send(message).refused, Code::replayed);
}

TEST(Replay, is_not_what_it_is_when_another_identity_uses_the_same_nonce) {
    DirectoryDesk desk;
    Update update = desk.named("web");
    ASSERT_EQ(desk.say("anna", update).refused, std::nullopt);
    update.name = "db";
    EXPECT_EQ(desk.say("ben", update).refused, std::nullopt);
}

TEST(Replay, in_another_life_of_the_relay_is_refused_and_told_which) {
    DirectoryDesk desk;
    Update update = desk.named("web");
    update.relay = 0xdead;
    const auto told = desk.say("anna", update);
    EXPECT_EQ(told.refused, Code::other_relay);
    EXPECT_EQ(told.relay, DirectoryDesk::life);
    EXPECT_EQ(told.time_ms, 1'000'000);
}

TEST(Replay, window_is_a_minute_either_side_of_the_relays_clock_which_counts_on_from_its_start) {
    DirectoryDesk desk;
    desk.pass(10s);
    EXPECT_EQ(desk.directory->relay_time_ms(), 1'010'000);
    for (const auto& [off, code] : std::vector<std::pair<int, std::optional<ErrorCode>>>{
             {-60'000, {}}, {60'000, {}}, {-60'001, Code::clock_apart}, {60'001, Code::clock_apart}}) {
        Update update = desk.named("web");
        update.time_ms += off;
        EXPECT_EQ(desk.say("anna", update).refused, code) << off;
    }
    for (const auto far : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
        Update update = desk.named("web");
        update.time_ms = far;
        std::optional<ErrorCode> code;
        desk.directory->update(update, {}, DirectoryDesk::over(0),
                               [&](const UpdateResponse& told) { code = told.refused; });
        EXPECT_EQ(code, Code::clock_apart) << far;
    }
}

TEST(Forgery, with_another_key_is_a_bad_signature_and_takes_nothing) {
    DirectoryDesk desk;
    const auto told = desk.enter("anna", "web");
    Update update = desk.named("web");
    update.action = Action::unregister;
    update.token = told.token;
    auto forged = desk.signed_by("ben", update);
    forged.public_key = desk.who("anna").public_key();
    EXPECT_EQ(desk.send(forged).refused, Code::bad_signature);
    EXPECT_TRUE(desk.find("web"));
}

TEST(Forgery, of_a_single_byte_is_noticed) {
    DirectoryDesk desk;
    Update update = desk.named("web");
    update.metadata = {{"version", "7"}};
    auto message = desk.signed_by("anna", update);
    message.request[message.request.find("version")] = 'V';
    EXPECT_EQ(desk.send(message).refused, Code::bad_signature);
    message = desk.signed_by("anna", update);
    message.signature[5] = static_cast<char>(message.signature[5] ^ 1);
    EXPECT_EQ(desk.send(message).refused, Code::bad_signature);
    message.signature.clear();
    EXPECT_EQ(desk.send(message).refused, Code::bad_signature);
}

TEST(Forgery, does_not_use_up_the_nonce_of_the_one_it_forges) {
    DirectoryDesk desk;
    const Update update = desk.named("web");
    auto forged = desk.signed_by("anna", update);
    forged.signature[0] = static_cast<char>(forged.signature[0] ^ 1);
    EXPECT_EQ(desk.send(forged).refused, Code::bad_signature);
    EXPECT_EQ(desk.say("anna", update).refused, std::nullopt);
}

TEST(Forgery, with_what_is_no_key_is_an_invalid_identity) {
    DirectoryDesk desk;
    auto message = desk.signed_by("anna", desk.named("web"));
    for (const std::string& key :
         {std::string(), std::string(31, 'x'), std::string(33, 'x'), std::string(32, '\xff')}) {
        message.public_key = key;
        EXPECT_EQ(desk.send(message).refused, Code::invalid_identity);
    }
}

TEST(ReplayGuard, forgets_by_generations_and_takes_no_more_than_it_may) {
    ReplayGuard guard({{1, 2}, 121s, 3});
    Instant now{1000s};
    guard.advance(now);
    EXPECT_EQ(guard.next_due(), Instant::max());
    EXPECT_EQ(guard.see("anna", 1), ReplayGuard::Seen::fresh);
    EXPECT_EQ(guard.next_due(), now + 121s);
    EXPECT_EQ(guard.see("anna", 2), ReplayGuard::Seen::fresh);
    EXPECT_EQ(guard.see("anna", 3), ReplayGuard::Seen::fresh);
    EXPECT_EQ(guard.see("anna", 4), ReplayGuard::Seen::full);
    EXPECT_EQ(guard.see("anna", 3), ReplayGuard::Seen::before);
    guard.advance(now += 121s);
    EXPECT_EQ(guard.see("anna", 3), ReplayGuard::Seen::before);
    EXPECT_EQ(guard.see("anna", 4), ReplayGuard::Seen::fresh);
    guard.advance(now += 121s);
    EXPECT_EQ(guard.see("anna", 4), ReplayGuard::Seen::before);
    EXPECT_EQ(guard.see("anna", 3), ReplayGuard::Seen::fresh);
    guard.advance(now += 1h);
    EXPECT_EQ(guard.size(), 0u);
    EXPECT_EQ(guard.next_due(), Instant::max());
}

TEST(Verifiers, keep_those_that_are_used_and_no_more_than_they_may) {
    identity::Verifiers verifiers(20);
    const identity::Identity used = identity::Identity::generate();
    for (int i = 0; i < 100; ++i) {
        ASSERT_NE(verifiers.find(used.public_key()), nullptr);
        EXPECT_EQ(verifiers.find(used.public_key())->id(), used.id());
        ASSERT_NE(verifiers.find(identity::Identity::generate().public_key()), nullptr);
        ASSERT_LE(verifiers.size(), 20u);
    }
    EXPECT_EQ(verifiers.find("short"), nullptr);
}

}  // namespace
}  // namespace holdfast::discovery::directory
