#include "authority/acquisitions.h"

#include <gtest/gtest.h>

#include "authority/desk.h"
#include "base/random.h"
#include "support/passing_store.h"
#include "support/seeds.h"

namespace holdfast::authority {
namespace {

/// Requests that wait, and what came of them in the order in which it came.
struct Queue {
    explicit Queue(Desk& at) : desk(at) {}

    Authority::WaitTicket wait(const std::string& who, std::vector<lease::Intent> intents, Duration how_long = 2min) {
        return desk.authority.acquire(Desk::request(who, std::move(intents), how_long),
                                      [this, who](AcquireAnswer answer) {
                                          if (auto* granted = std::get_if<AcquireGranted>(&answer)) {
                                              order.push_back(who);
                                              tokens[who] = granted->leases[0].lease.token;
                                          } else {
                                              refused[who] = code_of(answer);
                                          }
                                      });
    }

    Desk& desk;
    std::vector<std::string> order;
    std::map<std::string, lease::Token> tokens;
    std::map<std::string, Code> refused;
};

TEST(Manifest, is_granted_whole_in_the_order_it_was_asked_for) {  // G1
    Desk desk;
    const auto answer = desk.ask(Desk::request("alice", {{"b"}, {"c"}, {"a"}}));
    const auto& leases = std::get<AcquireGranted>(*answer).leases;
    ASSERT_EQ(leases.size(), 3U);
    EXPECT_EQ(leases[0].resource, "b");
    EXPECT_EQ(leases[1].resource, "c");
    EXPECT_EQ(leases[2].resource, "a");
    EXPECT_EQ(leases[0].timeline, (lease::Timeline{20s, 40s, 50s, 60s}));
}

TEST(Manifest, is_refused_whole_naming_everyone_in_the_way) {
    Desk desk;
    desk.lock("bob", "b");
    desk.lock("carol", "c");
    const auto answer = desk.ask(Desk::request("alice", {{"a"}, {"b"}, {"c"}}));
    const auto& busy = std::get<AcquireBusy>(*answer);
    ASSERT_EQ(busy.conflicts.size(), 2U);
    EXPECT_EQ(busy.conflicts[0].conflict.holder, "bob");
    EXPECT_EQ(busy.conflicts[1].conflict.holder, "carol");
    EXPECT_NE(desk.lock("dave", "a"), 0U) << "nothing of it was kept";
}

/// Puts somebody in a queue, as another node does.
class Enqueue final : public store::Update {
 public:
    explicit Enqueue(lease::Waiter waiter) : waiter_(std::move(waiter)) {}
    store::Effect apply(lease::Record& record, const lease::Neighbours&, Instant) override {
        record.waiters.push_back(waiter_);
        return store::Effect::changed;
    }
    void done(Result<void>) override {}

 private:
    lease::Waiter waiter_;
};

TEST(Waiting, is_in_the_order_of_arrival_also_behind_a_node_whose_clock_is_hours_ahead) {  // T1, G6
    Desk desk;
    Queue queue{desk};
    const lease::Token token = desk.lock("alice", "r", 60s);
    const lease::Priority hours_ahead = 36'000'000'000;
    Enqueue elsewhere(
        {std::uint64_t{1} << 56, hours_ahead, false, lease::Predicate::mutates, desk.now + 30s, "zoe", ""});
    desk.store.update("r", elsewhere);
    queue.wait("bob", {{"r"}});
    queue.wait("carol", {{"r"}});
    desk.unlock("alice", "r", token);
    EXPECT_TRUE(queue.order.empty()) << "zoe has come before them";
    desk.pass(31s);
    EXPECT_EQ(queue.order, std::vector<std::string>{"bob"}) << "zoe has given up";
    desk.unlock("bob", "r", queue.tokens["bob"]);
    EXPECT_EQ(queue.order, (std::vector<std::string>{"bob", "carol"}));
}

/// A store that cannot be reached at times.
class FarStore final : public PassingStore {
 public:
    using PassingStore::PassingStore;
    void update(std::string_view resource, store::Update& update) override {
        if (reachable) return PassingStore::update(resource, update);
        ++refused;
        update.done(Error{Code::unavailable, "too far"});
    }

