// Streams through the door: asked for, offered, joined, refused.
#include <thread>

#include "discovery/relay/relay_fixture.h"

namespace holdfast::discovery::relay {
namespace {

TEST(RelayStreams, join_a_consumer_and_the_publisher_it_asked_for) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    TestFrames consumer = ask_for(relay, "web");
    const auto offer = publisher.offer();
    EXPECT_EQ(offer.name, "web");
    EXPECT_EQ(offer.ticket.size(), ticket_bytes);
    EXPECT_EQ(offer.consumer.substr(0, 10), "127.0.0.1:");
    TestSocket data = publisher.accept(offer);
    (void)consumer.expect<StreamOpened>();
    consumer.socket().send("GET /");
    EXPECT_EQ(data.receive(5), "GET /");
    data.send("200");
    data.end_sending();
    EXPECT_EQ(consumer.socket().receive_all(), "200");
    EXPECT_EQ(relay.counts().streams.open, 1u);
    consumer.socket().end_sending();
    EXPECT_EQ(data.receive_all(), "");
    relay.wait_until([](const RelayDoor::Counts& counts) { return counts.streams.open == 0; });
    EXPECT_EQ(relay.counts().carried.to_publisher, 5u);
    EXPECT_EQ(relay.counts().carried.to_consumer, 3u);
}

TEST(RelayStreams, keep_what_a_consumer_sent_early) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    const std::string early = noise(200'000, 1);  // more than is kept: the rest waits in the consumer's socket
    TestFrames consumer(TestSocket::connect(relay.port()));
    std::thread sends([&] {
        consumer.send(StreamRequest{.name = "web"});
        consumer.socket().send(early);
        consumer.socket().end_sending();
    });
    TestSocket data = publisher.accept(publisher.offer());
    EXPECT_TRUE(data.receive_all() == early);
    sends.join();
    data.close();
    (void)consumer.expect<StreamOpened>();
    EXPECT_EQ(consumer.socket().receive_all(), "");
}

TEST(RelayStreams, keep_what_a_publisher_sent_early) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("ssh");
    TestFrames consumer = ask_for(relay, "ssh");
    std::string bytes;
    append_frame(StreamAccept{.ticket = publisher.offer().ticket}, bytes);
    TestSocket data = TestSocket::connect(relay.port());
    data.send(bytes + "SSH-2.0");
    (void)consumer.expect<StreamOpened>();
    EXPECT_EQ(consumer.socket().receive(7), "SSH-2.0");
}

TEST(RelayStreams, carry_much_both_ways_unchanged) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    OpenStream stream = open_stream(relay, publisher, "web");
    const std::string there = noise(24 << 20, 1), back = noise(24 << 20, 2);
    std::thread consumer([&] {
        stream.consumer.send(there);
        stream.consumer.end_sending();
    });
    std::string got;
    std::thread consumer_reads([&] { got = stream.consumer.receive_all(); });
    std::thread data([&] {
        stream.publisher.send(back);
        stream.publisher.end_sending();
    });
    EXPECT_TRUE(stream.publisher.receive_all() == there);
    for (std::thread* thread : {&consumer, &consumer_reads, &data})
        thread->join();
    EXPECT_TRUE(got == back);
}

TEST(RelayStreams, of_a_service_nobody_advertises_are_refused) {
    TestRelay relay;
    TestFrames consumer = ask_for(relay, "nobody");
    EXPECT_EQ(refusal(consumer), "unknown_service");
    EXPECT_TRUE(consumer.socket().is_ended());
    TestFrames nonsense = ask_for(relay, "a/b");
    EXPECT_EQ(refusal(nonsense), "unknown_service");
}

TEST(RelayStreams, of_a_service_that_was_banned_are_refused) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    relay.ban(publisher.identity().id());
    TestFrames consumer = ask_for(relay, "web");
    EXPECT_EQ(refusal(consumer), "unknown_service");
}

TEST(RelayStreams, are_refused_with_the_reason_of_the_publisher) {
    TestRelay relay;
    TestPublisher publisher(relay), other(relay);
    (void)publisher.advertise("web");
    TestFrames consumer = ask_for(relay, "web");
    const auto offer = publisher.offer();
    other.frames().send(StreamRefused{.ticket = offer.ticket, .message = "not mine"});
    EXPECT_NE(other.advertise("other"), 0u) << "and the relay has read that";
    publisher.frames().send(StreamRefused{.ticket = offer.ticket, .message = "the backend is down"});
    const auto failed = consumer.expect<StreamFailed>();
    EXPECT_EQ(failed.code, Code::refused);
    EXPECT_EQ(failed.message, "the backend is down");
    EXPECT_EQ(relay.counts().streams.waiting, 0u);
}

TEST(RelayStreams, fail_when_the_publisher_does_not_answer) {
    TestRelay relay({.streams = {.ticket_life = 300ms}});
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    TestFrames consumer = ask_for(relay, "web");
    const auto offer = publisher.offer();
    EXPECT_EQ(refusal(consumer), "no_answer");
    TestFrames late = use_ticket(relay, offer.ticket);
    EXPECT_EQ(refusal(late), "unknown_ticket");
    EXPECT_EQ(relay.counts().streams.unanswered, 1u);
}

