#include "sim/log_checker.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

/// Two nodes' logs, as the checker is told of them.
class WatchedLogs : public ::testing::Test {
 protected:
    static std::string entry(const std::string& holder, std::uint64_t version, const std::string& mark = "") {
        lease::Policy banned;
        banned.bans[holder] = {};
        const lease::Policy before;
        return agreed::encode_command({version + 1, store::AuditEntry{mark, 0, "ban"}},
                                      agreed::PolicyCommand{version, before, banned});
    }

    void apply(unsigned node, consensus::LogIndex index, const std::string& value) {
        states[node].apply(index, value);
        applied[node] = index;
        checker.applied(node, index, value);
    }
    void stand(unsigned node, agreed::ConsensusLog::Status status = {}) {
        status.applied = applied[node];
        checker.stands(node, status, states[node], states[node].policy());
    }
    agreed::ConsensusLog::Status leading(unsigned node, lease::Token term, consensus::LogIndex committed) {
        agreed::ConsensusLog::Status status;
        status.leads = true;
        status.leader = static_cast<store::quorum::NodeIndex>(node);
        status.ballot = {term, static_cast<store::quorum::NodeIndex>(node)};
        status.committed = committed;
        return status;
    }

    std::string rule;
    LogChecker checker{2, [this](const std::string& broken, const std::string&) { rule = broken; }};
    std::array<agreed::ClusterState, 2> states{agreed::ClusterState{{}}, agreed::ClusterState{{}}};
    std::array<consensus::LogIndex, 2> applied{};
};

TEST_F(WatchedLogs, that_agree_are_fine_and_are_counted) {
    for (unsigned node = 0; node < 2; ++node) {
        apply(node, 1, entry("x", 0, "m1;"));
        apply(node, 2, entry("y", 1, "m2;"));
        stand(node);
    }
    checker.acknowledged("m1;");
    checker.check_audit(states[0]);
    EXPECT_EQ(rule, "");
    EXPECT_EQ(checker.counts().entries, 2U);
    EXPECT_EQ(checker.highest(), 2U);
}

TEST_F(WatchedLogs, fork_if_two_have_different_entries_at_one_place) {
    apply(0, 1, entry("x", 0));
    apply(1, 1, entry("y", 0));
    EXPECT_EQ(rule, "L1");
}

TEST_F(WatchedLogs, fork_if_one_has_an_entry_that_others_had_passed_by) {
    apply(0, 1, entry("x", 0));
    apply(0, 3, entry("y", 1));
    apply(1, 1, entry("x", 0));
    apply(1, 2, entry("z", 1));
    EXPECT_EQ(rule, "L1");
}

TEST_F(WatchedLogs, may_be_applied_once_more_by_a_new_life_only) {
    apply(0, 1, entry("x", 0));
    checker.starts(0);
    apply(0, 1, entry("x", 0));
    EXPECT_EQ(rule, "");
    apply(0, 1, entry("x", 0));
    EXPECT_EQ(rule, "L1");
}

TEST_F(WatchedLogs, must_have_made_the_same_of_the_same_entries) {
    apply(0, 1, entry("x", 0));
    stand(0);
    states[1].apply(1, entry("y", 0));  // as a wrong snapshot would
    applied[1] = 1;
    stand(1);
    EXPECT_EQ(rule, "L3");
}

TEST_F(WatchedLogs, must_be_enforced) {
    const std::vector<std::string> members{"a", "b"};
    apply(0, 1, agreed::encode_command({1, {}}, agreed::MembersCommand{members}));
    apply(0, 2, entry("x", 0));
    agreed::ConsensusLog::Status status;
    status.applied = 2;
    checker.stands(0, status, states[0], lease::Policy{});
    EXPECT_EQ(rule, "L3");
}

TEST_F(WatchedLogs, are_complete_with_whoever_leads) {
    apply(0, 1, entry("x", 0));
    stand(0);
    stand(1, leading(1, 7, 0));
    EXPECT_EQ(rule, "L1") << "it leads without what was applied before";
}

TEST_F(WatchedLogs, have_one_leader_in_a_term) {
    stand(0, leading(0, 7, 0));
    EXPECT_EQ(checker.counts().leaders, 1U);
    agreed::ConsensusLog::Status other = leading(1, 7, 0);
    stand(1, other);
    EXPECT_EQ(rule, "L1");
}

TEST_F(WatchedLogs, have_what_was_acknowledged_and_have_it_once) {
    checker.acknowledged("m1;");
    EXPECT_EQ(rule, "L1");
    rule.clear();
    apply(0, 1, entry("x", 0, "m2;"));
    apply(0, 2, entry("y", 1, "m2;"));
    checker.acknowledged("m2;");
    EXPECT_EQ(rule, "");
    checker.check_audit(states[0]);
    EXPECT_EQ(rule, "L3");
}

}  // namespace
}  // namespace holdfast::sim
