// Control connections: hello, updates, withdrawals, and what becomes of those that misbehave.
#include <thread>

#include "base/random.h"
#include "codec/frame.h"
#include "discovery/relay/relay_fixture.h"

namespace holdfast::discovery::relay {
namespace {

/// Registers so many services in one piece.
std::string registrations(TestPublisher& publisher, const std::string& prefix, int many) {
    std::string bytes;
    for (int i = 0; i < many; ++i)
        append_frame(publisher.signed_update({.name = prefix + std::to_string(i)}), bytes);
    return bytes;
}

TEST(RelayPublishers, register_and_renew_over_their_connection) {
    TestRelay relay;
    TestPublisher publisher(relay);
    const auto token = publisher.advertise("web");
    EXPECT_NE(token, 0u);
    EXPECT_EQ(publisher.renew("web", token).refused, std::nullopt);
    EXPECT_EQ(relay.connected_services(), 1u);
    EXPECT_EQ(relay.counts().publishers, 1u);
}

TEST(RelayPublishers, are_answered_by_number_also_when_they_ask_for_many_things_at_once) {
    TestRelay relay;
    TestPublisher publisher(relay);
    publisher.frames().socket().send(registrations(publisher, "s", 300));
    for (std::uint32_t number = 1; number <= 300; ++number) {
        const auto response = publisher.frames().expect<UpdateResponse>();
        ASSERT_EQ(response.number, number);
        ASSERT_EQ(response.refused, std::nullopt);
    }
    EXPECT_EQ(relay.connected_services(), 300u);
}

TEST(RelayPublishers, are_refused_by_number_too) {
    TestRelay relay;
    TestPublisher publisher(relay);
    SignedUpdate forged = publisher.signed_update({.action = Action::enter, .name = "web"});
    forged.number = 41;
    forged.signature.front() ^= 1;
    publisher.frames().send(forged);
    auto response = publisher.frames().expect<UpdateResponse>();
    EXPECT_EQ(response.refused, Code::bad_signature);
    EXPECT_EQ(response.number, 41u);
    forged.number = 42;
    forged.request = "\xff\xff";
    publisher.frames().send(forged);
    response = publisher.frames().expect<UpdateResponse>();
    EXPECT_EQ(response.refused, Code::invalid_argument);
    EXPECT_EQ(response.number, 42u);
}

TEST(RelayPublishers, with_one_update_do_not_wait_for_those_who_send_hundreds) {
    constexpr int of_each = 200;
    TestRelay relay;
    std::vector<std::unique_ptr<TestPublisher>> busy;
    for (int i = 0; i < 5; ++i)
        busy.push_back(std::make_unique<TestPublisher>(relay));
    TestPublisher usual(relay);
    relay.after_each_turn([&, done = false](std::size_t connected) mutable {  // many updates wait now
        if (connected > 0 && !std::exchange(done, true))
            usual.frames().socket().deliver(registrations(usual, "usual", 1));
    });
    relay.run([&] {
        for (std::size_t i = 0; i < busy.size(); ++i)
            busy[i]->frames().socket().deliver(registrations(*busy[i], "busy" + std::to_string(i) + "-", of_each));
    });
    const auto answer = usual.frames().expect<UpdateResponse>();
    EXPECT_EQ(answer.refused, std::nullopt);
    std::uint64_t last_token = 0;
    for (const auto& publisher : busy)
        for (int i = 0; i < of_each; ++i)
            last_token = std::max(last_token, publisher->frames().expect<UpdateResponse>().token);
    relay.after_each_turn([](std::size_t) {});
    EXPECT_LT(answer.token, last_token);
}

TEST(RelayPublishers, lose_their_leases_at_once_when_their_connection_ends) {
    TestRelay relay;
    TestPublisher stays(relay);
    (void)stays.advertise("stays");
    {
        TestPublisher goes(relay);
        (void)goes.advertise("goes");
        EXPECT_EQ(relay.active_leases(), 2u);
    }
    relay.wait_until([](const RelayDoor::Counts& counts) { return counts.publishers == 1; });
    relay.wait_until([&](const RelayDoor::Counts&) { return relay.active_leases() == 1; });
    TestFrames consumer = ask_for(relay, "goes");
    EXPECT_EQ(refusal(consumer), "unknown_service");
}

TEST(RelayPublishers, are_told_at_once_that_another_of_their_identity_took_over) {
    TestRelay relay;
    TestPublisher first(relay);
    const auto token = first.advertise("web");
    TestFrames second(TestSocket::connect(relay.port()));
    second.send(PublisherHello{});
    const auto hello = second.expect<RelayHello>();
    Update update{.action = Action::enter, .name = "web"};
    update.relay = hello.relay;
    update.time_ms = hello.time_ms;
    update.nonce = 4711;
    const std::string request = encode(update);
    second.send(SignedUpdate{request, first.identity().public_key(),
                             first.identity().sign(identity::update_purpose, request), 1});
    EXPECT_EQ(second.expect<UpdateResponse>().refused, std::nullopt);
    const auto withdrawn = first.frames().expect<Withdrawn>();
    EXPECT_EQ(withdrawn.name, "web");
    EXPECT_EQ(withdrawn.token, token);
    EXPECT_EQ(withdrawn.code, Code::superseded);
}

/// Says hello, and asks for the name; refused if another has it.
std::optional<ErrorCode> ask_as(TestFrames& frames, const identity::Identity& identity, PublisherHello hello,
                                const std::string& name) {
    frames.send(hello);
    const auto relay = frames.expect<RelayHello>();
    Update update{.action = Action::enter, .name = name};
    update.relay = relay.relay;
    update.time_ms = relay.time_ms;
    update.nonce = 4712;
    const std::string request = encode(update);
    frames.send(SignedUpdate{request, identity.public_key(), identity.sign(identity::update_purpose, request), 1});
    return frames.expect<UpdateResponse>().refused;
}

TEST(RelayPublishers, are_told_when_the_name_is_free_unless_they_are_too_old_to_know_the_message) {
    TestRelay relay;
    TestFrames old(TestSocket::connect(relay.port()));
    TestFrames young(TestSocket::connect(relay.port()));
    const identity::Identity ben = identity::Identity::generate(), carla = identity::Identity::generate();
    {
        TestPublisher anna(relay);
        ASSERT_NE(anna.advertise("web"), 0U);
        ASSERT_EQ(ask_as(old, ben, {.knows_may_retry = false}, "web"), Code::name_taken);
        ASSERT_EQ(ask_as(young, carla, {}, "web"), Code::name_taken);
    }
    EXPECT_EQ(young.expect<MayRetry>().name, "web");
    // What it was sent would have come before the answer to this.
    const std::string bytes = "no update";
    old.send(SignedUpdate{bytes, ben.public_key(), ben.sign(identity::update_purpose, bytes), 2});
    EXPECT_EQ(old.expect<UpdateResponse>().refused, Code::invalid_argument);
}

TEST(RelayPublishers, that_do_not_serve_what_they_are_offered_are_stale) {
    TestRelay relay;
    TestPublisher anna(relay);
    ASSERT_NE(anna.advertise("web"), 0U);
    TestFrames consumer = ask_for(relay, "web");
    anna.frames().send(StreamRefused{anna.offer().ticket, "not mine any more", true});
    EXPECT_EQ(refusal(consumer), "refused");
    TestFrames next = ask_for(relay, "web");
    EXPECT_EQ(refusal(next), "not_connected") << "the next one is not kept waiting";
}

TEST(RelayPublishers, are_cut_off_when_they_say_nothing) {
    TestRelay relay({.publisher_timeout = 300ms});
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    EXPECT_FALSE(publisher.frames().receive());
    relay.wait_until([&](const RelayDoor::Counts&) { return relay.active_leases() == 0; });
}

TEST(RelayPublishers, are_cut_off_when_they_send_a_message_byte_by_byte) {
    TestRelay relay({.publisher_timeout = 300ms});
    TestPublisher publisher(relay);
    std::string bytes;
    append_frame(publisher.signed_update({.action = Action::enter, .name = "web"}), bytes);
    bool refused = false;
    for (std::size_t i = 0; i < bytes.size() && !refused; ++i) {
        refused = !publisher.frames().socket().try_send(bytes.substr(i, 1));
        std::this_thread::sleep_for(10ms);  // it is slow, not waiting for anything
    }
    EXPECT_TRUE(refused || publisher.frames().socket().is_ended());
    EXPECT_EQ(relay.connected_services(), 0u);
}

/// A publisher that asks and asks, and reads no answer, is cut off; nobody else is.
void expect_deaf_one_cut_off(TestRelay& relay) {
    TestFrames deaf(TestSocket::connect(relay.port(), 4096));
    deaf.send(PublisherHello{});
    std::string bytes;
    const SignedUpdate meant_for_another{encode({.name = "web"}), std::string(32, 'k'), "", 1};
    for (int i = 0; i < 100; ++i)
        append_frame(meant_for_another, bytes);
    bool refused = false;
    for (int i = 0; i < 100'000 && !refused; ++i)
        refused = !deaf.socket().try_send(bytes);
    EXPECT_TRUE(refused);
    TestPublisher other(relay);
    EXPECT_NE(other.advertise("other"), 0u) << "nobody else is affected";
    relay.wait_until([](const RelayDoor::Counts& counts) { return counts.publishers == 1; });
}

TEST(RelayPublishers, are_cut_off_when_they_do_not_read_their_answers) {
    TestRelay relay({.publisher_timeout = 2s});
    expect_deaf_one_cut_off(relay);
}

TEST(RelayPublishers, are_cut_off_when_they_fill_the_memory_for_buffers) {
    TestRelay relay({.publisher_timeout = 1h, .max_buffer_bytes = 50'000});
    expect_deaf_one_cut_off(relay);
}

TEST(RelayPublishers, over_the_limit_are_told_so) {
    TestRelay relay({.max_publishers = 2});
    TestPublisher first(relay), second(relay);
    TestFrames third(TestSocket::connect(relay.port()));
    third.send(PublisherHello{});
    (void)third.expect<RelayHello>();
    EXPECT_EQ(refusal(third), "too_many_publishers");
    EXPECT_NE(first.advertise("web"), 0u);
}

TEST(RelayPublishers, from_an_address_that_is_banned_are_refused_at_the_door) {
    TestRelay relay;
    relay.ban("127.0.0.0/8");
    TestFrames frames(TestSocket::connect(relay.port()));
    frames.send(PublisherHello{});
    EXPECT_EQ(refusal(frames), "banned");
    EXPECT_TRUE(frames.socket().is_ended());
}

TEST(RelayPublishers, are_refused_until_anything_can_be_asked) {
    const Error away{Code::store_unavailable, "the engine is away"};
    const Error* not_yet = &away;
    TestRelay relay({.address = "127.0.0.1:0", .not_yet = [&] { return not_yet; }});
    TestFrames frames(TestSocket::connect(relay.port()));
    frames.send(PublisherHello{});
    EXPECT_EQ(refusal(frames), "store_unavailable");
    EXPECT_TRUE(frames.socket().is_ended());
    relay.run([&] { not_yet = nullptr; });
    TestPublisher later(relay);
    EXPECT_NE(later.advertise("web"), 0u);
}

TEST(RelayPublishers, leaving_by_the_hundred_do_not_keep_the_others_from_renewing) {
    raise_open_files(10'000);
    TestRelay relay;
    TestPublisher stays(relay);
    const auto token = stays.advertise("stays");
    std::vector<std::unique_ptr<TestPublisher>> crowd;
    for (int i = 0; i < 500; ++i) {
        crowd.push_back(std::make_unique<TestPublisher>(relay));
        (void)crowd.back()->advertise("crowd-" + std::to_string(i));
    }
    EXPECT_EQ(relay.active_leases(), 501u);
    crowd.clear();
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(stays.renew("stays", token).refused, std::nullopt);
    relay.wait_until([&](const RelayDoor::Counts&) { return relay.active_leases() == 1; });
    EXPECT_EQ(relay.counts().publishers, 1u);
}

// ---- strangers ----

TEST(RelayStrangers, are_cut_off_after_a_while) {
    TestRelay relay({.stranger_timeout = 200ms});
    TestSocket silent = TestSocket::connect(relay.port());
    EXPECT_TRUE(silent.is_ended());
    TestSocket half = TestSocket::connect(relay.port());
    half.send(std::string_view("\0\0", 2));
    EXPECT_TRUE(half.is_ended());
    EXPECT_EQ(relay.counts().strangers, 0u);
}

TEST(RelayStrangers, over_the_limit_push_the_oldest_out) {
    TestRelay relay({.max_strangers = 2});
    std::vector<TestSocket> all;
    for (int i = 0; i < 3; ++i) {
        all.push_back(TestSocket::connect(relay.port()));
        relay.wait_until([i](const RelayDoor::Counts& counts) {
            return counts.strangers == static_cast<std::size_t>(std::min(i + 1, 2));
        });
    }
    EXPECT_TRUE(all[0].is_ended());
    TestFrames last(std::move(all[2]));
    last.send(PublisherHello{});
    (void)last.expect<RelayHello>();
}

TEST(RelayStrangers, who_send_what_has_no_place_are_told_so) {
    TestRelay relay;
    const Message misplaced[] = {RelayHello{},    SignedUpdate{}, StreamOffer{},
                                 StreamRefused{}, StreamOpened{}, PublisherHello{.version = 0}};
    for (const auto& message : misplaced) {
        TestFrames frames(TestSocket::connect(relay.port()));
        frames.send(message);
        EXPECT_EQ(refusal(frames), "malformed") << message.index();
        EXPECT_TRUE(frames.socket().is_ended());
    }
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    publisher.frames().send(StreamRequest{.name = "web"});
    EXPECT_EQ(refusal(publisher.frames()), "malformed");
    relay.wait_until([&](const RelayDoor::Counts&) { return relay.active_leases() == 0; });
}

TEST(RelayStrangers, who_announce_too_large_a_frame_are_told_so_before_they_send_it) {
    TestRelay relay;
    TestFrames frames(TestSocket::connect(relay.port()));
    frames.socket().send(std::string_view("\x00\x01\x00\x00", 4));
    EXPECT_EQ(refusal(frames), "malformed");
}

TEST(RelayStrangers, who_send_noise_do_no_harm) {
    TestRelay relay;
    TestPublisher publisher(relay);
    const auto token = publisher.advertise("web");
    std::string valid;
    append_frame(PublisherHello{}, valid);
    for (int i = 0; i < 4; ++i)
        append_frame(publisher.signed_update({.action = Action::enter, .name = "fuzz"}), valid);
    Random random(2026);
    for (int round = 0; round < 400; ++round) {
        std::string bytes = round % 4 == 0 ? noise(1 + random.below(200), random.next()) : valid;
        for (std::uint64_t changes = round % 4 == 0 ? 0 : 1 + random.below(4); changes > 0; --changes)
            bytes[random.below(bytes.size())] = static_cast<char>(random.next());
        TestSocket socket = TestSocket::connect(relay.port());
        (void)socket.try_send(bytes.substr(0, 1 + random.below(bytes.size())));
        if (round % 3 == 0) socket.reset();
    }
    EXPECT_EQ(publisher.renew("web", token).refused, std::nullopt);
}

}  // namespace
}  // namespace holdfast::discovery::relay
