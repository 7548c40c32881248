#include "agreed/agreement.h"

#include <gtest/gtest.h>

#include "agreed/cluster_state.h"
#include "agreed/nodes.h"
#include "base/random.h"
#include "server/open_log.h"

namespace holdfast::agreed {
namespace {

std::optional<Code> refusal(Nodes& nodes, std::size_t node, const std::string& holder, const std::string& resource) {
    return refusal_of(nodes.acquire(node, authority::Desk::request(holder, {{resource}})));
}

TEST(Agreement, enforces_a_change_made_through_one_node_on_all) {  // L3
    Nodes nodes(3);
    nodes.leader();
    ASSERT_TRUE(nodes.ban(1, "mallory"));
    authority::PolicyChange change;
    change.name_pattern = "app/.*";
    ASSERT_FALSE(refusal_of(nodes.change(2, change)));
    for (std::size_t node = 0; node < 3; ++node) {
        ASSERT_TRUE(nodes.until([&] { return nodes.at(node).policy().name_pattern.text() == "app/.*"; }));
        EXPECT_EQ(refusal(nodes, node, "mallory", "app/" + std::to_string(node)), Code::banned);
        EXPECT_EQ(refusal(nodes, node, "alice", "other"), Code::name_refused);
        EXPECT_EQ(refusal(nodes, node, "alice", "app/of" + std::to_string(node)), std::nullopt);
    }
    EXPECT_TRUE(nodes.failures.empty());
}

TEST(Agreement, lets_two_changes_at_once_through_two_nodes_both_take_effect) {
    Nodes nodes(3);
    nodes.leader();
    int done = 0;
    std::vector<std::string> banned;
    for (std::size_t i = 0; i < 12; ++i) {
        const auto count = [&](const authority::Answer<lease::Ban>& answer) { done += refusal_of(answer) ? 0 : 1; };
        banned.push_back("holder-" + std::to_string(i));
        nodes.at(i % 3).ban(banned.back(), {"", 1}, count);
    }
    authority::PolicyChange change;
    change.ttl_min = 3s;
    nodes.at(0).change_policy(
        change, [&](const authority::Answer<lease::Policy>& answer) { done += refusal_of(answer) ? 0 : 1; });
    ASSERT_TRUE(nodes.until([&] { return done == 13; })) << done;
    nodes.pass(2s);
    for (std::size_t node = 0; node < 3; ++node) {
        EXPECT_EQ(nodes.at(node).policy().ttl_min, 3s);
        for (const std::string& holder : banned)
            EXPECT_TRUE(nodes.at(node).policy().bans.contains(holder)) << holder << " on " << node;
    }
}

TEST(Agreement, refuses_a_change_as_unavailable_while_no_majority_is_there) {
    Nodes nodes(3);
    const std::size_t leader = nodes.leader();
    for (std::size_t node = 0; node < 3; ++node)
        nodes.cut_off(node);
    authority::PolicyChange change;
    change.ttl_min = 3s;
    for (std::size_t node = 0; node < 3; ++node) {
        EXPECT_EQ(refusal_of(nodes.change(node, change)), Code::unavailable) << (node == leader);
        EXPECT_EQ(nodes.at(node).policy().ttl_min, 1s);
    }
    for (std::size_t node = 0; node < 3; ++node)
        nodes.cut_off(node, false);
    nodes.leader();
    EXPECT_FALSE(refusal_of(nodes.change(0, change)));
    EXPECT_EQ(nodes.at(0).policy().ttl_min, 3s);
}

TEST(Agreement, finds_another_leader_when_the_first_is_cut_off_which_follows_once_it_is_back) {  // L1
    Nodes nodes(3);
    const std::size_t first = nodes.leader();
    // Neither the name of the lease nor its TTL would pass what is set here.
    authority::PolicyChange change;
    change.name_pattern = "app/.*";
    change.ttl_min = 30s;
    change.leases_per_holder_max = 1;
    ASSERT_FALSE(refusal_of(nodes.change(first, change)));
    ASSERT_TRUE(nodes.ban(first, std::string(1, static_cast<char>('a' + (first + 1) % 3))));
    nodes.cut_off(first);
    ASSERT_TRUE(nodes.until([&] { return !nodes.log(first).status().leads; })) << "it ceases by its own clock";
    const std::size_t second = nodes.leader();
    ASSERT_NE(second, first);
    ASSERT_TRUE(nodes.ban(second, "mallory"));
    EXPECT_FALSE(nodes.at(first).policy().bans.contains("mallory"));
    nodes.cut_off(first, false);
    EXPECT_TRUE(nodes.until([&] { return nodes.at(first).policy().bans.contains("mallory"); }));
    EXPECT_EQ(nodes.log(first).status().leader, nodes.log(second).status().leader);
    std::optional<store::ListPage> page;
    nodes.at(second).list({.name_space = {}, .prefix = "leader:", .holder = {}},
                          [&](authority::Answer<store::ListPage> found) { page = std::get<store::ListPage>(found); });
    ASSERT_TRUE(page && page->leases.size() == 1);
    EXPECT_EQ(page->leases[0].lease.holder, std::string(1, static_cast<char>('a' + second)));
}

TEST(Agreement, knows_on_all_nodes_the_agents_that_registered_through_one) {  // G5
    Nodes nodes(3);
    nodes.leader();
    ASSERT_FALSE(refusal_of(nodes.put_agent(0, {.caller = {}, .id = "worker", .priority = 7, .epoch = 1})));
    for (std::size_t node = 0; node < 3; ++node)
        ASSERT_TRUE(nodes.until([&] { return nodes.at(node).is_agent("worker"); }));

    // A request of its first life waits on one node; its second life is seen by another.
    const auto held = nodes.acquire(1, authority::Desk::request("other", {{"r"}}));
    ASSERT_TRUE(std::holds_alternative<authority::AcquireGranted>(held));
    std::optional<authority::AcquireAnswer> waited;
    authority::AcquireRequest waits = authority::Desk::request("worker", {{"r"}}, 60s);
    waits.epoch = 1;
    nodes.at(2).acquire(std::move(waits), [&](authority::AcquireAnswer answer) { waited = std::move(answer); });
    nodes.pass(100ms);
    ASSERT_FALSE(waited);
    authority::AcquireRequest newer = authority::Desk::request("worker", {{"s"}});
    newer.epoch = 2;
    ASSERT_TRUE(std::holds_alternative<authority::AcquireGranted>(nodes.acquire(0, std::move(newer))));
    ASSERT_TRUE(nodes.until([&] { return waited.has_value(); }));
    EXPECT_EQ(refusal_of(*waited), Code::stale_epoch);
    authority::AcquireRequest older = authority::Desk::request("worker", {{"t"}});
    older.epoch = 1;
    EXPECT_EQ(refusal_of(nodes.acquire(1, std::move(older))), Code::stale_epoch);
}

TEST(Agreement, forgets_an_agent_on_all_nodes) {
    Nodes nodes(3);
    nodes.leader();
    ASSERT_FALSE(refusal_of(nodes.put_agent(0, {.caller = {}, .id = "worker", .priority = 7, .epoch = {}})));
    std::optional<authority::Answer<bool>> forgotten;
    ASSERT_TRUE(nodes.until([&] { return nodes.at(1).is_agent("worker"); }));
    nodes.at(1).forget_agent("worker", [&](authority::Answer<bool> answer) { forgotten = std::move(answer); });
    ASSERT_TRUE(nodes.until([&] { return forgotten.has_value(); }));
    EXPECT_EQ(std::get<bool>(*forgotten), true);
    for (std::size_t node = 0; node < 3; ++node)
        EXPECT_TRUE(nodes.until([&] { return !nodes.at(node).is_agent("worker"); }));
}

TEST(Agreement, tells_on_every_node_who_did_what) {
    Nodes nodes(3);
    nodes.leader();
    authority::PolicyChange change;
    change.ttl_max = 2min;
    ASSERT_FALSE(refusal_of(nodes.change(0, change)));
    const auto granted = nodes.acquire(0, authority::Desk::request("alice", {{"r"}}));
    const lease::Token token = std::get<authority::AcquireGranted>(granted).leases.at(0).lease.token;
    nodes.at(1).revoke({"r", token}, [](const authority::Answer<lease::Lease>&) {}, {.address = "192.0.2.2:5"});
    for (std::size_t node = 0; node < 3; ++node) {
        ASSERT_TRUE(nodes.until([&] { return nodes.at(node).audit(0, 10).lines.size() == 2; }));
        const store::AuditPage page = nodes.at(node).audit(0, 10);
        EXPECT_EQ(page.lines[0].entry.who, "192.0.2.1:77");
        EXPECT_EQ(page.lines[0].entry.what, "change policy: ttl_max=2m00s");
        EXPECT_EQ(page.lines[1].entry.who, "192.0.2.2:5");
        EXPECT_EQ(page.lines[1].entry.what, "revoke r (token " + std::to_string(token) + ") of alice");
        EXPECT_TRUE(nodes.at(node).audit(0, 1).more);
        EXPECT_EQ(nodes.at(node).audit(1, 10).lines.at(0).number, 2U);
    }
}

TEST(Agreement, brings_a_node_up_to_date_that_was_away_for_longer_than_the_log_is_kept) {
    Nodes nodes(3);
    const std::size_t away = (nodes.leader() + 1) % 3;
    const std::size_t there = (away + 1) % 3;
    ASSERT_FALSE(refusal_of(nodes.put_agent(there, {.caller = {}, .id = "early", .priority = 7, .epoch = {}})));
    ASSERT_TRUE(nodes.until([&] { return nodes.at(away).is_agent("early"); }));
    nodes.cut_off(away);
    const std::size_t leader = nodes.leader();
    ASSERT_TRUE(nodes.ban(leader, "mallory"));
    ASSERT_FALSE(refusal_of(nodes.put_agent(leader, {.caller = {}, .id = "late", .priority = 8, .epoch = {}})));
    std::optional<authority::Answer<bool>> forgotten;
    nodes.at(leader).forget_agent("early", [&](authority::Answer<bool> answer) { forgotten = std::move(answer); });
    for (int i = 0; i < 1200; ++i) {
        nodes.agreement(leader).submit(store::OnlyAudited{}, store::AuditEntry{"somebody", i, "something"},
                                       [](const Result<void>&) {});
        if (i % 200 == 0) nodes.pass(20ms);
    }
    ASSERT_TRUE(nodes.until([&] { return nodes.log(leader).status().committed > 1200; }));
    nodes.cut_off(away, false);
    EXPECT_TRUE(nodes.until([&] { return nodes.at(away).policy().bans.contains("mallory"); }));
    EXPECT_TRUE(nodes.until([&] { return nodes.at(away).is_agent("late"); }));
    EXPECT_FALSE(nodes.at(away).is_agent("early"));
}

/// Never done with anything.
class StalledDisk final : public consensus::LogDisk {
 public:
    void write(consensus::LogWrite, Callback<Result<void>> done) override { held_.push_back(std::move(done)); }

