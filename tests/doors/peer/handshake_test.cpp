#include "doors/peer/handshake.h"

#include <gtest/gtest.h>

namespace holdfast::doors::peer {
namespace {

using State = Handshake::State;

Terms terms_of(store::quorum::NodeIndex node) {
    return Terms{"the secret of all members", node, 10U + node, {"a", "b", "c"}, 5min, 0.01};
}

/// Two that shake hands, with all that goes between them open to be changed.
struct Two {
    explicit Two(Terms connector_given = terms_of(0), Terms acceptor_given = terms_of(1))
        : connector_terms(std::move(connector_given)), acceptor_terms(std::move(acceptor_given)) {}

    /// Carries frames until nobody has more to say. `change` sees each frame, counted.
    void run(const std::function<void(int number, std::string& body)>& change = [](int, std::string&) {}) {
        std::string to_acceptor = connector.begin(), to_connector = acceptor.begin();
        int number = 0;
        while (!to_acceptor.empty() || !to_connector.empty()) {
            to_connector += deliver(acceptor, to_acceptor, number, change);
            to_acceptor = deliver(connector, to_connector, number, change);
            to_connector.clear();
        }
        frames = number;
    }
    static std::string deliver(Handshake& to, const std::string& bytes, int& number,
                               const std::function<void(int, std::string&)>& change) {
        std::string answer;
        std::string_view rest = bytes;
        while (to.state() == State::under_way) {
            const auto frame = codec::take_frame(rest, handshake_frame_bytes);
            EXPECT_TRUE(frame);
            if (!frame || !*frame) break;
            std::string body(**frame);
            change(number++, body);
            answer += to.receive(body);
        }
        return answer;
    }

    Terms connector_terms, acceptor_terms;
    std::optional<Refusal> connector_admits, acceptor_admits;
    Handshake connector{Handshake::Side::connector, connector_terms, random_bytes(32),
                        [this](Life) { return connector_admits; }};
    Handshake acceptor{Handshake::Side::acceptor, acceptor_terms, random_bytes(32),
                       [this](Life) { return acceptor_admits; }};
    int frames = 0;
};

void expect_refused(Two& two, Refusal why) {
    two.run();
    ASSERT_EQ(two.connector.state(), State::refused);
    ASSERT_EQ(two.acceptor.state(), State::refused);
    EXPECT_EQ(two.connector.refusal(), why);
    EXPECT_EQ(two.acceptor.refusal(), why);
    EXPECT_NE(two.connector.refused_by_peer(), two.acceptor.refused_by_peer());
}

TEST(Handshake, between_two_that_agree_tells_each_who_the_other_is_and_gives_keys) {
    Two two;
    two.run();
    ASSERT_EQ(two.connector.state(), State::done);
    ASSERT_EQ(two.acceptor.state(), State::done);
    EXPECT_EQ(two.connector.peer(), (Life{1, 11}));
    EXPECT_EQ(two.acceptor.peer(), (Life{0, 10}));

    Sealer there = two.connector.take_sealer(), back = two.acceptor.take_sealer();
    Opener at_acceptor = two.acceptor.take_opener(), at_connector = two.connector.take_opener();
    std::string one, other;
    there.append("hello", one);
    back.append("hello", other);
    EXPECT_NE(one, other) << "a frame must not be good for the other direction";
    EXPECT_FALSE(at_connector.open(one.substr(4)));
    EXPECT_EQ(at_acceptor.open(one.substr(4)), "hello");
    EXPECT_EQ(at_connector.open(other.substr(4)), "hello");
}

/// One that says this of its directory.
struct Saying final : Founders {
    explicit Saying(Directories given) : said(std::move(given)) {}
    Directories own() const override { return said; }
    std::optional<Refusal> refuses(Life, const Directories&) const override { return std::nullopt; }
    void met(Life, const Directories&) override {}

