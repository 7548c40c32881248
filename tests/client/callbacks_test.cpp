#include <holdfast/local.h>

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/time.h"
#include "client/scripted_server.h"

namespace holdfast::client {
namespace {

/// A callback that does not end before it is let. It outlives the lease, which waits for it.
class Slow {
 public:
    void hang() {
        running_ = true;
        future_.wait();
        running_ = false;
    }
    bool is_running() const { return running_; }
    void let_go() {
        if (!std::exchange(done_, true)) released_.set_value();
    }

 private:
    std::atomic<bool> running_ = false;
    std::promise<void> released_;
    const std::shared_future<void> future_ = released_.get_future().share();
    bool done_ = false;
};

/// Lets it end before the lease does, also when the test fails.
struct LetGo {
    Slow& slow;
    ~LetGo() { slow.let_go(); }
};

/// Renewals of one lease, by the server's count.
struct RenewingServer {
    std::atomic<int> renewed = 0;
    ScriptedServer server{[this](const ScriptedServer::Request& request) -> ScriptedServer::Reply {
        if (request.target == "/v1/leases") return {granted_answer("a", 7, 2000)};
        if (request.method == "DELETE") return {http_answer(200, R"({"id": "a#7", "released": true})")};
        ++renewed;
        return {renewed_answer("a#7", 2000)};
    }};
};

TEST(Callbacks, that_are_slow_hold_up_no_renewal) {
    Slow slow;
    RenewingServer server;
    auto acquired = Client({.server = server.server.url(), .holder = "alice"}).acquire("a");
    ASSERT_TRUE(acquired);
    const LetGo in_the_end{slow};
    acquired.lease().on_change([&](Outcome) { slow.hang(); });
    ASSERT_TRUE(eventually([&] { return slow.is_running(); }));
    const int before = server.renewed;
    EXPECT_TRUE(eventually([&] { return server.renewed >= before + 4; }));
    EXPECT_TRUE(acquired.lease().held()) << "it was renewed past the TTL that it had when the callback began";
    EXPECT_EQ(acquired.lease().state(), Outcome::granted);
    slow.let_go();
}

TEST(Callbacks, that_are_slow_do_not_keep_a_lease_from_ending) {
    Slow slow;
    Local local;
    Client client = local.client();
    auto kept = client.acquire("kept", {.ttl = 1s});
    auto ends = client.acquire("ends", {.ttl = 1s, .keep = false});
    ASSERT_TRUE(kept && ends);
    const LetGo in_the_end{slow};
    kept.lease().on_change([&](Outcome) { slow.hang(); });
    std::atomic<int> told = 0;
    ends.lease().on_lost([&](const Failure&) { ++told; });
    ASSERT_TRUE(eventually([&] { return slow.is_running(); }));
    ASSERT_TRUE(eventually([&] { return !ends.lease().held(); }));
    slow.let_go();
    EXPECT_TRUE(eventually([&] { return told == 1; })) << "it waited, and was not dropped";
}

TEST(Callbacks, tell_the_last_of_several_changes_that_came_meanwhile) {
    Slow slow;
    RenewingServer server;
    std::atomic<int> calls = 0;
    auto acquired = Client({.server = server.server.url(), .holder = "alice"}).acquire("a");
    ASSERT_TRUE(acquired);
    const LetGo in_the_end{slow};
    acquired.lease().on_change([&](Outcome outcome) {
        EXPECT_EQ(outcome, Outcome::granted);
        if (++calls == 1) slow.hang();
    });
    ASSERT_TRUE(eventually([&] { return slow.is_running(); }));
    const int during = server.renewed;
    ASSERT_TRUE(eventually([&] { return server.renewed >= during + 4; }));
    slow.let_go();
    ASSERT_TRUE(eventually([&] { return calls >= 2; }));
    EXPECT_LT(calls, server.renewed - 1);
}

TEST(Callbacks, end_before_a_release_returns_and_none_begins_after_it) {
    Slow slow;
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 1s});
    ASSERT_TRUE(acquired);
    const LetGo in_the_end{slow};
    acquired.lease().on_change([&](Outcome) { slow.hang(); });
    ASSERT_TRUE(eventually([&] { return slow.is_running(); }));
    auto released = std::async(std::launch::async, [&] {
        acquired.lease().release();
        return slow.is_running();
    });
    ASSERT_TRUE(eventually([&] { return !acquired.lease().held(); })) << "at the start of the release";
    EXPECT_TRUE(slow.is_running());
    slow.let_go();
    EXPECT_FALSE(released.get());
}

TEST(Callbacks, may_destroy_their_own_lease_and_the_last_client) {
    Local local;
    auto lease = std::make_shared<std::optional<Lease>>();
    auto client = std::make_unique<Client>(local.client());
    *lease = client->acquire("db", {.ttl = 1s}).lease();
    std::promise<void> done;
    (*lease)->on_change([&](Outcome) {
        client.reset();
        lease->reset();
        done.set_value();
    });
    ASSERT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
    EXPECT_FALSE(*lease);
    EXPECT_TRUE(local.client().acquire("db"));
}

TEST(Callbacks, may_acquire_and_release_with_the_same_client) {
    Local local;
    Client client = local.client();
    auto acquired = client.acquire("db", {.ttl = 1s, .keep = false});
    ASSERT_TRUE(acquired);
    std::promise<Acquired> again;
    acquired.lease().on_lost([&](const Failure&) {
        acquired.lease().release();
        again.set_value(client.acquire("db", {.wait = 60s}));
    });
    auto answer = again.get_future();
    ASSERT_EQ(answer.wait_for(60s), std::future_status::ready);
    EXPECT_TRUE(answer.get());
}

TEST(Callbacks, of_two_clients_may_release_each_others_lease_at_once) {
    Local local;
    auto one = local.client().acquire("one", {.ttl = 1s});
    auto other = local.client().acquire("other", {.ttl = 1s});
    ASSERT_TRUE(one && other);
    std::atomic<int> inside = 0;
    std::atomic<int> done = 0;
    const auto release = [&](Lease& lease) {
        return [&](Outcome) {
            ++inside;
            eventually([&] { return inside >= 2; });
            lease.release();
            ++done;
        };
    };
    one.lease().on_change(release(other.lease()));
    other.lease().on_change(release(one.lease()));
    EXPECT_TRUE(eventually([&] { return done == 2; }));
}

TEST(Callbacks, that_throw_end_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Local local;
            auto acquired = local.client().acquire("db", {.ttl = 1s});
            acquired.lease().on_change([](Outcome) { throw std::runtime_error("a bug of the program"); });
            eventually([] { return false; });
        },
        "a bug of the program");
}

TEST(Callbacks, of_a_lease_that_is_lost_already_may_throw_to_the_caller) {
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 1s, .keep = false});
    ASSERT_TRUE(acquired);
    std::atomic<bool> lost = false;
    acquired.lease().on_lost([&](const Failure&) { lost = true; });
    ASSERT_TRUE(eventually([&] { return lost.load(); }));
    EXPECT_THROW(acquired.lease().on_lost([](const Failure&) { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_FALSE(acquired.lease().release());
}

TEST(Callbacks, are_not_set_in_a_child_of_fork_and_do_not_hang_there) {
    Slow slow;
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 1s});
    ASSERT_TRUE(acquired);
    const LetGo in_the_end{slow};
    acquired.lease().on_change([&](Outcome) { slow.hang(); });
    ASSERT_TRUE(eventually([&] { return slow.is_running(); }));
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        acquired.lease().on_lost([](const Failure&) {});
        acquired.lease().on_change([](Outcome) {});
        const bool released = acquired.lease().release();
        ::_exit(released || acquired.lease().held() ? 1 : 42);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
    slow.let_go();
}

}  // namespace
}  // namespace holdfast::client
