#include <holdfast/lease_manager.h>

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/random.h"
#include "base/rendezvous.h"
#include "client/sessions/instance_id.h"
#include "client/sessions/resp_connection.h"
#include "codec/resp/resp_command.h"
#include "support/redis_process.h"

namespace holdfast::client::sessions {
namespace {

constexpr std::chrono::milliseconds ttl{3000};

OwnershipTimings single_record() {
    return {.lease_ttl = ttl,
            .renew_every = ttl / 3,
            .node_ttl = ttl,
            .heartbeat_every = ttl / 3,
            .refresh_every = ttl / 3,
            .try_every = ttl / 30,
            .timeout = std::chrono::milliseconds{1000},
            .restart_wait = std::chrono::milliseconds{0}};
}

LeaseManagerOptions options_for(const RedisProcess& redis) {
    return {.redis = redis.url(), .timings = single_record(), .any_session_id = true};
}

bool eventually(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

codec::resp::Value ask(const RedisProcess& redis, std::initializer_list<std::string_view> words) {
    RespConnection connection{*codec::resp::parse_redis(redis.url())};
    if (!connection.open(20s)) return {};
    RespConnection::Batch batch{.commands = 1};
    codec::resp::write_command(batch.bytes, words);
    auto answers = connection.exchange(batch, 20s);
    return answers ? answers->front() : codec::resp::Value{};
}

TEST(LeaseManager, writes_the_keys_that_others_read) {
    RedisProcess redis;
    LeaseManager manager{options_for(redis)};
    ASSERT_FALSE(manager.start());
    ASSERT_TRUE(eventually([&] { return static_cast<bool>(manager.try_acquire("s")); }));
    EXPECT_TRUE(manager.is_owned("s"));
    EXPECT_EQ(ask(redis, {"GET", "poll:lease:s"}).text, manager.instance_id());
    EXPECT_EQ(ask(redis, {"GET", "poll:node:" + manager.instance_id()}).text, "1");
    EXPECT_EQ(manager.live_nodes(), std::vector{manager.instance_id()});
    EXPECT_EQ(manager.preferred_owner("s"), manager.instance_id());
    EXPECT_EQ(manager.owned_sessions(), std::vector<std::string>{"s"});
    const auto info = manager.info("s");
    EXPECT_EQ(info.state, Ownership::owned);
    EXPECT_EQ(info.owner, manager.instance_id());
    EXPECT_GT(info.remaining.count(), 0);
    ASSERT_TRUE(info.acquired_at && info.renewed_at);
    EXPECT_LE(*info.acquired_at, std::chrono::system_clock::now());
    EXPECT_TRUE(eventually([&] { return manager.info("s").renewed_at > info.renewed_at; }));
    EXPECT_TRUE(manager.stop());
    EXPECT_FALSE(manager.info("s").acquired_at);
    EXPECT_FALSE(manager.is_owned("s"));
    EXPECT_EQ(ask(redis, {"EXISTS", "poll:lease:s", "poll:node:" + manager.instance_id()}).number, 0);
}

TEST(LeaseManager, renews_for_as_long_as_it_lives_also_without_its_scripts) {
    RedisProcess redis;
    LeaseManager manager{options_for(redis)};
    ASSERT_FALSE(manager.start());
    ASSERT_FALSE(manager.add({"s"}));
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    ask(redis, {"SCRIPT", "FLUSH"});
    const auto until = std::chrono::steady_clock::now() + ttl * 2;
    while (std::chrono::steady_clock::now() < until) {
        ASSERT_TRUE(manager.is_owned("s"));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

TEST(LeaseManager, says_whose_it_is) {
    RedisProcess redis;
    ask(redis, {"SET", "poll:lease:s", "somebody-1-00000001", "PX", "60000"});
    LeaseManager manager{options_for(redis)};
    ASSERT_FALSE(manager.start());
    Taken taken;
    ASSERT_TRUE(eventually([&] {
        taken = manager.try_acquire("s");
        return taken.why && taken.why->outcome == Outcome::busy && !taken.why->conflicts.empty();
    }));
    EXPECT_EQ(taken.why->conflicts[0].holder, "somebody-1-00000001");
    EXPECT_EQ(manager.info("s").state, Ownership::other);
    EXPECT_FALSE(manager.is_owned("s"));
    EXPECT_FALSE(manager.begin_poll("s"));
}

TEST(LeaseManager, refuses_what_makes_no_sense) {
    RedisProcess redis;
    LeaseManagerOptions options{.redis = redis.url(), .timings = single_record(), .sessions_max = 1};
    LeaseManager manager{options};
    ASSERT_FALSE(manager.start());
    EXPECT_TRUE(manager.start()) << "once";
    const auto taken = manager.try_acquire("lobby");
    ASSERT_TRUE(taken.why);
    EXPECT_EQ(taken.why->code, "invalid_session");
    EXPECT_EQ(manager.add({"lobby"})->code, "invalid_session");
    EXPECT_EQ(manager.add({"123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174001"})->code,
              "too_many_sessions");
    options.redis = "http://x";
    EXPECT_TRUE(LeaseManager{options}.start());
    options = {.redis = redis.url(), .instance_id = "me"};
    EXPECT_TRUE(LeaseManager{options}.start());
    options = {.redis = redis.url()};
    options.timings.renew_every = std::chrono::seconds{20};
    EXPECT_TRUE(LeaseManager{options}.start());
}

TEST(LeaseManager, is_uncertain_while_nobody_answers_and_lets_go_at_the_deadline) {
    RedisProcess redis;
    std::mutex mutex;
    std::vector<OwnershipChange> changes;
    auto options = options_for(redis);
    options.on_change = [&](const OwnershipChange& change) {
        const std::lock_guard lock(mutex);
        changes.push_back(change);
    };
    LeaseManager manager{options};
    ASSERT_FALSE(manager.start());
    ASSERT_FALSE(manager.add({"s"}));
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    Poll poll = manager.begin_poll("s");
    ASSERT_TRUE(poll);
    EXPECT_TRUE(poll.held());
    redis.freeze();
    ASSERT_TRUE(eventually([&] { return !manager.is_owned("s"); }));
    EXPECT_FALSE(poll.held());
    redis.thaw();
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    EXPECT_FALSE(poll.held()) << "it is another turn";
    poll = {};
    EXPECT_TRUE(manager.stop());
    const std::lock_guard lock(mutex);
    std::set<std::pair<Ownership, Ownership>> seen;
    for (const auto& change : changes)
        seen.emplace(change.from, change.to);
    EXPECT_TRUE(seen.contains({Ownership::owned, Ownership::uncertain}));
    EXPECT_TRUE(seen.contains({Ownership::uncertain, Ownership::unknown}));
}

TEST(LeaseManager, hands_a_session_over_after_the_poll_in_hand) {
    RedisProcess redis;
    LeaseManager first{options_for(redis)};
    ASSERT_FALSE(first.start());
    auto options = options_for(redis);
    options.instance_id = fresh_instance_id();
    std::string session;
    for (int i = 0; session.empty(); ++i)
        if (preferred_owner({first.instance_id(), options.instance_id}, std::to_string(i)) == options.instance_id)
            session = std::to_string(i);
    ASSERT_FALSE(first.add({session}));
    ASSERT_TRUE(eventually([&] { return first.is_owned(session); }));
    std::optional<Poll> poll = first.begin_poll(session);
    ASSERT_TRUE(*poll);
    LeaseManager second{options};
    ASSERT_FALSE(second.start());
    ASSERT_FALSE(second.add({session}));
    ASSERT_TRUE(eventually([&] { return first.info(session).handing_over; }));
    EXPECT_FALSE(first.begin_poll(session)) << "no new poll";
    EXPECT_TRUE(poll->held());
    EXPECT_FALSE(second.is_owned(session));
    poll.reset();
    ASSERT_TRUE(eventually([&] { return second.is_owned(session); }));
    EXPECT_FALSE(first.is_owned(session));
    EXPECT_TRUE(second.stop());
    EXPECT_TRUE(eventually([&] { return first.is_owned(session); }));
}

TEST(LeaseManager, waits_after_the_start_of_a_redis_that_may_have_forgotten) {
    RedisProcess redis;
    auto options = options_for(redis);
    options.timings.restart_wait.reset();
    std::mutex mutex;
    std::vector<std::string> codes;
    options.on_connection = [&](const std::optional<Failure>& trouble) {
        const std::lock_guard lock(mutex);
        codes.push_back(trouble ? trouble->code : "");
    };
    LeaseManager manager{options};
    ASSERT_FALSE(manager.start());
    ASSERT_FALSE(manager.add({"s"}));
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    ASSERT_TRUE(eventually([&] {
        const std::lock_guard lock(mutex);
        return codes.size() >= 2;
    }));
    EXPECT_EQ(codes, (std::vector<std::string>{"recovering", ""}));
}

TEST(LeaseManager, keeps_what_it_owned_when_the_store_loses_its_keys) {
    RedisProcess redis;
    auto options = options_for(redis);
    options.timings.lease_ttl = options.timings.node_ttl = std::chrono::seconds{20};
    LeaseManager manager{options};
    ASSERT_FALSE(manager.start());
    ASSERT_FALSE(manager.add({"s"}));
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    Poll poll = manager.begin_poll("s");
    redis.kill();
    redis.start();
    ASSERT_TRUE(eventually([&] { return ask(redis, {"GET", "poll:lease:s"}).text == manager.instance_id(); }));
    EXPECT_TRUE(poll.held()) << "in the same turn";
}

TEST(LeaseManager, owns_nothing_in_a_forked_child) {
    RedisProcess redis;
    LeaseManager manager{options_for(redis)};
    ASSERT_FALSE(manager.start());
    ASSERT_FALSE(manager.add({"s"}));
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    const pid_t child = ::fork();
    if (child == 0) ::_exit(manager.is_owned("s") ? 1 : 0);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(manager.is_owned("s"));
}

TEST(LeaseManager, is_used_from_many_threads) {
    RedisProcess redis;
    LeaseManager one{options_for(redis)};
    LeaseManager two{options_for(redis)};
    ASSERT_FALSE(one.start());
    ASSERT_FALSE(two.start());
    std::vector<std::string> sessions;
    for (int i = 0; i < 50; ++i)
        sessions.push_back("s" + std::to_string(i));
    ASSERT_FALSE(one.add(sessions));
    ASSERT_FALSE(two.add(sessions));
    std::vector<std::atomic<int>> polling(sessions.size());
    std::atomic<int> polls = 0;
    std::atomic<int> overlaps = 0;
    std::atomic<bool> over = false;
    const auto work = [&](LeaseManager& manager, std::uint64_t seed) {
        Random random{seed};
        while (!over) {
            const auto at = random.below(sessions.size());
            if (random.below(100) == 0) (void)manager.sessions();
            const Poll poll = manager.begin_poll(sessions[at]);
            if (!poll) continue;
            // Two threads of one instance may poll one session; two instances may not.
            const int mine = &manager == &one ? 1 : 1000;
            const int others = polling[at].fetch_add(mine);
            overlaps += (mine == 1 ? others >= 1000 : others % 1000 != 0) && poll.held() ? 1 : 0;
            ++polls;
            polling[at].fetch_sub(mine);
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 4; ++i)
        threads.emplace_back([&, i] { work(i % 2 == 0 ? one : two, i); });
    EXPECT_TRUE(eventually([&] {
        return polls > 2000 && one.owned_sessions().size() + two.owned_sessions().size() == sessions.size() &&
               !two.owned_sessions().empty() && !one.owned_sessions().empty();
    }));
    over = true;
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(overlaps, 0);
}

}  // namespace
}  // namespace holdfast::client::sessions
