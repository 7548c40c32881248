#include "consensus/replicated_log.h"

#include <gtest/gtest.h>

#include "consensus/log_world.h"

namespace holdfast::consensus {
namespace {

// One node, and what is said to it.

constexpr LogBallot old_leader{10, 0};
constexpr LogBallot new_leader{20, 2};

/// Node 1 of three.
class OneOfThree : public testing::Test {
 protected:
    template <class M>
    void hear(store::quorum::NodeIndex from, M message) {
        log_.receive(from, LogMessage{std::move(message)});
    }
    void write() {
        while (disk_.busy())
            disk_.complete(false);
    }
    template <class M>
    std::vector<std::pair<store::quorum::NodeIndex, M>> said() {
        std::vector<std::pair<store::quorum::NodeIndex, M>> found;
        for (const auto& [to, message] : sent_)
            if (const M* one = std::get_if<M>(&message)) found.emplace_back(to, *one);
        return found;
    }

    WorldDisk disk_;
    std::vector<std::pair<store::quorum::NodeIndex, LogMessage>> sent_;
    std::vector<std::pair<LogIndex, std::string>> applied_;
    ReplicatedLog log_{
        {.node = 1,
         .members = 3,
         .disk = disk_,
         .found = {},
         .send = [this](store::quorum::NodeIndex to,
                        LogMessage message) { sent_.emplace_back(to, std::move(message)); },
         .apply = [this](LogIndex index, const std::string& value) { applied_.emplace_back(index, value); },
         .take_snapshot = [] { return std::string("state"); },
         .install = [](const std::string&) {}}};
};
using Applied = std::vector<std::pair<LogIndex, std::string>>;

TEST_F(OneOfThree, promises_only_once_that_is_durable) {
    hear(0, LogPrepare{old_leader, 1});
    EXPECT_TRUE(sent_.empty());
    write();
    ASSERT_EQ(said<LogPromise>().size(), 1U);
    EXPECT_TRUE(said<LogPromise>()[0].second.granted);
}

TEST_F(OneOfThree, acknowledges_entries_only_once_they_are_durable) {
    hear(0, LogAccept{old_leader, 0, {{1, old_leader, "a"}}});
    EXPECT_TRUE(sent_.empty());
    disk_.complete(true);
    for (const auto& [to, accepted] : said<LogAccepted>())
        EXPECT_EQ(accepted.durable_to, 0U);
    sent_.clear();
    log_.advance(Instant{1s});
    write();
    ASSERT_EQ(said<LogAccepted>().size(), 1U);
    EXPECT_EQ(said<LogAccepted>()[0].second.durable_to, 1U);
}

TEST_F(OneOfThree, refuses_lower_ballots) {
    hear(2, LogPrepare{new_leader, 1});
    write();
    sent_.clear();
    hear(0, LogPrepare{old_leader, 1});
    hear(0, LogAccept{old_leader, 1, {{1, old_leader, "a"}}});
    hear(0, LogInstall{old_leader, {5, "state"}});
    ASSERT_EQ(said<LogPromise>().size(), 1U);
    EXPECT_FALSE(said<LogPromise>()[0].second.granted);
    EXPECT_EQ(said<LogPromise>()[0].second.promised, new_leader);
    ASSERT_EQ(said<LogAccepted>().size(), 2U);
    EXPECT_FALSE(said<LogAccepted>()[0].second.granted);
    EXPECT_FALSE(said<LogAccepted>()[1].second.granted);
    EXPECT_TRUE(applied_.empty());
    EXPECT_EQ(log_.committed(), 0U);
    EXPECT_EQ(log_.leader(), 2);
}

TEST_F(OneOfThree, does_not_apply_what_it_accepted_under_an_older_ballot_until_the_leader_sends_it_again) {
    hear(0, LogAccept{old_leader, 0, {{1, old_leader, "a"}}});
    write();
    hear(2, LogAccept{new_leader, 1, {}});
    EXPECT_TRUE(applied_.empty()) << "the leader may have something else in this place";
    ASSERT_EQ(said<LogFetch>().size(), 1U);
    EXPECT_EQ(said<LogFetch>()[0].first, 2);
    EXPECT_EQ(said<LogFetch>()[0].second.from, 1U);
    hear(2, LogAccept{new_leader, 1, {{1, new_leader, "A"}}});
    EXPECT_EQ(applied_, (Applied{{1, "A"}}));
}

TEST_F(OneOfThree, applies_what_it_accepted_under_the_ballot_that_commits_it) {
    hear(0, LogAccept{old_leader, 0, {{1, old_leader, "a"}, {2, old_leader, "b"}}});
    hear(0, LogAccept{old_leader, 1, {}});
    EXPECT_EQ(applied_, (Applied{{1, "a"}}));
    hear(0, LogAccept{old_leader, 9, {}});
    EXPECT_EQ(applied_, (Applied{{1, "a"}, {2, "b"}}));
    EXPECT_EQ(log_.committed(), 2U) << "no further than it has entries";
}

TEST_F(OneOfThree, asks_for_what_lies_before_a_gap_and_keeps_nothing_behind_it) {
    hear(0, LogAccept{old_leader, 0, {{3, old_leader, "c"}}});
    hear(0, LogAccept{old_leader, 0, {{4, old_leader, "d"}}});
    write();
    EXPECT_EQ(said<LogFetch>().size(), 1U) << "once in a while";
    ASSERT_FALSE(said<LogAccepted>().empty());
    EXPECT_EQ(said<LogAccepted>().back().second.durable_to, 0U);
    EXPECT_TRUE(disk_.found().decrees.empty());
}

TEST_F(OneOfThree, tells_a_new_leader_what_it_accepted_and_from_where_it_was_asked) {
    hear(0, LogAccept{old_leader, 1, {{1, old_leader, "a"}, {2, old_leader, "b"}}});
    hear(2, LogPrepare{new_leader, 2});
    write();
    ASSERT_EQ(said<LogPromise>().size(), 1U);
    const LogPromise promise = said<LogPromise>()[0].second;
    EXPECT_EQ(promise.committed, 1U);
    EXPECT_EQ(promise.decrees, (std::vector<LogDecree>{{2, old_leader, "b"}}));
}

TEST_F(OneOfThree, fills_places_that_nobody_knows_with_entries_that_are_not_applied) {
    log_.lead(30);
    write();
    const LogBallot own{30, 1};
    hear(0, LogPromise{own, true, own, 0, {}, {{3, old_leader, "c"}}});
    write();
    EXPECT_FALSE(log_.leads()) << "not before what was there is complete";
    hear(0, LogAccepted{own, true, own, 3});
    EXPECT_TRUE(log_.leads());
    EXPECT_EQ(applied_, (Applied{{3, "c"}}));
    EXPECT_EQ(log_.applied(), 3U);
    EXPECT_EQ(disk_.found().decrees[0].value, "");
}

TEST_F(OneOfThree, does_not_count_its_own_promise_before_it_is_durable) {
    log_.lead(30);
    const LogBallot own{30, 1};
    hear(0, LogPromise{own, true, own, 0, {}, {}});
    EXPECT_FALSE(log_.leads());
    write();
    EXPECT_TRUE(log_.leads());
}

TEST_F(OneOfThree, says_at_once_that_its_disk_refuses_and_what_it_has) {
    hear(0, LogAccept{old_leader, 0, {{1, old_leader, "a"}}});
    write();
    hear(0, LogAccept{old_leader, 0, {{2, old_leader, "b"}}});
    sent_.clear();
    disk_.complete(true);
    ASSERT_EQ(said<LogAccepted>().size(), 1U);
    const LogAccepted refused = said<LogAccepted>()[0].second;
    EXPECT_TRUE(refused.disk_fails);
    EXPECT_EQ(refused.durable_to, 1U);
    log_.advance(Instant{10s});
    write();
    ASSERT_EQ(said<LogAccepted>().size(), 2U) << "it is tried again";
    EXPECT_FALSE(said<LogAccepted>()[1].second.disk_fails);
    EXPECT_EQ(said<LogAccepted>()[1].second.durable_to, 2U);
}

/// Node 1 of three, which leads.
class LeaderOfThree : public OneOfThree {
 protected:
    LeaderOfThree() {
        log_.lead(30);
        write();
        hear(0, LogPromise{own, true, own, 0, {}, {}});
        EXPECT_TRUE(log_.leads());
        log_.append("v", [this](const Result<LogIndex>& at) {
            came_of_it = at ? "done" : std::string(at.error().code.name());
        });
        sent_.clear();
    }

