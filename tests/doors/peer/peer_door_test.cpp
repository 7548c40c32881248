// Nodes that mean well, on wires that do not always.

#include <boost/asio/post.hpp>
#include <thread>

#include "codec/peer/random_messages.h"
#include "doors/peer/peer_fixture.h"

namespace holdfast::doors::peer {
namespace {

using Lives = std::vector<std::optional<store::quorum::BootNumber>>;
using Way = TestWire::Way;

/// Without pings, which are writes of their own.
TestNodeOptions without_pings() {
    TestNodeOptions options;
    options.limits.ping_every = 1h;
    options.limits.dead_after = 2h;
    return options;
}

TEST_F(PeerTest, three_doors_find_each_other_and_know_each_others_lives) {
    start_c({.boot = 7});
    start_b({.boot = 5});
    start_a({.boot = 3});
    ASSERT_TRUE(until([&] { return all_connected(); }));
    EXPECT_EQ(a->lives, (decltype(a->lives){{1, {5}}, {2, {7}}}));
    EXPECT_EQ(b->lives, (decltype(b->lives){{0, {3}}, {2, {7}}}));
    EXPECT_EQ(c->lives, (decltype(c->lives){{0, {3}}, {1, {5}}}));
    EXPECT_TRUE(a->logged("peer b"));
    EXPECT_EQ(a->status(1).id, "b");
    EXPECT_TRUE(a->status(0).self);
    EXPECT_EQ(a->status(1).connections, 1U);
    EXPECT_EQ(c->door().status().strangers, 0U);
}

TEST_F(PeerTest, a_message_of_every_kind_arrives_with_equal_content_in_each_direction) {
    start();
    codec::peer::RandomMessages random(11);
    std::map<std::pair<int, int>, std::vector<codec::peer::Message>> said;
    const std::vector<TestNode*> nodes{a.get(), b.get(), c.get()};
    for (int round = 0; round < 20; ++round)
        for (store::quorum::NodeIndex from = 0; from < 3; ++from)
            for (store::quorum::NodeIndex to = 0; to < 3; ++to)
                for (std::size_t kind = 0; kind < codec::peer::message_kinds; ++kind) {
                    if (from == to) continue;
                    auto message = random.of_kind(kind);
                    if (const auto* log = std::get_if<consensus::LogMessage>(&message))
                        nodes[from]->door().send(to, *log);
                    else
                        nodes[from]->say(to, std::get<store::quorum::QuorumMessage>(message));
                    said[{from, to}].push_back(std::move(message));
                }
    for (const auto& [between, messages] : said) {
        const auto [from, to] = between;
        auto& heard = nodes[static_cast<std::size_t>(to)]->heard[static_cast<store::quorum::NodeIndex>(from)];
        ASSERT_TRUE(until([&] { return heard.size() == messages.size(); })) << from << " to " << to;
        for (std::size_t i = 0; i < messages.size(); ++i)
            ASSERT_TRUE(codec::peer::same(heard[i], messages[i])) << i;
    }
    EXPECT_EQ(a->status(1).messages_received, b->status(0).messages_sent);
    EXPECT_EQ(a->status(1).messages_dropped + a->status(1).messages_rejected, 0U);
}

TEST_F(PeerTest, what_is_said_in_one_turn_goes_out_in_one_write) {
    start(without_pings());
    settle(*a, 0, *b, 1);
    const auto writes = a->status(1).writes;
    const auto messages = a->status(1).messages_sent;
    std::size_t batches = 0;
    b->on_heard = [&](Life, const auto&) { ++batches; };
    for (std::uint64_t number = 0; number < 100; ++number)
        a->say_number(1, number);
    EXPECT_EQ(a->status(1).writes, writes) << "nothing is sent before the turn is over";
    ASSERT_TRUE(until([&] { return a->status(1).messages_sent == messages + 100; }));
    ASSERT_TRUE(until([&] { return b->numbers_from(0).size() >= 100 && b->numbers_from(0).back() == 99; }));
    EXPECT_EQ(a->status(1).writes, writes + 1);
    EXPECT_EQ(batches, 1U) << "and is heard together";
}

TEST_F(PeerTest, large_messages_arrive_whole_and_in_order) {
    start();
    for (std::uint64_t number = 1; number <= 60; ++number)
        a->say_number(2, number, 200'000);
    a->door().send(2, consensus::LogMessage(consensus::LogInstall{{1, 0}, {1, std::string(8'000'000, 's')}}));
    a->say_number(2, 61);
    ASSERT_TRUE(until([&] { return c->heard[0].size() == 62; }));
    EXPECT_EQ(c->numbers_from(0).back(), 61U);
    EXPECT_EQ(a->status(2).messages_dropped, 0U);
}

TEST_F(PeerTest, a_message_to_a_former_life_is_lost) {
    start();
    a->door().send(store::quorum::Envelope{0, 1, 1, 99, store::quorum::Prepare{"r", {1, 1, 0}}});
    EXPECT_EQ(a->status(1).messages_dropped, 1U);
    settle(*a, 0, *b, 1);
    EXPECT_EQ(b->heard[0].size(), 1U);
}

TEST_F(PeerTest, the_round_trip_time_is_measured) {
    TestNodeOptions options;
    options.limits.ping_every = 10ms;
    start(options);
    ASSERT_TRUE(until([&] { return a->status(1).round_trip && b->status(0).round_trip; }));
    EXPECT_GT(*a->status(1).round_trip, 0ns);
    EXPECT_LT(*a->status(1).round_trip, 60s);
}

// ---- wires that fail ----

TEST_F(PeerTest, a_connection_that_is_cut_comes_back) {
    start();
    a_to_b.cut();
    ASSERT_TRUE(until([&] { return a->lives[1].size() == 3 && b->lives[0].size() == 3; }));
    EXPECT_EQ(a->lives[1], (Lives{1, std::nullopt, 1}));
    EXPECT_EQ(b->lives[0], (Lives{1, std::nullopt, 1}));
    settle(*a, 0, *b, 1);
    EXPECT_EQ(a->lives[2], (Lives{1})) << "others are not hindered";
    EXPECT_EQ(a->status(1).connections, 2U);
}

TEST_F(PeerTest, a_peer_that_is_gone_for_a_while_is_found_again) {
    start();
    a_to_b.lead_to("");
    a_to_b.cut();
    const auto before = a_to_b.accepted();
    ASSERT_TRUE(until([&] { return a_to_b.accepted() >= before + 5; })) << "it tries again and again";
    EXPECT_FALSE(a->connected(1));
    const auto dropped = a->status(1).messages_dropped;
    a->say_number(1, 1);
    EXPECT_EQ(a->status(1).messages_dropped, dropped + 1);
    a_to_b.lead_to(b->address());
    ASSERT_TRUE(until([&] { return a->connected(1) && b->connected(0); }));
    settle(*a, 0, *b, 1);
}

TEST_F(PeerTest, a_peer_that_closes_one_way_is_connected_anew) {
    start();
    a_to_b.half_close(Way::there);
    ASSERT_TRUE(until([&] { return b->lives[0].size() >= 2; }));
    EXPECT_EQ(b->lives[0][1], std::nullopt);
    ASSERT_TRUE(until([&] { return a->connected(1) && b->connected(0) && a->lives[1].size() >= 3; }));
    settle(*a, 0, *b, 1);
}

TEST_F(PeerTest, a_wire_that_leads_nowhere_is_noticed_by_both) {
    TestNodeOptions options;
    options.limits.ping_every = 20ms;
    options.limits.dead_after = 400ms;
    start(options);
    a_to_b.lead_to("");
    a_to_b.lose_sight();
    ASSERT_TRUE(until([&] { return !a->connected(1) && !b->connected(0); }));
    EXPECT_TRUE(a->logged("does not answer"));
    EXPECT_TRUE(b->logged("does not answer"));
    a_to_b.lead_to(b->address());
    ASSERT_TRUE(until([&] { return a->connected(1) && b->connected(0); }));
}

TEST_F(PeerTest, a_peer_that_stops_reading_costs_bounded_memory_and_hinders_nobody) {
    TestNodeOptions options = without_pings();
    options.limits.max_queue_bytes = 1024 * 1024;
    start(options);
    a_to_c.freeze(Way::there);
    std::uint64_t number = 0;
    std::size_t max_queued = 0;
    while (a->status(2).messages_dropped < 1000 && number < 100'000) {
        a->say_number(2, ++number, 10'000);
        loop.restart();
        loop.poll();
        max_queued = std::max(max_queued, a->status(2).bytes_queued);
    }
    EXPECT_GE(a->status(2).messages_dropped, 1000U);
    EXPECT_LE(max_queued, 3U * 1024 * 1024) << "what is queued, and one write that is under way";
    settle(*a, 0, *b, 1);
    settle(*b, 1, *c, 2);
    EXPECT_TRUE(a->connected(2));
}

TEST_F(PeerTest, a_send_that_stalls_ends_the_connection) {
    TestNodeOptions options;
    options.limits.ping_every = 20ms;
    options.limits.dead_after = 500ms;
    start(options);
    a_to_c.freeze(Way::there);  // c is heard, and its pings are, but nothing reaches it
    for (std::uint64_t number = 0; number < 2000; ++number)
        a->say_number(2, number, 10'000);
    ASSERT_TRUE(until([&] { return a->lives[2].size() >= 2; }));
    EXPECT_EQ(a->lives[2][1], std::nullopt);
}

// ---- lives ----

TEST_F(PeerTest, a_peer_that_started_again_is_known_by_its_new_life) {
    start();
    start_c({.boot = 2});
    ASSERT_TRUE(until([&] { return a->lives[2].size() == 3 && b->lives[2].size() == 3; }));
    EXPECT_EQ(a->lives[2], (Lives{1, std::nullopt, 2}));
    settle(*a, 0, *c, 2);
}

TEST_F(PeerTest, a_newer_life_takes_the_place_of_an_older_connection_that_still_seems_to_be_there) {
    start(without_pings());
    b_to_c.lose_sight();
    start_b({.boot = 2});
    ASSERT_TRUE(until([&] { return c->lives[1].size() == 3 && b->connected(2); }));
    EXPECT_EQ(c->lives[1], (Lives{1, std::nullopt, 2}));
    settle(*b, 1, *c, 2);
    EXPECT_EQ(c->status(1).boot, 2U);
}

TEST_F(PeerTest, a_peer_says_for_how_long_it_takes_part_in_nothing) {
    start_c({.silent_for = 90s});
    start_b({});
    ASSERT_TRUE(until([&] { return b->status(2).silent_for.has_value() && c->status(1).silent_for.has_value(); }));
    EXPECT_GT(*b->status(2).silent_for, 30s);
    EXPECT_LE(*b->status(2).silent_for, 90s);
    EXPECT_EQ(*c->status(1).silent_for, Duration::zero());
    EXPECT_FALSE(c->status(0).silent_for) << "one that is not connected has said nothing";
}

/// One that says this of its directory, and refuses everybody for this reason, if any.
struct TestFounders final : Founders {
    Directories own() const override { return said; }
    std::optional<Refusal> refuses(Life, const Directories&) const override { return refusal; }
    void met(Life, const Directories&) override {}

    Directories said{1, {}, 1, {}};
    std::optional<Refusal> refusal;
};

TEST_F(PeerTest, a_peer_tells_the_lives_that_it_writes_down_while_it_is_connected) {
    TestFounders of_b, of_c;
    TestNodeOptions to_b{.founders = &of_b}, to_c{.founders = &of_c};
    to_b.limits.ping_every = to_c.limits.ping_every = 20ms;
    start_c(to_c);
    start_b(to_b);
    ASSERT_TRUE(until([&] { return b->connected(2) && c->connected(1); }));
    of_c.said.lives = {{4, ~0ULL}, {}, {}};
    ASSERT_TRUE(until([&] { return b->told[2] == of_c.said.lives; }));
    EXPECT_TRUE(c->told[1].empty()) << "b has written nothing down";
}

TEST_F(PeerTest, a_node_that_is_refused_as_an_earlier_copy_hears_that_it_is_one) {
    TestFounders of_b, of_c;
    of_c.refusal = Refusal::old_boot;
    start_c({.founders = &of_c});
    start_b({.founders = &of_b});
    ASSERT_TRUE(until([&] { return b->found_old > 0; }));
    EXPECT_EQ(c->found_old, 0U) << "it is the other one";
}

TEST_F(PeerTest, a_node_that_finds_itself_to_be_an_earlier_copy_hears_that_it_is_one) {
    TestFounders of_b, of_c;
    of_b.refusal = Refusal::old_directory;
    start_c({.founders = &of_c});
    start_b({.founders = &of_b});
    ASSERT_TRUE(until([&] { return b->found_old > 0 && c->status(1).last_refusal == "old_directory"; }));
    EXPECT_EQ(c->found_old, 0U) << "it is the other one";
}

TEST_F(PeerTest, an_older_life_is_refused_and_both_know_why) {
    start_c({});
    start_b({.boot = 5});
    ASSERT_TRUE(until([&] { return c->connected(1); }));
    b.reset();
    ASSERT_TRUE(until([&] { return !c->connected(1); }));
    start_b({.boot = 4});
    ASSERT_TRUE(
        until([&] { return b->status(2).last_refusal == "old_boot" && c->status(1).last_refusal == "old_boot"; }));
    EXPECT_EQ(c->lives[1], (Lives{5, std::nullopt}));
    EXPECT_TRUE(b->logged("peer c (" + b_to_c.address() + ") refuses us: old_boot"));
    EXPECT_TRUE(c->logged("is refused: old_boot"));
    start_b({.boot = 6});
    ASSERT_TRUE(until([&] { return c->connected(1); }));
    EXPECT_EQ(c->status(1).last_refusal, "");
}

TEST_F(PeerTest, an_older_life_is_refused_by_the_one_that_connects_too) {
    start_c({.boot = 5});
    start_b({});
    ASSERT_TRUE(until([&] { return b->connected(2); }));
    start_c({.boot = 4});
    ASSERT_TRUE(until([&] { return b->status(2).last_refusal == "old_boot"; }));
    ASSERT_TRUE(until([&] { return c->logged("refuses us: old_boot"); }));
    EXPECT_EQ(b->lives[2], (Lives{5, std::nullopt}));
}

// ---- the end ----

TEST_F(PeerTest, a_door_that_stops_sends_what_is_queued_first_and_says_nothing_more) {
    start();
    for (std::uint64_t number = 1; number <= 100; ++number)
        a->say_number(1, number, 50'000);
    bool stopped = false;
    const auto lives = a->lives;
    a->door().stop([&] { stopped = true; });
    ASSERT_TRUE(until([&] { return stopped; }));
    EXPECT_EQ(a->lives, lives);
    ASSERT_TRUE(until([&] { return !b->connected(0) && !c->connected(0); }));
    EXPECT_EQ(b->numbers_from(0).size(), 100U);
    const auto before = a_to_b.accepted();
    settle(*b, 1, *c, 2);
    EXPECT_EQ(a_to_b.accepted(), before);
}

TEST_F(PeerTest, a_door_stops_in_bounded_time_though_a_peer_does_not_read) {
    TestNodeOptions options;
    options.limits.stop_within = 100ms;
    start(options);
    a_to_b.freeze(Way::there);
    for (std::uint64_t number = 0; number < 2000; ++number)
        a->say_number(1, number, 10'000);
    bool stopped = false;
    a->door().stop([&] { stopped = true; });
    ASSERT_TRUE(until([&] { return stopped; }));
}

TEST_F(PeerTest, a_door_may_go_at_any_moment) {
    start_c({});
    start_b({});
    start_a({});
    for (int steps = 0; steps < 60; ++steps) {
        for (int i = 0; i < steps; ++i)
            loop.run_one_for(1ms);
        loop.restart();
        start_b({.boot = static_cast<store::quorum::BootNumber>(2 + steps)});
    }
    ASSERT_TRUE(until([&] { return all_connected(); }));
    EXPECT_EQ(a->status(1).boot, 61U);
}

TEST(PeerDoor, a_cluster_of_one_has_nobody_to_talk_to) {
    boost::asio::io_context loop;
    TestNode alone(loop, 0, {}, {.ids = {"a"}});
    EXPECT_EQ(alone.address(), "127.0.0.1:0") << "it does not listen";
    bool stopped = false;
    alone.door().stop([&] { stopped = true; });
    EXPECT_TRUE(run_until(loop, [&] { return stopped; }));
}

TEST(PeerDoor, says_why_it_cannot_listen) {
    boost::asio::io_context loop;
    TestNode c(loop, 2, {});
    struct Silent final : Node {
        void on_peer(store::quorum::NodeIndex, std::optional<store::quorum::BootNumber>) override {}
        void on_messages(Life, std::vector<codec::peer::Message>) override {}
        void on_silence(store::quorum::NodeIndex, Duration) override {}
        void on_lives(store::quorum::NodeIndex, const std::vector<store::quorum::LifeMark>&) override {}
        void on_found_old() override {}
        Duration silent_for() override { return {}; }
        void log(std::string_view, bool) override {}
    } node;
    PeerDoor twice(PeerDoor::Parts{.loop = loop,
                                   .node = node,
                                   .members = {{{"a", "h:1"}, {"b", "h:2"}, {"c", c.address()}}, 2},
                                   .listen = "",
                                   .secret = "the secret of the test's members"});
    const auto started = twice.start();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().code, Code::cannot_listen);
}

TEST(PeerDoor, nodes_on_threads_of_their_own_talk_to_each_other) {
    struct Running {
        boost::asio::io_context loop;
        std::unique_ptr<TestNode> node;
        std::atomic<std::size_t> heard{0};
        std::thread thread;
    };
    std::vector<Running> nodes(3);
    TestNode::Addresses addresses;
    for (store::quorum::NodeIndex index = 3; index-- > 0;) {
        Running& running = nodes[index];
        running.node = std::make_unique<TestNode>(running.loop, index, addresses);
        addresses[index] = running.node->address();
        // A node that hears a number says the next one, until a thousand.
        running.node->on_heard = [&running](Life from, const std::vector<codec::peer::Message>& messages) {
            for (const codec::peer::Message& message : messages) {
                const auto number = std::get<consensus::LogSubmit>(std::get<consensus::LogMessage>(message)).number;
                if (number < 1000) running.node->say_number(from.node, number + 1);
                ++running.heard;
            }
        };
    }
    for (Running& running : nodes)
        running.thread = std::thread([&running] {
            run_until(running.loop, [&] {
                const auto peers = running.node->door().status().peers;
                return std::count_if(peers.begin(), peers.end(),
                                     [](const auto& peer) { return peer.boot.has_value(); }) == 2;
            });
            const store::quorum::NodeIndex self =
                static_cast<store::quorum::NodeIndex>(running.node->status(0).self   ? 0
                                                      : running.node->status(1).self ? 1
                                                                                     : 2);
            for (store::quorum::NodeIndex to = 0; to < 3; ++to)
                if (to != self) running.node->say_number(to, 1);
            run_until(running.loop, [&] { return running.heard >= 2000; });
            bool stopped = false;
            running.node->door().stop([&] { stopped = true; });
            run_until(running.loop, [&] { return stopped; });
        });
    for (Running& running : nodes)
        running.thread.join();
    for (Running& running : nodes)
        EXPECT_GE(running.heard, 1000U);
}

}  // namespace
}  // namespace holdfast::doors::peer
