#include <algorithm>
#include <gtest/gtest.h>

#include "store/quorum/cluster.h"
#include "store/quorum/quorum_config.h"

namespace holdfast::store::quorum {
namespace {

bool heard_of(const std::vector<std::string>& told, const std::string& line) {
    return std::find(told.begin(), told.end(), line) != told.end();
}

/// Takes the first out of the queue; whoever is told of it then is not asked about here.
void dequeue_first(Cluster& cluster) {
    const auto gone = cluster.apply(0, "r", [](lease::Record& record, Instant) {
        lease::dequeue(record, 1);
        return authority::Ruling{true, Effect::freed};
    });
    cluster.deliver();
    ASSERT_TRUE(gone->done);
    cluster.forget_told(0);
}

TEST(WaiterPoller, come_for_one_that_was_put_in_the_queue_while_the_record_was_looked_at) {
    Cluster cluster;
    cluster.acquired(1, "r", {"alice", 2s});
    cluster.wait(0, "r", 1);
    cluster.deliver();
    cluster.fate = [](const Envelope&) { return Cluster::Fate::hold; };
    cluster.read(0, "r");  // keeps the register busy until the look and the second one are applied together
    cluster.jump(1300ms);
    const auto second = cluster.wait(0, "r", 2);
    cluster.fate = {};
    cluster.let_go();
    cluster.pass(5s);
    ASSERT_TRUE(second->done);
    dequeue_first(cluster);
    cluster.pass(5s);
    EXPECT_TRUE(heard_of(cluster.told(0), "due r 2"));
}

TEST(WaiterPoller, come_for_one_that_a_failed_attempt_had_put_in_the_queue) {
    Cluster cluster;
    cluster.acquired(1, "r", {"alice", 2s});
    // The answers to its Accept do not come: the next attempt finds it in the queue already.
    bool lost = false;
    cluster.fate = [&](const Envelope& envelope) {
        const auto* vote = std::get_if<Vote>(&envelope.message);
        const bool lose = vote != nullptr && vote->accepting && envelope.to == 0 && !lost;
        return lose ? Cluster::Fate::lose : Cluster::Fate::deliver;
    };
    const auto waits = cluster.wait(0, "r", 2);
    cluster.deliver();
    lost = true;
    cluster.pass(5s);
    ASSERT_TRUE(waits->done);
    cluster.forget_told(0);
    cluster.pass(5s);
    EXPECT_TRUE(heard_of(cluster.told(0), "due r 2"));
}

TEST(WaiterPoller, do_not_wait_for_the_waiters_of_a_node_that_is_gone) {  // G6
    Cluster cluster;
    const std::uint64_t gone = first_request(0, 1), younger = first_request(2, 1);
    const lease::Token held = cluster.acquired(1, "r", {"alice", 50s});
    cluster.wait(0, "r", gone);
    cluster.deliver();
    cluster.wait(2, "r", younger);
    cluster.deliver();
    cluster.crash(0);
    for (const std::size_t node : {1U, 2U})
        cluster.store(node).set_peer(0, std::nullopt);
    cluster.release(1, "r", held, "alice");
    cluster.deliver();
    EXPECT_FALSE(heard_of(cluster.told(2), "due r " + std::to_string(younger))) << "the connection may be back at once";
    EXPECT_EQ(cluster.acquired(1, "r", {"bob"}), 0U);
    cluster.pass(5s);
    EXPECT_TRUE(heard_of(cluster.told(2), "due r " + std::to_string(younger)));
    const Cluster::Ask its_waiter{"waiter-" + std::to_string(younger), 10s, lease::Predicate::mutates, "one"};
    EXPECT_NE(cluster.acquired(2, "r", its_waiter), 0U) << "nothing is in its way any more";
}

TEST(WaiterPoller, do_not_wait_for_the_waiters_of_a_former_life) {
    Cluster cluster;
    const std::uint64_t former = first_request(0, 1), younger = first_request(2, 1);
    const lease::Token held = cluster.acquired(1, "r", {"alice", 50s});
    cluster.wait(0, "r", former);
    cluster.deliver();
    cluster.wait(2, "r", younger);
    cluster.deliver();
    cluster.restart_cleanly(0);
    cluster.release(1, "r", held, "alice");
    cluster.pass(2s);
    EXPECT_TRUE(heard_of(cluster.told(2), "due r " + std::to_string(younger)));
}

TEST(WaiterPoller, keep_the_places_of_those_whose_node_comes_back) {
    Cluster cluster;
    const std::uint64_t away = first_request(0, 1), younger = first_request(2, 1);
    cluster.acquired(1, "r", {"alice", 50s});
    cluster.wait(0, "r", away);
    cluster.deliver();
    for (const std::size_t node : {1U, 2U})
        cluster.store(node).set_peer(0, std::nullopt);
    cluster.cut_off(0);
    cluster.pass(5s);
    cluster.wait(2, "r", younger);
    cluster.pass(1s);
    cluster.cut_off(0, false);
    for (const std::size_t node : {1U, 2U})
        cluster.store(node).set_peer(0, 1);
    const auto record = cluster.read(1, "r");
    cluster.deliver();
    ASSERT_TRUE(record->value);
    ASSERT_EQ(record->value->waiters.size(), 2U);
    EXPECT_EQ(record->value->waiters[0].id, away);
    EXPECT_EQ(record->value->waiters[1].id, younger);
}

}  // namespace
}  // namespace holdfast::store::quorum
