#include <gtest/gtest.h>
#include <map>

#include "statefile/scratch_dir.h"
#include "statefile/state_db.h"

namespace holdfast::statefile {
namespace {

constexpr Instant noon{100'000s};

struct Register {
    lease::Record record;
    store::quorum::RegisterBallots ballots;

    bool operator==(const Register&) const = default;
};
using Registers = std::map<std::string, Register>;

const StateOwner node_a{.node = "a", .members = "a,b,c", .longest_ttl = 5min};

/// The state file of one node over several lives.
class StateDbNodeTest : public testing::Test {
 protected:
    Result<std::unique_ptr<StateDb>> open(const StateOwner& owner, ClockReading clock = {"boot", noon}) {
        return StateDb::open(scratch_.file("state.db"), std::move(clock), owner);
    }

    /// A life that begins; what it took up is in taken_up_.
    std::unique_ptr<StateDb> begin(const StateOwner& owner = node_a, ClockReading clock = {"boot", noon}) {
        auto db = open(owner, std::move(clock));
        EXPECT_TRUE(db) << db.error().message;
        taken_up_.clear();
        const auto begun = (*db)->begin(
            [&](std::string_view resource, const lease::Record& record, const store::quorum::RegisterBallots& ballots) {
                taken_up_.emplace(resource, Register{record, ballots});
            });
        EXPECT_TRUE(begun) << begun.error().message;
        longest_ttl_ = begun ? *begun : Duration{};
        return std::move(*db);
    }

    static void stop(StateDb& db, Instant at, const Registers& registers, const AcceptorMarks& marks = {},
                     Instant recovering_until = {}) {
        const auto stopped = db.stop_cleanly(
            {"boot", at}, recovering_until,
            [&](const StateDb::TakeUp& save) {
                for (const auto& [resource, found] : registers)
                    save(resource, found.record, found.ballots);
            },
            marks);
        ASSERT_TRUE(stopped) << stopped.error().message;
    }

    std::string refusal_of(const StateOwner& owner) {
        const auto opened = open(owner);
        return opened ? "accepted" : std::string(opened.error().code.name()) + ": " + opened.error().message;
    }

    ScratchDir scratch_;
    Registers taken_up_;
    Duration longest_ttl_{};
};

lease::Record held_until(Instant end) {
    lease::Record record;
    lease::Lease& lease = record.leases.emplace_back();
    lease.token = 41;
    lease.ttl = 60s;
    lease.acquired_at = lease.held_since = end - 60s;
    lease.expires_at = end;
    lease.holder = "alice";
    return record;
}

TEST_F(StateDbNodeTest, has_a_number_that_no_other_has_and_remembers_who_founded_the_cluster) {
    auto db = begin();
    const std::uint64_t directory = db->found().directory;
    EXPECT_NE(directory, 0U);
    EXPECT_TRUE(db->found().founders.empty());
    ASSERT_TRUE(db->save_founders({directory, 7, std::uint64_t{1} << 62}));
    db.reset();  // killed
    db = begin();
    EXPECT_EQ(db->found().directory, directory);
    EXPECT_EQ(db->found().founders, (std::vector<std::uint64_t>{directory, 7, std::uint64_t{1} << 62}));
    const ScratchDir elsewhere;
    const auto other = StateDb::open(elsewhere.file("state.db"), {"boot", noon}, node_a);
    ASSERT_TRUE(other);
    EXPECT_NE((*other)->found().directory, directory);
}

TEST_F(StateDbNodeTest, every_start_that_began_has_a_higher_boot_number) {  // Q2
    EXPECT_EQ((*open(node_a))->found().boot, 1U);
    EXPECT_EQ((*open(node_a))->found().boot, 1U) << "it never began";
    EXPECT_EQ(begin()->found().boot, 1U);
    auto db = begin();
    EXPECT_EQ(db->found().boot, 2U) << "after an unclean stop";
    stop(*db, noon, {});
    db = nullptr;
    EXPECT_EQ(begin()->found().boot, 3U) << "after a clean one";
}

TEST_F(StateDbNodeTest, a_clean_stop_hands_every_register_over_with_its_ballots) {  // Q10
    lease::Record waited_for = held_until(noon + 20s);
    waited_for.waiters.push_back(
        {.id = 7, .priority = -3, .agent = true, .until = noon + 30s, .holder = "b", .session = "s"});
    const Registers registers{
        {"held", {waited_for, {{9, 2, 1}, {8, 2, 1}}}},
        {"empty", {{}, {{~std::uint64_t{0} >> 1, ~store::quorum::BootNumber{0}, 255}, {3, 1, 2}}}}};
    const AcceptorMarks marks{99, 77, {55, ~store::quorum::BootNumber{0}, 255}};
    stop(*begin(), noon, registers, marks);
    const auto db = begin(node_a, {"boot", noon + 1s});
    EXPECT_EQ(taken_up_, registers);
    EXPECT_EQ(db->found().marks.highest_token, 99U);
    EXPECT_EQ(db->found().marks.highest_counter, 77U);
    EXPECT_EQ(db->found().marks.forgotten, marks.forgotten);
    EXPECT_LE(db->found().recovering_until, noon + 1s);
}

TEST_F(StateDbNodeTest, after_a_reboot_a_waiter_has_what_was_left_of_its_wait) {
    lease::Record record;
    record.waiters.push_back({.id = 7, .until = noon + 30s, .holder = "bob", .session = ""});
    stop(*begin(), noon, {{"r", {record, {}}}});
    begin(node_a, {"another boot", Instant{5s}});
    ASSERT_EQ(taken_up_.at("r").record.waiters.size(), 1U);
    EXPECT_EQ(taken_up_.at("r").record.waiters[0].until, Instant{35s});
}

TEST_F(StateDbNodeTest, nothing_is_known_of_an_acceptor_after_an_unclean_stop) {
    stop(*begin(), noon, {{"r", {held_until(noon + 20s), {{9, 2, 1}, {8, 2, 1}}}}}, {99, 77, {55, 1, 1}});
    begin();
    const auto db = begin();
    EXPECT_EQ(db->found().last_stop, LastStop::unclean);
    EXPECT_TRUE(taken_up_.empty());
    EXPECT_EQ(db->found().marks.highest_token, 0U);
    EXPECT_EQ(db->found().marks.forgotten, store::quorum::Ballot{});
}

TEST_F(StateDbNodeTest, waits_for_what_any_member_may_have_granted_even_if_members_agree_on_less_now) {  // Q10
    auto db = begin();
    ASSERT_TRUE(db->save_ttl_max(2s));
    EXPECT_EQ(longest_ttl_, 5min);
    db = nullptr;
    StateOwner shorter = node_a;
    shorter.longest_ttl = 10s;
    EXPECT_EQ((*open(shorter))->found().recovering_until, noon + 5min);
}

TEST_F(StateDbNodeTest, a_silence_that_a_clean_stop_cuts_in_two_goes_on) {
    stop(*begin(), noon, {}, {}, noon + 40s);
    EXPECT_EQ((*open(node_a, {"boot", noon + 10s}))->found().recovering_until, noon + 40s);
}

TEST_F(StateDbNodeTest, belongs_to_whoever_began_with_it) {
    const StateOwner alone;
    const StateOwner node_b{.node = "b", .members = "a,b,c", .longest_ttl = 5min};
    const StateOwner of_five{.node = "a", .members = "a,b,c,d,e", .longest_ttl = 5min};
    EXPECT_EQ(refusal_of(alone), "accepted");
    EXPECT_EQ(refusal_of(node_b), "accepted") << "nobody has begun with it";
    begin();
    EXPECT_EQ(refusal_of(node_a), "accepted");
    for (const StateOwner& other : {alone, node_b, of_five}) {
        const std::string refusal = refusal_of(other);
        EXPECT_TRUE(refusal.starts_with("other_owner: ")) << refusal;
        EXPECT_NE(refusal.find("node a of the cluster of a,b,c"), std::string::npos) << refusal;
        EXPECT_NE(refusal.find("--state-dir"), std::string::npos) << refusal;
    }
}

TEST_F(StateDbNodeTest, the_state_of_a_server_alone_is_no_state_of_a_node) {
    begin(StateOwner{});
    EXPECT_EQ(refusal_of(StateOwner{}), "accepted");
    EXPECT_NE(refusal_of(node_a).find("a server that is alone"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::statefile