 private:
    std::vector<Callback<Result<void>>> held_;
};

TEST(Agreement, does_not_make_a_change_twice_that_it_finds_in_a_snapshot) {  // L3
    const std::vector<std::string> members{"a=localhost:1", "b=localhost:2", "c=localhost:3"};
    ClusterState leader({});
    leader.apply(1, encode_command({1, {}}, MembersCommand{members}));
    authority::TestLocalDurable local;
    std::vector<consensus::LogMessage> sent;
    Agreement agreement({.disk = &local, .founding = Founding{{}, members}, .first_id = 1});
    ConsensusLog log({.machine = agreement.machine(),
                      .node = 0,
                      .members = members,
                      .disk = std::make_unique<StalledDisk>(),
                      .found = {{}, 1, consensus::LogSnapshot{1, leader.snapshot()}, {}},
                      .send = [&](store::quorum::NodeIndex, consensus::LogMessage message) { sent.push_back(message); },
                      .seed = 1});
    ASSERT_TRUE(agreement.begin(log));
    const consensus::LogBallot ballot{5, 1};
    agreement.advance(Instant{1000s});
    log.receive(1, consensus::LogAccept{ballot, 1, {}});
    lease::Policy changed;
    changed.bans["mallory"] = {};
    std::optional<Result<void>> told;
    agreement.submit(changed, store::AuditEntry{"admin", 7, "ban mallory"},
                     [&](Result<void> outcome) { told = outcome; });
    const auto* submitted = sent.empty() ? nullptr : std::get_if<consensus::LogSubmit>(&sent.back());
    ASSERT_NE(submitted, nullptr);
    leader.apply(2, submitted->value);
    EXPECT_EQ(leader.audit().size(), 1U);
    log.receive(1, consensus::LogInstall{ballot, {2, leader.snapshot()}});
    log.receive(1, consensus::LogSubmitted{submitted->number, 2});
    ASSERT_TRUE(told);
    EXPECT_TRUE(*told) << "it would be made, and audited, once more: " << told->error().message;
}

lease::Policy to_begin_with() {
    lease::Policy policy;
    policy.ttl_max = 7min;
    policy.wait_max = 11s;
    return policy;
}

TEST(Agreement, of_a_single_node_begins_with_the_first_policy_and_only_once) {
    Nodes nodes(1, to_begin_with());
    EXPECT_EQ(nodes.at(0).policy().ttl_max, 7min);
    EXPECT_EQ(nodes.at(0).policy().wait_max, 11s);
    authority::PolicyChange change;
    change.ttl_max = 2min;
    ASSERT_FALSE(refusal_of(nodes.change(0, change)));
    ASSERT_TRUE(nodes.ban(0, "mallory"));
    ASSERT_FALSE(refusal_of(nodes.put_agent(0, {.caller = {}, .id = "new", .priority = 7, .epoch = {}})));
    nodes.restart(0);
    EXPECT_EQ(nodes.at(0).policy().ttl_max, 2min);
    EXPECT_TRUE(nodes.at(0).policy().bans.contains("mallory"));
    EXPECT_TRUE(nodes.at(0).is_agent("new"));
    EXPECT_TRUE(nodes.failures.empty());
}

TEST(Agreement, of_a_cluster_begins_with_the_policy_of_its_first_leader) {
    Nodes nodes(3, to_begin_with());
    nodes.leader();
    ASSERT_TRUE(nodes.until([&] { return nodes.ban(1, "mallory"); }));
    for (std::size_t node = 0; node < 3; ++node) {
        EXPECT_TRUE(nodes.until([&] { return nodes.at(node).policy().bans.contains("mallory"); })) << node;
        EXPECT_EQ(nodes.at(node).policy().wait_max, 11s) << node;
    }
    EXPECT_TRUE(nodes.failures.empty());
}

TEST(Agreement, answers_a_longer_maximum_once_the_local_state_has_it) {  // S1
    Nodes nodes(1);
    nodes.local(0).hold = true;
    std::optional<authority::Answer<lease::Policy>> raised;
    authority::PolicyChange change;
    change.ttl_max = 20min;
    nodes.at(0).change_policy(change, [&](authority::Answer<lease::Policy> answer) { raised = std::move(answer); });
    ASSERT_TRUE(nodes.until([&] { return nodes.local(0).saved.has_value(); }));
    nodes.pass(100ms);
    EXPECT_FALSE(raised);
    EXPECT_EQ(nodes.at(0).policy().ttl_max, 5min);
    // A change that comes meanwhile is not made from what is in force.
    std::optional<authority::Answer<lease::Ban>> banned;
    nodes.at(0).ban("mallory", {}, [&](authority::Answer<lease::Ban> answer) { banned = std::move(answer); });
    nodes.local(0).hold = false;
    while (!nodes.local(0).held.empty())
        nodes.local(0).answer_one();
    ASSERT_TRUE(nodes.until([&] { return raised && banned; }));
    EXPECT_EQ(std::get<lease::Policy>(*raised).ttl_max, 20min);
    EXPECT_EQ(nodes.at(0).policy().ttl_max, 20min);
    EXPECT_TRUE(nodes.at(0).policy().bans.contains("mallory"));
}

TEST(Agreement, answers_whoever_waits_when_it_stops) {
    Nodes nodes(3);
    const std::size_t leader = nodes.leader();
    for (std::size_t node = 0; node < 3; ++node)
        nodes.cut_off(node);
    std::optional<authority::Answer<lease::Ban>> banned;
    nodes.at(leader).ban("mallory", {}, [&](authority::Answer<lease::Ban> answer) { banned = std::move(answer); });
    EXPECT_FALSE(banned);
    nodes.agreement(leader).stop();
    ASSERT_TRUE(banned);
    EXPECT_EQ(refusal_of(*banned), Code::unavailable);
}

TEST(Agreement, refuses_the_file_of_a_single_node_as_that_of_a_member) {
    const auto file = std::filesystem::temp_directory_path() / ("holdfast-log-" + random_hex(8));
    authority::TestLocalDurable local;
    const auto open = [&](std::vector<std::string> members) -> Result<void> {
        const Founding founding{{}, members};
        auto opened = server::open_log({.path = file, .post = [](Callback<>) {}}, founding);
        if (!opened) return opened.error();
        Agreement agreement({.disk = &local, .founding = founding});
        ConsensusLog log({.machine = agreement.machine(),
                          .members = std::move(members),
                          .disk = std::move(opened->disk),
                          .found = std::move(opened->found),
                          .seed = 1});
        return agreement.begin(log);
    };
    ASSERT_TRUE(open({"a=localhost:1"}));
    EXPECT_TRUE(open({"a=localhost:2"})) << "a single node may move";
    const auto refused = open({"a=localhost:1", "b=localhost:2", "c=localhost:3"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::members_differ);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace holdfast::agreed