    bool reachable = true;
    int refused = 0;
};

TEST(Waiting, leaves_no_place_behind_that_others_wait_for_when_the_store_was_out_of_reach) {  // G6
    Desk desk;
    FarStore far{desk.store};
    desk.authority.use(far);
    Queue queue{desk};
    const lease::Token token = desk.lock("alice", "r", 20s);
    const auto ticket = queue.wait("bob", {{"r"}}, 10min);
    queue.wait("carol", {{"r"}}, 10min);
    far.reachable = false;
    desk.authority.cancel(ticket);
    EXPECT_EQ(queue.refused.count("bob"), 1U) << "it is answered all the same";
    desk.pass(3s);
    EXPECT_GE(far.refused, 2) << "told again";
    EXPECT_LE(far.refused, 5) << "and not all the time";
    far.reachable = true;
    desk.pass(2s);
    desk.unlock("alice", "r", token);
    EXPECT_EQ(queue.order, std::vector<std::string>{"carol"});
}

TEST(Waiting, ends_when_the_lease_in_the_way_is_released_or_runs_out) {
    Desk desk;
    Queue queue{desk};
    const lease::Token token = desk.lock("alice", "r", 30s);
    queue.wait("bob", {{"r"}});
    queue.wait("carol", {{"r"}});
    EXPECT_EQ(desk.authority.waiters(), 2U);
    desk.unlock("alice", "r", token);
    EXPECT_EQ(queue.order, std::vector<std::string>{"bob"});
    desk.pass(1min);
    EXPECT_EQ(queue.order, (std::vector<std::string>{"bob", "carol"}));
    EXPECT_GT(queue.tokens["carol"], queue.tokens["bob"]);
    EXPECT_EQ(desk.authority.waiters(), 0U);
}

TEST(Waiting, is_served_oldest_first_and_one_at_a_time) {  // G6
    Desk desk;
    Queue queue{desk};
    lease::Token token = desk.lock("first", "r");
    std::vector<std::string> expected;
    for (int i = 0; i < 50; ++i) {
        expected.push_back("w" + std::to_string(i));
        queue.wait(expected.back(), {{"r"}});
    }
    std::string holder = "first";
    for (std::size_t served = 0; served < 50; ++served) {
        EXPECT_EQ(queue.order.size(), served);
        desk.unlock(holder, "r", token);
        holder = queue.order.back();
        token = queue.tokens[holder];
    }
    EXPECT_EQ(queue.order, expected);
}

TEST(Waiting, is_over_when_its_time_is_up_and_says_who_was_in_the_way) {
    Desk desk;
    desk.lock("alice", "r");
    std::optional<AcquireAnswer> answer;
    desk.authority.acquire(Desk::request("bob", {{"r"}}, 10s), [&](AcquireAnswer got) { answer = std::move(got); });
    EXPECT_EQ(desk.authority.next_deadline(), desk.now + 10s);
    desk.pass(10s - 1ns);
    EXPECT_FALSE(answer);
    desk.pass(1ns);
    ASSERT_TRUE(answer);
    const auto& busy = std::get<AcquireBusy>(*answer);
    EXPECT_EQ(busy.code, Code::wait_timeout);
    ASSERT_EQ(busy.conflicts.size(), 1U);
    EXPECT_EQ(busy.conflicts[0].conflict.expires_in, 50s);
    EXPECT_EQ(busy.retry_in, 50s);
}

TEST(Waiting, of_a_manifest_is_over_when_its_time_is_up_or_its_client_goes) {
    Desk desk;
    desk.lock("alice", "r");
    std::vector<Code> told;
    const auto wait = [&](Duration how_long) {
        return desk.authority.acquire(Desk::request("bob", {{"q"}, {"r"}}, how_long),
                                      [&](const AcquireAnswer& answer) { told.push_back(code_of(answer)); });
    };
    wait(10s);
    const auto ticket = wait(20s);
    desk.pass(10s);
    EXPECT_EQ(told, std::vector{Code::wait_timeout});
    desk.authority.cancel(ticket);
    EXPECT_EQ(told, (std::vector{Code::wait_timeout, Code::cancelled}));
    EXPECT_NE(desk.lock("carol", "q"), 0U) << "nothing of it is left in the queues";
}

TEST(Waiting, is_no_longer_than_the_policy_allows) {
    lease::Policy policy;
    policy.wait_max = 5s;
    Desk desk{policy};
    Queue queue{desk};
    desk.lock("alice", "r");
    queue.wait("bob", {{"r"}}, 1h);
    desk.pass(5s);
    EXPECT_EQ(queue.refused["bob"], Code::wait_timeout);
}

TEST(Waiting, of_one_who_went_away_holds_nobody_up) {
    Desk desk;
    Queue queue{desk};
    const lease::Token token = desk.lock("alice", "r");
    const auto ticket = queue.wait("bob", {{"r"}});
    queue.wait("carol", {{"r"}});
    desk.authority.cancel(ticket);
    EXPECT_EQ(queue.refused["bob"], Code::cancelled);
    desk.unlock("alice", "r", token);
    EXPECT_EQ(queue.order, std::vector<std::string>{"carol"});
    desk.authority.cancel(ticket);
}

TEST(Waiting, lets_nobody_overtake_and_wakes_who_is_behind_one_that_leaves) {
    Desk desk;
    Queue queue{desk};
    desk.ask(Desk::request("reader", {{"r", lease::Predicate::consumes}}));
    const auto writer = queue.wait("writer", {{"r"}});
    queue.wait("late reader", {{"r", lease::Predicate::consumes}});
    EXPECT_TRUE(queue.order.empty()) << "the late reader must not starve the writer";
    desk.authority.cancel(writer);
    EXPECT_EQ(queue.order, std::vector<std::string>{"late reader"});
}

TEST(Waiting, for_several_resources_holds_none_of_them) {
    Desk desk;
    Queue queue{desk};
    const lease::Token a = desk.lock("alice", "a");
    const lease::Token b = desk.lock("bob", "b");
    queue.wait("carol", {{"a"}, {"b"}});
    desk.unlock("alice", "a", a);
    EXPECT_TRUE(queue.order.empty());
    EXPECT_TRUE(desk.verify("a", 1).verified.current.empty());
    desk.unlock("bob", "b", b);
    EXPECT_EQ(queue.order, std::vector<std::string>{"carol"});
}

TEST(Waiting, is_refused_at_once_when_a_queue_is_full) {
    Desk desk;
    Queue queue{desk};
    desk.lock("alice", "r");
    for (std::size_t i = 0; i < lease::limits::waiters_per_record; ++i)
        queue.wait("w" + std::to_string(i), {{"r"}});
    EXPECT_TRUE(queue.refused.empty());
    queue.wait("one too many", {{"q"}, {"r"}});
    EXPECT_EQ(queue.refused["one too many"], Code::too_many_waiters);
    EXPECT_NE(desk.lock("bob", "q"), 0U) << "it left the other queue too";
}

TEST(Waiting, is_answered_when_the_server_stops) {
    Desk desk;
    Queue queue{desk};
    desk.lock("alice", "r");
    queue.wait("bob", {{"r"}});
    desk.authority.stop();
    EXPECT_EQ(queue.refused["bob"], Code::stopping);
    EXPECT_EQ(code_of(*desk.ask(Desk::request("carol", {{"free"}}))), Code::stopping);
}

TEST(Waiting, passes_the_policy_again_when_its_turn_comes) {  // R7
    Desk desk;
    Queue queue{desk};
    const lease::Token token = desk.lock("alice", "r");
    queue.wait("mallory", {{"r"}});
    queue.wait("carol", {{"r"}});
    desk.authority.ban("mallory", {}, [](const Answer<lease::Ban>&) {});
    desk.unlock("alice", "r", token);
    EXPECT_EQ(queue.refused["mallory"], Code::banned);
    EXPECT_EQ(queue.order, std::vector<std::string>{"carol"});
}

/// A store that, once, tries an update in vain, as a quorum does: by the time it tries again, what the first try
/// granted has been taken out of the record again, and another has come in between.
class TriesTwice final : public PassingStore {
 public:
    using PassingStore::PassingStore;