    Directories said;
};

TEST(Handshake, tells_each_which_directory_the_other_has_and_who_founded_its_cluster) {
    const Saying new_one{{7, {}, 5, {}}};
    const Saying old_one{{std::uint64_t{1} << 62, {1, 2, 3}, 6, {{1, 2}, {}, {~0U, ~0ULL}}}};
    Terms connector = terms_of(0), acceptor = terms_of(1);
    connector.founders = &new_one;
    acceptor.founders = &old_one;
    Two two(connector, acceptor);
    two.run();
    ASSERT_EQ(two.connector.state(), State::done);
    EXPECT_EQ(two.connector.directories(), old_one.said);
    EXPECT_EQ(two.acceptor.directories(), new_one.said);
}

TEST(Handshake, says_nothing_but_a_nonce_to_whoever_has_not_proved_to_know_the_secret) {
    const Terms terms = terms_of(1);
    Handshake acceptor(Handshake::Side::acceptor, terms, random_bytes(32), [](Life) { return std::nullopt; });
    EXPECT_EQ(acceptor.begin(), "");
    Handshake stranger(Handshake::Side::connector, terms, random_bytes(32), [](Life) { return std::nullopt; });
    const std::string answer = acceptor.receive(stranger.begin().substr(4));
    EXPECT_EQ(answer.size(), 4 + 2 + 32U) << "its length, a field, the nonce";
    const std::string wrong = "\x12\x20" + std::string(32, 'p');
    const std::string refused = acceptor.receive(wrong);
    EXPECT_EQ(acceptor.state(), State::refused);
    EXPECT_EQ(refused.size(), 4 + 2U) << "its length, the number of the refusal";
}

TEST(Handshake, believes_no_refusal_but_that_of_the_secret_from_who_has_not_proved_to_know_it) {
    const Terms terms = terms_of(1);
    for (const char number : {'\x02', '\x07'}) {
        Handshake acceptor(Handshake::Side::acceptor, terms, random_bytes(32), [](Life) { return std::nullopt; });
        acceptor.receive(std::string("\x28") + number);
        EXPECT_EQ(acceptor.state(), State::broken);
    }
    Handshake connector(Handshake::Side::connector, terms, random_bytes(32), [](Life) { return std::nullopt; });
    connector.receive("\x28\x01");
    EXPECT_EQ(connector.state(), State::refused);
}

TEST(Handshake, with_another_secret_is_refused_by_both_with_the_reason) {
    Terms other = terms_of(0);
    other.secret += "!";
    Two two(other);
    expect_refused(two, Refusal::wrong_secret);
    EXPECT_FALSE(two.acceptor.peer());
}

TEST(Handshake, with_who_does_not_agree_is_refused_by_both_with_the_reason) {
    const auto with = [](auto change) {
        Terms terms = terms_of(0);
        change(terms);
        return terms;
    };
    Two version(with([](Terms& terms) {
        terms.protocol = {.oldest = terms.protocol.newest + 1, .newest = terms.protocol.newest + 2};
    }));
    expect_refused(version, Refusal::other_version);
    Two fewer(with([](Terms& terms) { terms.members.pop_back(); }));
    expect_refused(fewer, Refusal::other_members);
    Two others(with([](Terms& terms) { terms.members[2] = "d"; }));
    expect_refused(others, Refusal::other_members);
    Two ttl(with([](Terms& terms) { terms.longest_ttl += 1ns; }));
    expect_refused(ttl, Refusal::other_longest_ttl);
    Two rho(with([](Terms& terms) { terms.rho = 0.02; }));
    expect_refused(rho, Refusal::other_rho);
    Two itself(terms_of(1), terms_of(1));
    expect_refused(itself, Refusal::unexpected_node);
}

/// Two that speak these versions.
Two speaking(ProtocolVersions connector, ProtocolVersions acceptor) {
    Terms connects = terms_of(0), accepts = terms_of(1);
    connects.protocol = connector;
    accepts.protocol = acceptor;
    return Two{std::move(connects), std::move(accepts)};
}

TEST(Handshake, agrees_on_the_newest_version_that_both_speak) {
    Two same = speaking({2, 5}, {2, 5}), older = speaking({1, 3}, {3, 7}), newer = speaking({4, 9}, {1, 4});
    for (Two* two : {&same, &older, &newer}) {
        two->run();
        ASSERT_EQ(two->connector.state(), State::done);
        ASSERT_EQ(two->acceptor.state(), State::done);
        EXPECT_EQ(two->connector.protocol(), two->acceptor.protocol());
    }
    EXPECT_EQ(same.connector.protocol(), 5U);
    EXPECT_EQ(older.connector.protocol(), 3U);
    EXPECT_EQ(newer.connector.protocol(), 4U);
}

TEST(Handshake, of_two_with_no_common_version_tells_both_which_versions_there_are) {
    Two two = speaking({1, 1}, {2, 3}), reverse = speaking({2, 3}, {1, 1});
    expect_refused(two, Refusal::other_version);
    expect_refused(reverse, Refusal::other_version);
    for (const std::string& why : {two.connector.why_refused(), reverse.acceptor.why_refused()})
        EXPECT_TRUE(why.ends_with("(this node speaks 1, the other 2 to 3)")) << why;
    for (const std::string& why : {two.acceptor.why_refused(), reverse.connector.why_refused()})
        EXPECT_TRUE(why.ends_with("(this node speaks 2 to 3, the other 1)")) << why;
}

TEST(Handshake, cannot_be_brought_to_an_older_version_by_one_in_between) {
    for (const int introduction : {4, 5}) {
        Two two = speaking({1, 2}, {1, 2});
        bool changed = false;
        two.run([&](int number, std::string& body) {
            const std::size_t at = body.find("\x08\x02");  // the newest version
            if (number != introduction || at == std::string::npos) return;
            body[at + 1] = '\x01';
            changed = true;
        });
        ASSERT_TRUE(changed);
        EXPECT_FALSE(two.connector.state() == State::done && two.acceptor.state() == State::done);
    }
}

TEST(Handshake, with_a_life_that_either_side_does_not_admit_is_refused_by_both) {
    Two old;
    old.acceptor_admits = Refusal::old_boot;
    expect_refused(old, Refusal::old_boot);
    Two unexpected;
    unexpected.connector_admits = Refusal::unexpected_node;
    expect_refused(unexpected, Refusal::unexpected_node);
}

TEST(Handshake, in_which_any_bit_was_changed_on_the_way_is_not_finished_by_both) {
    Two unchanged;
    unchanged.run();
    for (int frame = 0; frame < unchanged.frames; ++frame) {
        for (std::size_t at = 0;; ++at) {
            Two two;
            bool changed = false;
            two.run([&](int number, std::string& body) {
                if (number != frame || at >= body.size()) return;
                body[at] = static_cast<char>(body[at] ^ 4);
                changed = true;
            });
            if (!changed) break;
            EXPECT_FALSE(two.connector.state() == State::done && two.acceptor.state() == State::done)
                << "byte " << at << " of frame " << frame;
        }
    }
}

TEST(Handshake, that_was_recorded_cannot_be_played_again) {
    std::vector<std::string> recorded;
    Two two;
    // The acceptor gets frames 0, 2 and 5.
    two.run([&](int, std::string& body) { recorded.push_back(body); });
    ASSERT_EQ(two.acceptor.state(), State::done);
    Handshake again(Handshake::Side::acceptor, two.acceptor_terms, random_bytes(32), [](Life) { return std::nullopt; });
    again.receive(recorded[0]);
    again.receive(recorded[2]);
    ASSERT_EQ(again.state(), State::refused);
    EXPECT_EQ(again.refusal(), Refusal::wrong_secret);
}

TEST(Handshake, with_one_who_sends_our_own_words_back_is_refused) {
    const Terms terms = terms_of(0);
    Handshake connector(Handshake::Side::connector, terms, random_bytes(32), [](Life) { return std::nullopt; });
    const std::string proof = connector.receive(connector.begin().substr(4));
    connector.receive(proof.substr(4));
    ASSERT_EQ(connector.state(), State::refused);
    EXPECT_EQ(connector.refusal(), Refusal::wrong_secret);
}

TEST(Refusals, have_stable_codes) {
    EXPECT_EQ(to_string(Refusal::wrong_secret), "wrong_secret");
    EXPECT_EQ(to_string(Refusal::other_version), "other_version");
    EXPECT_EQ(to_string(Refusal::other_members), "other_members");
    EXPECT_EQ(to_string(Refusal::other_longest_ttl), "other_longest_ttl");
    EXPECT_EQ(to_string(Refusal::other_rho), "other_rho");
    EXPECT_EQ(to_string(Refusal::unexpected_node), "unexpected_node");
    EXPECT_EQ(to_string(Refusal::old_boot), "old_boot");
    EXPECT_FALSE(refusal_of(0));
    EXPECT_FALSE(refusal_of(10));
    EXPECT_EQ(refusal_of(7), Refusal::old_boot);
    EXPECT_EQ(to_string(Refusal::other_directory), "other_directory");
    EXPECT_EQ(to_string(Refusal::old_directory), "old_directory");
}

}  // namespace
}  // namespace holdfast::doors::peer