    const LogBallot own{30, 1};
    std::string came_of_it;
};

TEST_F(LeaderOfThree, refuses_at_once_what_no_majority_of_the_disks_takes) {
    hear(0, LogAccepted{own, true, own, 0, true});
    EXPECT_EQ(came_of_it, "") << "two disks may still take it";
    disk_.complete(true);
    EXPECT_EQ(came_of_it, "storage_failed");
    ASSERT_EQ(said<LogAccept>().size(), 2U) << "the others hear it, for those who asked through them";
    EXPECT_TRUE(said<LogAccept>()[0].second.disks_fail);
    log_.append("w", [this](const Result<LogIndex>& at) {
        came_of_it = at ? "done" : "again " + std::string(at.error().code.name());
    });
    EXPECT_EQ(came_of_it, "again storage_failed");
}

TEST_F(LeaderOfThree, commits_again_as_soon_as_a_majority_of_the_disks_is_well) {
    disk_.complete(true);
    hear(0, LogAccepted{own, true, own, 0, true});
    EXPECT_EQ(came_of_it, "storage_failed");
    log_.append("w",
                [this](const Result<LogIndex>& at) { came_of_it = at ? "done" : std::string(at.error().code.name()); });
    hear(0, LogAccepted{own, true, own, 1});
    log_.append("x",
                [this](const Result<LogIndex>& at) { came_of_it = at ? "done" : std::string(at.error().code.name()); });
    hear(0, LogAccepted{own, true, own, 3});
    hear(2, LogAccepted{own, true, own, 3});
    EXPECT_EQ(came_of_it, "done");
    EXPECT_EQ(applied_, (Applied{{1, "v"}, {2, "w"}, {3, "x"}})) << "what was refused comes to be in force";
}

TEST_F(OneOfThree, refuses_what_it_sent_to_a_leader_that_says_that_the_disks_fail) {
    hear(0, LogAccept{old_leader, 0, {}});
    std::string came_of_it;
    log_.append("v",
                [&](const Result<LogIndex>& at) { came_of_it = at ? "done" : std::string(at.error().code.name()); });
    ASSERT_EQ(said<LogSubmit>().size(), 1U);
    hear(0, LogAccept{old_leader, 0, {}});
    EXPECT_EQ(came_of_it, "");
    hear(0, LogAccept{old_leader, 0, {}, true});
    EXPECT_EQ(came_of_it, "storage_failed");
}

TEST_F(OneOfThree, asks_again_those_who_have_not_promised) {
    log_.lead(30);
    EXPECT_EQ(said<LogPrepare>().size(), 2U);
    EXPECT_LE(log_.next_due(), Instant{500ms});
    sent_.clear();
    log_.advance(Instant{500ms});
    EXPECT_EQ(said<LogPrepare>().size(), 2U);
}

TEST_F(OneOfThree, listens_to_nobody_who_is_not_who_he_says) {
    hear(2, LogPrepare{old_leader, 1});
    hear(2, LogAccept{old_leader, 1, {{1, old_leader, "a"}}});
    hear(2, LogInstall{old_leader, {3, "state"}});
    hear(1, LogPrepare{{50, 1}, 1});
    hear(7, LogPrepare{{50, 7}, 1});
    EXPECT_EQ(log_.ballot(), LogBallot{});
    EXPECT_FALSE(disk_.busy());
    EXPECT_TRUE(sent_.empty());
}

TEST_F(OneOfThree, does_not_take_submissions_if_it_does_not_lead) {
    hear(0, LogSubmit{7, "v"});
    ASSERT_EQ(said<LogSubmitted>().size(), 1U);
    EXPECT_EQ(said<LogSubmitted>()[0].second.number, 7U);
    EXPECT_EQ(said<LogSubmitted>()[0].second.index, 0U);
}

}  // namespace
}  // namespace holdfast::consensus
