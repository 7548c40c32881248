#include <holdfast/lease_manager.h>

#include <future>
#include <gtest/gtest.h>
#include <stop_token>

#include "base/clock.h"
#include "client/sessions/lease_commands.h"
#include "client/sessions/resp_connection.h"
#include "codec/resp/resp_command.h"
#include "support/redis_impostor.h"

namespace holdfast::client::sessions {
namespace {

using Words = RedisImpostor::Words;

bool eventually(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

/// What the manager said of its store, in order; nothing for a store that answers.
class Troubles {
 public:
    void operator()(const std::optional<Failure>& trouble) {
        const std::lock_guard lock(mutex_);
        codes_.push_back(trouble ? trouble->code : "");
    }
    std::vector<std::string> codes() const {
        const std::lock_guard lock(mutex_);
        return codes_;
    }

 private:
    mutable std::mutex mutex_;
    std::vector<std::string> codes_;
};

LeaseManagerOptions options_for(const RedisImpostor& store, Troubles& troubles) {
    LeaseManagerOptions options{.redis = store.url(), .any_session_id = true};
    options.timings.try_every = std::chrono::milliseconds{20};
    options.on_connection = [&troubles](const std::optional<Failure>& trouble) { troubles(trouble); };
    return options;
}

bool is_taking(const Words& command) {
    return command[0] == "SET" && command[1].starts_with("poll:lease:");
}

/// What comes of one command to a store that answers with these bytes, and then with nothing.
Error error_after(const std::string& answer) {
    RedisImpostor store{[&](const Words&) { return answer; }};
    RespConnection connection{*codec::resp::parse_redis(store.url())};
    EXPECT_TRUE(connection.open(60s));
    RespConnection::Batch batch{.commands = 1};
    codec::resp::write_command(batch.bytes, {"PING"});
    const auto answers = connection.exchange(batch, 60s);
    return answers ? Error{} : answers.error();
}

TEST(RespConnectionTrouble, takes_no_nonsense) {
    for (const std::string answer : {"HTTP/1.1 400 Bad Request\r\n\r\n", "$99999999999999\r\n", "*99999999\r\n",
                                     "*-7\r\n", "$3\r\nabcde\r\n", ":1x\r\n"}) {
        const Error error = error_after(answer);
        EXPECT_EQ(error.code, Code::unreachable) << answer;
        EXPECT_NE(error.message.find("this is not the Redis protocol"), std::string::npos) << answer << error.message;
    }
}

TEST(RespConnectionTrouble, takes_no_answer_without_end) {
    const Error error = error_after("+" + std::string(100 << 20, 'x'));
    EXPECT_NE(error.message.find("this is not the Redis protocol"), std::string::npos) << error.message;
}

TEST(RespConnectionTrouble, takes_no_more_answers_than_it_asked_for) {
    EXPECT_NE(error_after("+PONG\r\n+PONG\r\n").message.find("more answers than commands"), std::string::npos);
}

TEST(RespConnectionTrouble, makes_a_new_connection_if_the_store_closed_its_half_meanwhile) {
    RedisImpostor store{RedisImpostor::usual_answer};
    RespConnection connection{*codec::resp::parse_redis(store.url())};
    ASSERT_TRUE(*connection.open(60s));
    ASSERT_TRUE(eventually([&] { return store.connections() == 1; }));
    EXPECT_FALSE(*connection.open(60s)) << "the same";
    store.half_close();
    EXPECT_TRUE(eventually([&] { return *connection.open(60s); }));
    EXPECT_TRUE(eventually([&] { return store.connections() == 2; }));
}

TEST(LeaseManagerTrouble, takes_a_thousand_sessions_in_one_round_trip) {
    std::atomic<int> seen = 0;
    std::string held_back;
    RedisImpostor store{[&](const Words& command) {
        if (!is_taking(command)) return RedisImpostor::usual_answer(command);
        held_back += "+OK\r\n";
        return ++seen % 1000 == 0 ? std::exchange(held_back, {}) : std::string{};
    }};
    Troubles troubles;
    LeaseManager manager{options_for(store, troubles)};
    std::vector<std::string> sessions;
    for (int i = 0; i < 1000; ++i)
        sessions.push_back(std::to_string(i));
    ASSERT_FALSE(manager.add(sessions));
    ASSERT_FALSE(manager.start());
    EXPECT_TRUE(eventually([&] { return manager.owned_sessions().size() == 1000; }));
    EXPECT_EQ(troubles.codes(), std::vector<std::string>{}) << "nothing was waited for in vain";
}

TEST(LeaseManagerTrouble, owns_nothing_of_a_store_that_never_answers_and_can_be_stopped) {
    RedisImpostor store{[](const Words&) { return std::string{}; }};
    Troubles troubles;
    auto options = options_for(store, troubles);
    options.timings.timeout = std::chrono::milliseconds{100};
    LeaseManager manager{options};
    ASSERT_FALSE(manager.start());
    const auto taken = manager.try_acquire("s");
    ASSERT_TRUE(taken.why);
    EXPECT_EQ(taken.why->outcome, Outcome::unreachable);
    EXPECT_TRUE(eventually([&] { return store.connections() >= 3; })) << "it tries again";
    EXPECT_FALSE(manager.is_owned("s"));
    EXPECT_FALSE(manager.stop(std::chrono::milliseconds{0}));
    EXPECT_EQ(troubles.codes(), std::vector<std::string>{"unreachable"}) << "told once";
}

TEST(LeaseManagerTrouble, waits_for_a_store_that_does_not_say_how_long_it_has_been_up) {
    std::atomic<int> takings = 0;
    RedisImpostor store{[&](const Words& command) -> std::string {
        takings += is_taking(command) ? 1 : 0;
        return command[0] == "INFO" ? "-ERR unknown command 'INFO'\r\n" : RedisImpostor::usual_answer(command);
    }};
    Troubles troubles;
    LeaseManager manager{options_for(store, troubles)};
    ASSERT_FALSE(manager.start());
    ASSERT_TRUE(eventually([&] { return !manager.live_nodes().empty(); }));
    EXPECT_FALSE(manager.try_acquire("s"));
    EXPECT_EQ(takings, 0);
    EXPECT_TRUE(eventually([&] { return troubles.codes() == std::vector<std::string>{"recovering"}; }));
}

TEST(LeaseManagerTrouble, counts_the_age_of_a_store_from_its_answer) {
    std::atomic<std::int64_t> answered = 0;
    std::atomic<std::int64_t> taken = 0;
    RedisImpostor store{[&](const Words& command) -> std::string {
        if (is_taking(command)) taken = holder_clock_now().time_since_epoch().count();
        if (command[0] != "INFO") return RedisImpostor::usual_answer(command);
        std::this_thread::sleep_for(std::chrono::seconds{1});
        answered = holder_clock_now().time_since_epoch().count();
        return "$22\r\nuptime_in_seconds:29\r\n\r\n";
    }};
    Troubles troubles;
    auto options = options_for(store, troubles);
    options.timings.timeout = std::chrono::seconds{60};
    LeaseManager manager{options};
    ASSERT_FALSE(manager.add({"s"}));
    ASSERT_FALSE(manager.start());
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    EXPECT_GE(Duration{taken - answered}, 2s) << "it may have been 28 s old when it answered, and no older";
}

TEST(LeaseManagerTrouble, says_once_that_there_is_no_end_of_instances) {
    std::atomic<int> scans = 0;
    std::string nodes = "*2\r\n$1\r\n0\r\n*10001\r\n";
    for (int i = 10'000; i <= 20'000; ++i)
        nodes += "$15\r\npoll:node:" + std::to_string(i) + "\r\n";
    RedisImpostor store{[&](const Words& command) {
        const bool many = command[0] == "SCAN" && ++scans <= 3;
        return many ? nodes : RedisImpostor::usual_answer(command);
    }};
    Troubles troubles;
    auto options = options_for(store, troubles);
    options.timings.refresh_every = std::chrono::milliseconds{50};
    LeaseManager manager{options};
    ASSERT_FALSE(manager.add({"s"}));
    ASSERT_FALSE(manager.start());
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    EXPECT_GE(scans, 4);
    EXPECT_TRUE(eventually([&] { return troubles.codes() == std::vector<std::string>{"too_many_nodes", ""}; }));
}

TEST(LeaseManagerTrouble, says_once_that_a_store_is_full_though_it_can_be_read) {
    std::atomic<int> takings = 0;
    RedisImpostor store{[&](const Words& command) -> std::string {
        if (!is_taking(command)) return RedisImpostor::usual_answer(command);
        return ++takings < 5 ? "-OOM command not allowed\r\n" : "+OK\r\n";
    }};
    Troubles troubles;
    LeaseManager manager{options_for(store, troubles)};
    ASSERT_FALSE(manager.add({"s"}));
    ASSERT_FALSE(manager.start());
    ASSERT_TRUE(eventually([&] { return manager.is_owned("s"); }));
    EXPECT_TRUE(eventually([&] { return troubles.codes() == std::vector<std::string>{"refused", ""}; }));
}

TEST(LeaseManagerStop, of_a_try_ends_it_and_lets_go_of_what_was_taken_meanwhile) {
    std::promise<void> stopped;
    std::atomic<bool> taking = false;
    std::atomic<int> released = 0;
    RedisImpostor store{[&, future = stopped.get_future().share()](const Words& command) {
        if (is_taking(command)) {
            taking = true;
            future.wait();
        }
        released += command[0] == "EVALSHA" && command[1] == release_script_sha ? 1 : 0;
        return RedisImpostor::usual_answer(command);
    }};
    Troubles troubles;
    auto options = options_for(store, troubles);
    options.timings.timeout = std::chrono::minutes{10};
    LeaseManager manager{options};
    ASSERT_FALSE(manager.start());
    std::stop_source stop;
    auto taken = std::async(std::launch::async, [&] {
        Taken last;
        while (!stop.stop_requested())  // it is not preferred before the list of instances was read
            last = manager.try_acquire("s", stop.get_token());
        return last;
    });
    ASSERT_TRUE(eventually([&] { return taking.load(); }));
    stop.request_stop();
    ASSERT_EQ(taken.wait_for(60s), std::future_status::ready) << "well before the timeout";
    const Taken end = taken.get();
    EXPECT_FALSE(end);
    ASSERT_TRUE(end.why);
    EXPECT_EQ(end.why->outcome, Outcome::cancelled);
    stopped.set_value();
    EXPECT_TRUE(eventually([&] { return released > 0; }));
    EXPECT_FALSE(manager.is_owned("s"));
    EXPECT_TRUE(eventually([&] { return manager.sessions().empty(); }));
    EXPECT_EQ(manager.try_acquire("t", stop.get_token()).why->outcome, Outcome::cancelled) << "stopped before";
    EXPECT_TRUE(manager.sessions().empty());
}

TEST(LeaseManagerStop, may_be_called_from_a_callback) {
    RedisImpostor store{RedisImpostor::usual_answer};
    Troubles troubles;
    auto options = options_for(store, troubles);
    std::atomic<bool> stopped = false;
    LeaseManager* itself = nullptr;
    options.on_change = [&](const OwnershipChange& change) {
        if (change.to != Ownership::owned) return;
        itself->stop();
        stopped = true;
    };
    LeaseManager manager{options};
    itself = &manager;
    ASSERT_FALSE(manager.start());
    ASSERT_FALSE(manager.add({"s"}));
    EXPECT_TRUE(eventually([&] { return stopped.load(); }));
    EXPECT_FALSE(manager.is_owned("s"));
}

}  // namespace
}  // namespace holdfast::client::sessions