    void update(std::string_view resource, store::Update& update) override {
        if (!in_vain_by) return PassingStore::update(resource, update);
        Twice twice(update, *std::exchange(in_vain_by, nullptr));
        PassingStore::update(resource, twice);
    }

    const lease::Lease* in_vain_by = nullptr;

 private:
    class Twice final : public store::Update {
     public:
        Twice(store::Update& update, const lease::Lease& between) : update_(update), between_(between) {}
        store::Effect apply(lease::Record& record, const lease::Neighbours& neighbours, Instant now) override {
            update_.apply(record, neighbours, now);
            record.leases = {between_};
            update_.apply(record, neighbours, now);
            return store::Effect::changed;
        }
        void done(Result<void> outcome) override { update_.done(std::move(outcome)); }

     private:
        store::Update& update_;
        const lease::Lease& between_;
    };
};

TEST(Waiting, goes_on_in_the_queue_when_the_store_has_granted_it_in_vain) {
    Desk desk;
    TriesTwice store(desk.store);
    desk.authority.use(store);
    Queue queue(desk);
    const lease::Token token = desk.lock("alice", "r", 1s);
    queue.wait("bob", {{"r"}});
    lease::Lease between;
    between.holder = "carol";
    between.token = token + 10;
    between.ttl = 10s;
    between.acquired_at = between.held_since = desk.now;
    between.expires_at = desk.now + 11s;
    store.in_vain_by = &between;
    desk.pass(1s);
    EXPECT_EQ(store.in_vain_by, nullptr) << "nobody tried";
    EXPECT_TRUE(queue.order.empty());
    EXPECT_TRUE(desk.unlock("carol", "r", between.token));
    EXPECT_EQ(queue.order, std::vector<std::string>{"bob"}) << "nobody knew that it waited";
}

TEST(Waiting, serves_everyone_in_the_end_whatever_the_manifests) {
    // Whoever waits holds nothing, so every history drains once the holders let go.
    for (std::uint64_t seed = first_seed(), end = seed + 50; seed < end; ++seed) {
        Random random{seed};
        Desk desk;
        int granted = 0;
        int asked = 0;
        for (; asked < 200; ++asked) {
            std::vector<lease::Intent> intents;
            for (std::uint64_t i = 0; i <= random.below(4); ++i)
                intents.push_back({"r" + std::to_string(random.below(8)), lease::all_predicates[random.below(6)]});
            AcquireRequest request = Desk::request("h" + std::to_string(asked), *checked_manifest(intents), 5min);
            request.ttl = Duration{1s};
            desk.authority.acquire(std::move(request), [&](const AcquireAnswer& answer) {
                granted += std::holds_alternative<AcquireGranted>(answer);
            });
            desk.pass(std::chrono::milliseconds{random.below(50)});
        }
        for (int i = 0; i < 299 && granted < asked; ++i)
            desk.pass(1s);
        EXPECT_EQ(granted, asked) << "seed " << seed;
        EXPECT_EQ(desk.authority.waiters(), 0U);
    }
}

// ---- whose session a request is in (G2) ----

TEST(Sessions, of_requests_that_name_none_are_their_own) {
    Desk desk;
    EXPECT_NE(desk.lock("billing", "r"), 0U);
    EXPECT_EQ(desk.lock("billing", "r"), 0U) << "another process may have the same name";
    AcquireRequest named = Desk::request("billing", {{"r"}});
    named.session = "s";
    EXPECT_EQ(code_of(*desk.ask(named)), Code::busy);
}

TEST(Sessions, of_requests_with_a_key_are_the_key) {
    Desk desk;
    AcquireRequest first = Desk::request("billing", {{"r"}});
    first.idempotency_key = "k1";
    const auto granted = std::get<AcquireGranted>(*desk.ask(first));
    EXPECT_EQ(granted.leases[0].lease.session, "k1");
    AcquireRequest through_another_node = Desk::request("billing", {{"r"}});  // which does not know of the key
    through_another_node.session = "k1";
    EXPECT_TRUE(std::holds_alternative<AcquireGranted>(*desk.ask(through_another_node)));
    AcquireRequest other = first;
    other.idempotency_key = "k2";
    EXPECT_EQ(code_of(*desk.ask(other)), Code::busy);
}

TEST(Sessions, of_agents_are_their_epochs) {
    Desk desk;
    desk.agent("a", 1);
    const auto ask = [&](lease::Predicate predicate, std::optional<std::uint64_t> epoch, std::string key) {
        AcquireRequest asked = Desk::request("a", {{"r", predicate}});
        asked.epoch = epoch;
        asked.idempotency_key = std::move(key);
        const auto answer = desk.ask(std::move(asked));
        return std::holds_alternative<AcquireGranted>(*answer);
    };
    EXPECT_TRUE(ask(lease::Predicate::consumes, {}, "k1"));
    EXPECT_TRUE(ask(lease::Predicate::mutates, 1, "k2")) << "an upgrade is not in its own way";
    EXPECT_FALSE(ask(lease::Predicate::mutates, 2, "k3")) << "the former life may still be there";
}

TEST(Sessions, keep_the_parts_of_one_request_out_of_each_others_way) {
    Desk desk;
    const std::vector<lease::Intent> intents{
        {"FILE:/src/**"}, {"FILE:/src/main.c"}, {"r", lease::Predicate::mutates}, {"r", lease::Predicate::consumes}};
    const auto first = desk.ask(Desk::request("alice", intents));
    ASSERT_TRUE(std::holds_alternative<AcquireGranted>(*first));
    EXPECT_EQ(code_of(*desk.ask(Desk::request("alice", intents))), Code::busy);
    std::optional<AcquireAnswer> second;
    desk.authority.acquire(Desk::request("alice", intents, 60s), [&](AcquireAnswer answer) { second = answer; });
    EXPECT_FALSE(second);
    for (const HeldLease& held : std::get<AcquireGranted>(*first).leases)
        EXPECT_TRUE(desk.unlock("alice", held.resource, held.lease.token));
    ASSERT_TRUE(second) << "nor are their places in the queues";
    EXPECT_TRUE(std::holds_alternative<AcquireGranted>(*second));
}

TEST(Sessions, keep_the_place_of_a_request_that_comes_again_through_another_node) {  // G6
    Desk desk;
    const lease::Token token = desk.lock("holder", "r");
    ASSERT_TRUE(desk.queue_elsewhere("alice", "s"));
    std::vector<std::string> served;
    const auto wait = [&](const std::string& holder, const std::string& session) {
        AcquireRequest asked = Desk::request(holder, {{"r"}}, 60s);
        asked.session = session;
        desk.authority.acquire(std::move(asked), [&served, holder](const AcquireAnswer& answer) {
            if (std::holds_alternative<AcquireGranted>(answer)) served.push_back(holder);
        });
    };
    wait("bob", "t");
    wait("alice", "s");
    desk.unlock("holder", "r", token);
    EXPECT_EQ(served, std::vector<std::string>{"alice"});
}

TEST(Sessions, do_not_let_a_second_request_of_one_session_past_others_that_wait) {  // G6
    Desk desk;
    const lease::Token token = desk.lock("holder", "r");
    std::vector<std::string> served;
    const auto wait = [&](const std::string& name, const std::string& holder) {
        AcquireRequest asked = Desk::request(holder, {{"r"}}, 60s);
        asked.session = "s";
        return desk.authority.acquire(std::move(asked), [&served, name](const AcquireAnswer& answer) {
            if (std::holds_alternative<AcquireGranted>(answer)) served.push_back(name);
        });
    };
    const auto first = wait("first", "alice");
    wait("bob", "bob");
    wait("second", "alice");
    desk.authority.cancel(first);
    desk.unlock("holder", "r", token);
    EXPECT_EQ(served, std::vector<std::string>{"bob"});
}

TEST(Sessions, set_requests_that_wait_under_one_name_in_one_queue) {
    Desk desk;
    const lease::Token token = desk.lock("billing", "r");
    std::vector<int> served;
    for (int i = 0; i < 2; ++i)
        desk.authority.acquire(Desk::request("billing", {{"r"}}, 60s), [&served, i](const AcquireAnswer& answer) {
            if (std::holds_alternative<AcquireGranted>(answer)) served.push_back(i);
        });
    desk.unlock("billing", "r", token);
    EXPECT_EQ(served, std::vector<int>{0});
}

TEST(Acquisitions, serve_thousands_whose_turn_comes_at_once_in_several_turns) {
    constexpr int count = 3000;
    Desk desk;
    const lease::Token token = desk.lock("bob", "FILE:/d/**");
    int granted = 0;
    for (int i = 0; i < count; ++i)
        desk.authority.acquire(
            Desk::request("eve", {{"FILE:/d/" + std::to_string(i)}}, 60s),
            [&](const AcquireAnswer& answer) { granted += std::holds_alternative<AcquireGranted>(answer) ? 1 : 0; });
    ASSERT_EQ(desk.authority.waiters(), std::size_t{count});
    EXPECT_TRUE(desk.unlock("bob", "FILE:/d/**", token));
    EXPECT_GT(granted, 0);
    EXPECT_LT(granted, count);
    int turns = 1;
    for (; desk.authority.next_deadline() <= desk.now && turns < 100; ++turns)
        desk.at(desk.now);
    EXPECT_EQ(granted, count);
    EXPECT_LT(turns, 10) << "a grant must not let all others of its holder try again";
}

TEST(Acquisitions, end_thousands_of_waits_in_several_turns) {
    constexpr int count = 3000;
    Desk desk;
    desk.lock("bob", "FILE:/d/**", 10min);
    int ended = 0;
    for (int i = 0; i < count; ++i)
        desk.authority.acquire(Desk::request("eve", {{"FILE:/d/" + std::to_string(i)}}, 60s),
                               [&](const AcquireAnswer& answer) { ended += code_of(answer) == Code::wait_timeout; });
    desk.pass(60s);
    EXPECT_GT(ended, 0);
    EXPECT_LT(ended, count);
    for (int turns = 1; desk.authority.next_deadline() <= desk.now && turns < 100; ++turns)
        desk.at(desk.now);
    EXPECT_EQ(ended, count);
    EXPECT_EQ(desk.authority.waiters(), 0U);
}

}  // namespace
}  // namespace holdfast::authority
