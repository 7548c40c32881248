// Nodes that do not belong together, and strangers who mean no good.

#include "codec/peer/peer_messages.h"
#include "doors/peer/frames.h"
#include "doors/peer/peer_fixture.h"

namespace holdfast::doors::peer {
namespace {

using Way = TestWire::Way;

class PeerRefusal : public PeerTest {
 protected:
    /// b and c, which differ, never connect, and both say why.
    void expect_refused(const TestNodeOptions& of_b, const std::string& code) {
        start_c({});
        start_b(of_b);
        ASSERT_TRUE(until([&] { return b->status(2).last_refusal == code && c->door().status().refused >= 2; }))
            << code;
        EXPECT_TRUE(b->logged(code));
        EXPECT_TRUE(c->logged(code));
        EXPECT_EQ(c->status(1).last_refusal, code == "wrong_secret" ? "" : code) << "whoever knows the secret is known";
        EXPECT_TRUE(b->lives.empty());
        EXPECT_TRUE(c->lives.empty());
        EXPECT_LE(std::count_if(c->lines.begin(), c->lines.end(),
                                [&](const std::string& line) { return line.find(code) != std::string::npos; }),
                  1)
            << "the log does not repeat itself";
    }
};

TEST_F(PeerRefusal, of_another_secret) {
    expect_refused({.secret = "not the secret of the members"}, "wrong_secret");
    EXPECT_EQ(c->door().status().last_refusal, "wrong_secret");
}

TEST_F(PeerRefusal, of_other_members) {
    expect_refused({.ids = {"a", "b", "d"}}, "other_members");
}

TEST_F(PeerRefusal, of_another_longest_ttl) {
    expect_refused({.longest_ttl = 10min}, "other_longest_ttl");
}

TEST_F(PeerRefusal, of_another_rho) {
    expect_refused({.rho = 0.02}, "other_rho");
}

TEST_F(PeerRefusal, of_another_version) {
    expect_refused({.protocol = {.oldest = ProtocolVersions{}.newest + 1, .newest = ProtocolVersions{}.newest + 1}},
                   "other_version");
}

TEST_F(PeerTest, one_that_answers_at_the_address_of_another_is_refused) {
    start_c({});
    start_b({});
    a_to_c.lead_to(b->address());
    start_a({});
    ASSERT_TRUE(until([&] { return a->connected(1) && a->status(2).last_refusal == "unexpected_node"; }));
    EXPECT_TRUE(a->lives[2].empty());
    a_to_c.lead_to(c->address());
    ASSERT_TRUE(until([&] { return all_connected(); }));
}

TEST_F(PeerTest, one_that_should_wait_to_be_connected_to_is_refused_when_it_connects) {
    start_b({});
    // As if c had not understood that it comes after b: it takes itself for the first.
    TestNodeOptions turned;
    turned.ids = {"c", "b", "a"};
    TestNode c_first(loop, 0, {{1, b->address()}}, turned);
    ASSERT_TRUE(until([&] { return c_first.status(1).last_refusal == "other_members"; }));
    EXPECT_TRUE(b->lives.empty());
}

TEST_F(PeerTest, a_handshake_that_was_recorded_opens_nothing) {
    std::string recorded;
    start_c({});
    b_to_c.change([&](Way way, std::string& bytes) {
        if (way == Way::there) recorded += bytes;
    });
    start_b({.boot = 3});
    ASSERT_TRUE(until([&] { return c->connected(1) && b->connected(2); }));
    settle(*b, 1, *c, 2);
    ASSERT_GT(recorded.size(), 100U);
    const auto heard = c->heard[1].size();

    TestStranger again(loop, c->address());
    again.send(recorded);
    ASSERT_TRUE(until([&] { return again.closed() || c->door().status().refused > 0; }));
    EXPECT_EQ(c->door().status().last_refusal, "wrong_secret");
    EXPECT_EQ(c->lives[1].size(), 1U) << "and what is connected is not disturbed";
    EXPECT_EQ(c->heard[1].size(), heard);
    settle(*b, 1, *c, 2);
}

TEST_F(PeerTest, a_frame_that_was_changed_on_the_way_is_not_heard_and_ends_the_connection) {
    start();
    settle(*b, 1, *c, 2);
    bool changed = false;
    b_to_c.change([&](Way way, std::string& bytes) {
        if (way != Way::there || changed || bytes.find("xxxxxxxx") == std::string::npos) return;
        bytes[bytes.find("xxxxxxxx")] = 'y';
        changed = true;
    });
    b->say_number(2, 77, 100);
    ASSERT_TRUE(until([&] { return c->lives[1].size() == 3 && b->lives[2].size() == 3; }));
    EXPECT_TRUE(changed);
    EXPECT_TRUE(c->logged("the MAC of a frame does not match"));
    settle(*b, 1, *c, 2);
    const auto numbers = c->numbers_from(1);
    EXPECT_EQ(std::count(numbers.begin(), numbers.end(), 77U), 0);
}

TEST_F(PeerTest, a_frame_that_is_sent_once_more_by_somebody_is_not_heard_twice) {
    start();
    bool repeated = false;
    b_to_c.change([&](Way way, std::string& bytes) {
        if (way != Way::there || repeated || bytes.find("xxxxxxxx") == std::string::npos) return;
        bytes += bytes;
        repeated = true;
    });
    b->say_number(2, 77, 100);
    ASSERT_TRUE(until([&] { return c->lives[1].size() == 3 && b->connected(2); }));
    settle(*b, 1, *c, 2);
    const auto numbers = c->numbers_from(1);
    EXPECT_LE(std::count(numbers.begin(), numbers.end(), 77U), 1);
}

TEST_F(PeerTest, what_cannot_be_is_lost_and_the_connection_stays) {
    start();
    b->say_number(2, 1);
    b->door().send(2, consensus::LogMessage(consensus::LogFetch{codec::peer::ballot_limit}));
    b->say_number(2, 2);
    ASSERT_TRUE(until([&] { return c->numbers_from(1).size() == 2; }));
    EXPECT_EQ(c->status(1).messages_rejected, 1U);
    EXPECT_TRUE(c->logged("sent invalid messages"));
    EXPECT_EQ(c->lives[1].size(), 1U);
}

// ---- strangers ----

TEST_F(PeerTest, garbage_is_shown_the_door) {
    start_c({});
    Random random(5);
    std::vector<std::string> garbage{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", std::string(100'000, '\0'),
                                     std::string("\0\0\0\x05hello", 9), std::string("\xff\xff\xff\xff", 4),
                                     std::string("\0\0\x04\x01", 4)};
    for (int i = 0; i < 50; ++i) {
        std::string bytes(4 + random.below(2000), '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random.next());
        if (i % 2 == 0) bytes.replace(0, 3, std::string(3, '\0'));  // of a length that is allowed
        garbage.push_back(bytes);
    }
    for (const std::string& bytes : garbage) {
        TestStranger stranger(loop, c->address());
        stranger.send(bytes);
        // What is not complete yet is waited for; no more of it comes.
        std::string_view rest = bytes;
        const auto frame = codec::take_frame(rest, 1024);
        if (frame && !*frame) continue;
        ASSERT_TRUE(until([&] { return stranger.closed(); }));
        EXPECT_LE(stranger.received().size(), 64U);
    }
    start_b({});
    ASSERT_TRUE(until([&] { return b->connected(2) && c->connected(1); })) << "and who knows the secret comes in";
}

TEST_F(PeerTest, one_who_is_slow_to_say_who_it_is_is_shown_the_door) {
    TestNodeOptions options;
    options.limits.handshake_within = 200ms;
    start_c(options);
    TestStranger silent(loop, c->address()), slow(loop, c->address());
    slow.send(std::string("\0\0\0", 3));
    ASSERT_TRUE(until([&] { return silent.closed() && slow.closed(); }));
    EXPECT_EQ(c->door().status().strangers, 0U);
}

TEST_F(PeerTest, strangers_are_few_and_do_not_keep_members_out) {
    TestNodeOptions options;
    options.limits.max_strangers = 4;
    start_c(options);
    std::vector<std::unique_ptr<TestStranger>> strangers;
    for (int i = 0; i < 10; ++i)
        strangers.push_back(std::make_unique<TestStranger>(loop, c->address()));
    const auto closed = [&] {
        return std::count_if(strangers.begin(), strangers.end(), [](const auto& one) { return one->closed(); });
    };
    ASSERT_TRUE(until([&] { return closed() == 6; }));
    EXPECT_LE(c->door().status().strangers, 4U);
    EXPECT_EQ(c->door().status().refused, 6U);
    start_b({});
    ASSERT_TRUE(until([&] { return b->connected(2) && c->connected(1); }));
}

}  // namespace
}  // namespace holdfast::doors::peer
