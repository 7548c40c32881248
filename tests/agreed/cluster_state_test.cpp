#include "agreed/cluster_state.h"

#include <gtest/gtest.h>

#include "consensus/replicated_log.h"
#include "lease/limits.h"

namespace holdfast::agreed {
namespace {

class ClusterStateTest : public testing::Test {
 protected:
    CommandOutcome run(const ClusterCommand& command, std::optional<store::AuditEntry> audit = std::nullopt) {
        ++id_;
        const std::string entry = encode_command({id_, std::move(audit)}, command);
        entries_.push_back(entry);
        state_.apply(++index_, entry);
        EXPECT_EQ(done_.back().first, id_);
        return done_.back().second;
    }
    CommandOutcome change(const lease::Policy& after) {
        return run(PolicyCommand{state_.policy_version(), state_.policy(), after});
    }

    std::uint64_t id_ = 1000;
    consensus::LogIndex index_ = 0;
    std::vector<std::string> entries_;
    std::vector<std::pair<std::uint64_t, CommandOutcome>> done_;
    std::vector<std::string> heard_;
    ClusterState state_{
        {.command_done = [this](std::uint64_t id,
                                const CommandResult& result) { done_.emplace_back(id, result.outcome); },
         .policy_changed = [this](const lease::Policy&) { heard_.push_back("policy"); },
         .auth_changed = [this](const auth::AuthState&) { heard_.push_back("auth"); },
         .agent_changed = [this](const store::SavedAgent& agent,
                                 bool forgotten) { heard_.push_back((forgotten ? "-" : "+") + agent.id); },
         .replaced = [this] { heard_.push_back("replaced"); }}};
};

lease::Policy some_policy() {
    lease::Policy policy;
    policy.ttl_min = 2s;
    policy.ttl_max = 20min;
    policy.ttl_default = 30s;
    policy.reject_above_max = true;
    policy.wait_max = 7s;
    policy.name_pattern = *lease::NamePattern::compile("FILE:.*");
    policy.hold_max = 2h;
    policy.idle_max = 90s;
    policy.leases_per_holder_max = 17;
    policy.bans["eve"] = {"steals", 12345};
    policy.approval = lease::Approval::manual;
    policy.approved = {"anna", "ben"};
    policy.namespaces["team"] = {.ttl_min = 1s,
                                 .ttl_max = 30min,
                                 .ttl_default = 3s,
                                 .reject_above_max = false,
                                 .wait_max = 1s,
                                 .name_pattern = lease::NamePattern{},
                                 .hold_max = 1h,
                                 .idle_max = 0s,
                                 .leases_per_holder_max = 2};
    policy.namespaces["~keys"].ttl_max = 40min;
    policy.name_rules[{"web", "anna"}] = {lease::NameRule::Kind::denied, "not hers", 12346};
    policy.name_rules[{"db", "ben"}] = {lease::NameRule::Kind::reserved, "", 12347};
    return policy;
}

void expect_same(const lease::Policy& one, const lease::Policy& other) {
    EXPECT_EQ(one.ttl_min, other.ttl_min);
    EXPECT_EQ(one.ttl_max, other.ttl_max);
    EXPECT_EQ(one.ttl_default, other.ttl_default);
    EXPECT_EQ(one.reject_above_max, other.reject_above_max);
    EXPECT_EQ(one.wait_max, other.wait_max);
    EXPECT_EQ(one.name_pattern.text(), other.name_pattern.text());
    EXPECT_EQ(one.hold_max, other.hold_max);
    EXPECT_EQ(one.idle_max, other.idle_max);
    EXPECT_EQ(one.leases_per_holder_max, other.leases_per_holder_max);
    ASSERT_EQ(one.namespaces.size(), other.namespaces.size());
    for (const auto& [name, own] : one.namespaces) {
        const lease::NamespacePolicy here = one.of_namespace(name), there = other.of_namespace(name);
        EXPECT_EQ(here.ttl_min(), there.ttl_min());
        EXPECT_EQ(here.ttl_max(), there.ttl_max());
        EXPECT_EQ(here.ttl_default(), there.ttl_default());
        EXPECT_EQ(here.reject_above_max(), there.reject_above_max());
        EXPECT_EQ(here.wait_max(), there.wait_max());
        EXPECT_EQ(here.name_pattern().text(), there.name_pattern().text());
        EXPECT_EQ(here.hold_max(), there.hold_max());
        EXPECT_EQ(here.idle_max(), there.idle_max());
        EXPECT_EQ(here.leases_per_holder_max(), there.leases_per_holder_max());
        for (int i = 0; i <= static_cast<int>(lease::PolicySetting::leases_per_holder_max); ++i)
            EXPECT_EQ(here.sets(static_cast<lease::PolicySetting>(i)), there.sets(static_cast<lease::PolicySetting>(i)))
                << name << ", setting " << i;
    }
    EXPECT_EQ(one.approval, other.approval);
    EXPECT_EQ(one.approved, other.approved);
    EXPECT_EQ(one.name_rules, other.name_rules);
    ASSERT_EQ(one.bans.size(), other.bans.size());
    for (const auto& [holder, ban] : one.bans) {
        ASSERT_TRUE(other.bans.contains(holder));
        EXPECT_EQ(other.bans.find(holder)->second.reason, ban.reason);
        EXPECT_EQ(other.bans.find(holder)->second.since_wall_ms, ban.since_wall_ms);
    }
}

TEST_F(ClusterStateTest, carries_a_policy_with_all_its_settings) {
    EXPECT_EQ(change(some_policy()), CommandOutcome::applied);
    expect_same(state_.policy(), some_policy());
    EXPECT_EQ(state_.policy_version(), 1U);
    EXPECT_EQ(heard_, std::vector<std::string>{"policy"});
}

TEST_F(ClusterStateTest, a_change_made_from_an_older_policy_has_no_effect) {
    lease::Policy first = state_.policy();
    first.bans["eve"] = {"steals", 1};
    lease::Policy second = state_.policy();
    second.ttl_max = 1h;
    const lease::Policy before = state_.policy();
    EXPECT_EQ(run(PolicyCommand{0, before, first}), CommandOutcome::applied);
    EXPECT_EQ(run(PolicyCommand{0, before, second}), CommandOutcome::conflict);
    EXPECT_EQ(state_.policy().ttl_max, 5min);
    EXPECT_TRUE(state_.policy().bans.contains("eve"));
}

TEST_F(ClusterStateTest, a_change_that_is_appended_twice_takes_effect_once) {
    change(some_policy());
    const std::string again = entries_.back();
    state_.apply(++index_, again);
    EXPECT_EQ(done_.back(), (std::pair{id_, CommandOutcome::conflict}));
    EXPECT_EQ(state_.policy_version(), 1U);
}

TEST_F(ClusterStateTest, only_the_difference_of_a_policy_travels) {
    lease::Policy many = state_.policy();
    for (int i = 0; i < 1000; ++i)
        many.bans["holder-" + std::to_string(i)] = {"because", i};
    change(many);
    lease::Policy one_less = many;
    one_less.bans.erase("holder-7");
    EXPECT_EQ(change(one_less), CommandOutcome::applied);
    EXPECT_LT(entries_.back().size(), 100U);
    EXPECT_EQ(state_.policy().bans.size(), 999U);
}

TEST_F(ClusterStateTest, a_policy_that_contradicts_itself_is_refused_everywhere) {
    lease::Policy wrong = state_.policy();
    wrong.ttl_min = 1h;
    EXPECT_EQ(change(wrong), CommandOutcome::refused);
    EXPECT_EQ(state_.policy_version(), 0U);
}

TEST_F(ClusterStateTest, keeps_agents_and_never_goes_back_to_an_older_life) {
    EXPECT_EQ(run(store::SavedAgent{"anna", 5, 2, false}), CommandOutcome::applied);
    EXPECT_EQ(run(store::SavedAgent{"anna", 5, 1, false}), CommandOutcome::conflict);
    EXPECT_EQ(run(store::SavedAgent{"anna", 5, 2, true}), CommandOutcome::applied);
    EXPECT_EQ(state_.agents().at("anna"), (store::SavedAgent{"anna", 5, 2, true}));
    EXPECT_EQ(run(store::ForgottenAgent{"anna"}), CommandOutcome::applied);
    EXPECT_EQ(run(store::ForgottenAgent{"anna"}), CommandOutcome::applied) << "it is not there either";
    EXPECT_TRUE(state_.agents().empty());
    EXPECT_EQ(heard_, (std::vector<std::string>{"+anna", "+anna", "-anna"}));
    EXPECT_EQ(run(store::SavedAgent{"", 5, 1, false}), CommandOutcome::refused);
    EXPECT_EQ(run(store::SavedAgent{"bert", 5, 0, false}), CommandOutcome::refused);
}

TEST_F(ClusterStateTest, remembers_what_the_cluster_was_made_of) {
    const std::vector<std::string> members{"a=one:7402", "b=two:7402", "c=three:7402"};
    EXPECT_TRUE(state_.check_members(members));
    EXPECT_EQ(run(MembersCommand{members}), CommandOutcome::applied);
    EXPECT_EQ(run(MembersCommand{members}), CommandOutcome::applied);
    EXPECT_EQ(run(MembersCommand{{"a=one:7402"}}), CommandOutcome::conflict);
    EXPECT_EQ(state_.members(), members);
    EXPECT_TRUE(state_.check_members(members));
    const auto differ = state_.check_members({"a=one:7402"});
    ASSERT_FALSE(differ);
    EXPECT_EQ(differ.error().code, Code::members_differ);
    EXPECT_NE(differ.error().message.find("c=three:7402"), std::string::npos);
}

TEST_F(ClusterStateTest, keeps_the_audit_of_what_took_effect) {
    const store::AuditEntry done{"admin", 77, "ban eve"};
    run(PolicyCommand{0, lease::Policy{}, some_policy()}, done);
    run(PolicyCommand{0, lease::Policy{}, some_policy()}, store::AuditEntry{"admin", 78, "too late"});
    run(store::OnlyAudited{}, store::AuditEntry{"admin", 79, "revoke x#1"});
    ASSERT_EQ(state_.audit().size(), 2U);
    EXPECT_EQ(state_.audit()[0], done);
    EXPECT_EQ(state_.audit()[1].what, "revoke x#1");
}

TEST_F(ClusterStateTest, the_oldest_of_the_audit_make_room) {
    for (std::size_t i = 0; i <= ClusterState::max_audit; ++i)
        run(store::OnlyAudited{}, store::AuditEntry{"admin", static_cast<std::int64_t>(i), "x"});
    EXPECT_EQ(state_.audit().size(), ClusterState::max_audit);
    EXPECT_EQ(state_.audit().front().at_wall_ms, 1);
    for (int i = 0; i < 2000; ++i)
        run(store::OnlyAudited{}, store::AuditEntry{"admin", i, std::string(5000, 'x')});
    EXPECT_LT(state_.audit().size(), 2000U);
    EXPECT_EQ(state_.audit().back().what.size(), ClusterState::max_audit_text_bytes);
}

TEST_F(ClusterStateTest, a_snapshot_makes_the_same_state_elsewhere) {
    change(some_policy());
    run(store::SavedAgent{"anna", -5, 2, true}, store::AuditEntry{"admin", 1, "x"});
    run(MembersCommand{{"a=one:1"}});
    ClusterState other({});
    ASSERT_TRUE(other.install(state_.snapshot()));
    EXPECT_EQ(other.snapshot(), state_.snapshot());
    expect_same(other.policy(), state_.policy());
    EXPECT_EQ(other.policy_version(), 1U);
    EXPECT_EQ(other.agents(), state_.agents());
    EXPECT_EQ(other.members(), state_.members());
    EXPECT_EQ(other.audit(), state_.audit());
}

TEST_F(ClusterStateTest, the_same_entries_make_the_same_state_with_a_snapshot_in_between_or_without) {
    change(some_policy());
    run(store::SavedAgent{"anna", 5, 2, false});
    ClusterState other({});
    ASSERT_TRUE(other.install(state_.snapshot()));
    const std::size_t before = entries_.size();
    lease::Policy later = state_.policy();
    later.bans.clear();
    change(later);
    run(store::SavedAgent{"bert", 6, 1, false}, store::AuditEntry{"bert", 3, "came"});
    for (std::size_t i = before; i < entries_.size(); ++i)
        other.apply(i + 1, entries_[i]);
    EXPECT_EQ(other.snapshot(), state_.snapshot());
}

TEST_F(ClusterStateTest, a_damaged_snapshot_changes_nothing) {
    change(some_policy());
    const std::string before = state_.snapshot();
    const auto installed = state_.install("\xff\xff no snapshot");
    ASSERT_FALSE(installed);
    EXPECT_EQ(installed.error().code, Code::state_corrupt);
    EXPECT_EQ(state_.snapshot(), before);
    EXPECT_TRUE(state_.install(before));
    EXPECT_EQ(heard_.back(), "replaced");
}

TEST_F(ClusterStateTest, an_entry_of_a_newer_version_is_trouble) {
    EXPECT_FALSE(state_.trouble());
    state_.apply(1, std::string("\x08\x07\xa2\x06\x00", 5));  // id 7, and a kind of command that nobody knows
    ASSERT_TRUE(state_.trouble());
    EXPECT_EQ(state_.trouble()->code, Code::state_too_new);
    EXPECT_EQ(done_.back(), (std::pair{std::uint64_t{7}, CommandOutcome::refused}));
}

TEST_F(ClusterStateTest, is_never_larger_than_a_snapshot_may_be) {
    lease::Policy large = state_.policy();
    const std::string reason(lease::limits::reason_bytes, 'r');
    CommandOutcome outcome = CommandOutcome::applied;
    for (int i = 0; outcome == CommandOutcome::applied; ++i) {
        for (int j = 0; j < 100; ++j)
            large.bans["holder-" + std::to_string(i) + '-' + std::to_string(j)] = {reason, j};
        outcome = change(large);
        ASSERT_LT(i, 1000);
    }
    EXPECT_EQ(outcome, CommandOutcome::refused);
    EXPECT_GT(state_.policy().bans.size(), 4000U);
    const std::string id(lease::limits::holder_bytes - 10, 'a');
    for (int i = 0; i < 30'000; ++i)
        run(store::SavedAgent{id + std::to_string(i), i, 1, false}, store::AuditEntry{id, i, reason});
    EXPECT_EQ(done_.back().second, CommandOutcome::refused);
    EXPECT_LT(state_.snapshot().size(), consensus::ReplicatedLog::max_snapshot_bytes);
}

}  // namespace
}  // namespace holdfast::agreed