TEST(RelayStreams, fail_when_the_publisher_leaves_before_it_answers) {
    TestRelay relay;
    auto publisher = std::make_unique<TestPublisher>(relay);
    (void)publisher->advertise("web");
    TestFrames consumer = ask_for(relay, "web");
    (void)publisher->offer();
    publisher.reset();
    EXPECT_EQ(refusal(consumer), "not_connected");
}

TEST(RelayStreams, take_a_ticket_once_and_no_other) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    TestFrames consumer = ask_for(relay, "web");
    const auto offer = publisher.offer();
    TestFrames wrong = use_ticket(relay, std::string(ticket_bytes, 'x'));
    EXPECT_EQ(refusal(wrong), "unknown_ticket");
    TestSocket data = publisher.accept(offer);
    TestFrames again = use_ticket(relay, offer.ticket);
    EXPECT_EQ(refusal(again), "unknown_ticket");
    (void)consumer.expect<StreamOpened>();
    consumer.socket().send("still there");
    EXPECT_EQ(data.receive(11), "still there");
}

TEST(RelayStreams, void_the_ticket_of_a_consumer_that_left) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    TestFrames consumer = ask_for(relay, "web");
    const auto offer = publisher.offer();
    consumer.socket().reset();
    relay.wait_until([](const RelayDoor::Counts& counts) { return counts.streams.waiting == 0; });
    TestFrames late = use_ticket(relay, offer.ticket);
    EXPECT_EQ(refusal(late), "unknown_ticket");
}

TEST(RelayStreams, over_a_limit_are_refused_and_room_is_made_when_one_ends) {
    TestRelay relay({.streams = {.per_service = 2}});
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    OpenStream first = open_stream(relay, publisher, "web"), second = open_stream(relay, publisher, "web");
    TestFrames third = ask_for(relay, "web");
    EXPECT_EQ(refusal(third), "too_many_streams");
    first.consumer.reset();
    relay.wait_until([](const RelayDoor::Counts& counts) { return counts.streams.open == 1; });
    (void)open_stream(relay, publisher, "web");
}

TEST(RelayStreams, outlive_the_control_connection_of_their_publisher) {
    TestRelay relay;
    auto publisher = std::make_unique<TestPublisher>(relay);
    (void)publisher->advertise("web");
    OpenStream stream = open_stream(relay, *publisher, "web");
    publisher.reset();
    relay.wait_until([&](const RelayDoor::Counts&) { return relay.active_leases() == 0; });
    stream.consumer.send("still");
    EXPECT_EQ(stream.publisher.receive(5), "still");
}

TEST(RelayStreams, by_the_thousand_are_open_at_once) {
    raise_open_files(10'000);
    TestRelay relay({.streams = {.per_service = 2000}});
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    std::vector<OpenStream> all;
    for (int i = 0; i < 2000; ++i)
        all.push_back(open_stream(relay, publisher, "web"));
    EXPECT_EQ(relay.counts().streams.open, 2000u);
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i].publisher.send("hello " + std::to_string(i) + ".");
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::string expected = "hello " + std::to_string(i) + ".";
        ASSERT_EQ(all[i].consumer.receive(expected.size()), expected);
    }
    all.clear();
    relay.wait_until([](const RelayDoor::Counts& counts) { return counts.streams.open == 0; });
    EXPECT_EQ(relay.counts().streams.total, 2000u);
}

TEST(RelayStreams, that_nobody_reads_do_not_keep_publishers_from_renewing) {
    TestRelay relay;
    TestPublisher publisher(relay);
    const auto token = publisher.advertise("web");
    OpenStream stuck = open_stream(relay, publisher, "web");
    const std::size_t taken = stuck.publisher.fill();
    EXPECT_EQ(publisher.renew("web", token).refused, std::nullopt);
    OpenStream other = open_stream(relay, publisher, "web");
    other.consumer.send("x");
    EXPECT_EQ(other.publisher.receive(1), "x");
    EXPECT_EQ(stuck.consumer.receive(taken).size(), taken);
}

// ---- the end ----

TEST(RelayStop, tells_those_who_wait_and_resets_what_does_not_end) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    OpenStream stream = open_stream(relay, publisher, "web");
    TestFrames waiting = ask_for(relay, "web");
    (void)publisher.offer();
    relay.stop();
    EXPECT_EQ(refusal(waiting), "stopping");
    EXPECT_TRUE(stream.consumer.is_reset());
    EXPECT_FALSE(publisher.frames().receive());
    EXPECT_EQ(relay.active_leases(), 1u) << "a clean stop keeps leases (S1)";
}

TEST(RelayStop, lets_a_stream_end_by_itself) {
    TestRelay relay;
    TestPublisher publisher(relay);
    (void)publisher.advertise("web");
    OpenStream stream = open_stream(relay, publisher, "web");
    std::thread stops([&] { relay.stop(); });
    EXPECT_FALSE(publisher.frames().receive()) << "the relay has begun to stop";
    stream.publisher.send("the rest");
    stream.publisher.end_sending();
    EXPECT_EQ(stream.consumer.receive_all(), "the rest");
    stream.consumer.end_sending();
    EXPECT_EQ(stream.publisher.receive_all(), "");
    stops.join();
}

}  // namespace
}  // namespace holdfast::discovery::relay
