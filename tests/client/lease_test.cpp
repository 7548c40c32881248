#include <holdfast/local.h>

#include <atomic>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <signal.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/time.h"
#include "client/scripted_server.h"

namespace holdfast::client {
namespace {

TEST(Lease, that_holds_nothing_answers_everything) {
    Lease lease;
    EXPECT_FALSE(lease.held());
    EXPECT_EQ(lease.remaining(), 0ns);
    EXPECT_EQ(lease.state(), Outcome::lost);
    EXPECT_TRUE(lease.grants().empty());
    EXPECT_FALSE(lease.release());
}

TEST(Lease, moves_and_takes_its_duty_to_release_along) {
    Local local;
    Client client = local.client();
    auto acquired = client.acquire("db");
    ASSERT_TRUE(acquired);
    Lease moved = std::move(acquired.lease());
    EXPECT_FALSE(acquired.lease().held());
    EXPECT_TRUE(moved.held());
    moved = Lease();
    EXPECT_TRUE(client.acquire("db"));
}

TEST(Lease, has_its_deadlines_in_order) {
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 60s});
    ASSERT_TRUE(acquired);
    const Remaining left = acquired.lease().timeline();
    EXPECT_LT(0ns, left.soft);
    EXPECT_LT(left.soft, left.hard);
    EXPECT_LT(left.hard, left.end);
    EXPECT_LE(left.end, 59'400ms);
}

TEST(Lease, is_not_held_from_the_start_of_its_release_and_is_not_told_lost) {
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 1s, .keep = false});
    ASSERT_TRUE(acquired);
    std::atomic<int> told = 0;
    acquired.lease().on_lost([&](const Failure&) { ++told; });
    EXPECT_TRUE(acquired.lease().release());
    EXPECT_FALSE(acquired.lease().held());
    EXPECT_EQ(acquired.lease().timeline().hard, 0ns);
    EXPECT_TRUE(acquired.lease().release()) << "releasing again changes nothing";
    auto after = local.client().acquire("other", {.ttl = 1s, .keep = false});
    ASSERT_TRUE(after);
    ASSERT_TRUE(eventually([&] { return !after.lease().held(); }));
    EXPECT_EQ(told, 0);
}

TEST(Lease, may_be_released_by_its_own_callback) {
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 1s});
    ASSERT_TRUE(acquired);
    std::atomic<bool> released = false;
    acquired.lease().on_change([&](Outcome) { released = acquired.lease().release(); });
    EXPECT_TRUE(eventually([&] { return released.load(); }));
    EXPECT_TRUE(local.client().acquire("db"));
}

TEST(Lease, lets_the_last_client_go_in_a_callback) {
    Local local;
    auto client = std::make_shared<Client>(local.client());
    auto acquired = client->acquire("db", {.ttl = 1s, .keep = false});
    ASSERT_TRUE(acquired);
    std::atomic<bool> lost = false;
    acquired.lease().on_lost([client, &lost](const Failure&) { lost = true; });
    client.reset();
    EXPECT_TRUE(eventually([&] { return lost.load(); }));
}

TEST(Lease, is_asked_by_many_threads_while_it_is_renewed) {
    Local local;
    auto acquired = local.client().acquire("db", {.ttl = 3s});
    ASSERT_TRUE(acquired);
    std::atomic<bool> done = false;
    std::atomic<int> renewals = 0;
    acquired.lease().on_change([&](Outcome) { ++renewals; });
    std::vector<std::thread> readers;
    std::atomic<int> misses = 0;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back([&] {
            while (!done)
                misses += !acquired.lease().held() || acquired.lease().remaining() > 2950ms;
        });
    EXPECT_TRUE(eventually([&] { return renewals >= 3; }));
    done = true;
    for (auto& reader : readers)
        reader.join();
    EXPECT_EQ(misses, 0);
}

/// The child of a fork() asks with `_exit` codes, since it has no threads to report with.
int in_child(const std::function<int()>& question) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(question());
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Lease, stays_with_the_parent_when_the_process_forks) {
    Local local;
    Client client = local.client();
    std::optional<Acquired> acquired = client.acquire("db");
    ASSERT_TRUE(*acquired);
    EXPECT_EQ(in_child([&] {
                  if (acquired->lease().held()) return 1;
                  if (acquired->lease().remaining() != 0ns) return 2;
                  if (client.acquire("other").outcome() != Outcome::refused) return 3;
                  acquired.reset();  // must neither hang nor release what is the parent's
                  return 42;
              }),
              42);
    EXPECT_TRUE(acquired->lease().held());
    EXPECT_EQ(local.client().acquire("db").outcome(), Outcome::busy);
}

TEST(Lease, is_not_held_when_a_stopped_process_wakes_after_its_deadline) {
    const pid_t child = ::fork();
    if (child == 0) {
        Local local;
        auto acquired = local.client().acquire("db", {.ttl = 2s});
        if (!acquired || !acquired.lease().held()) ::_exit(1);
        ::raise(SIGSTOP);
        ::_exit(acquired.lease().held() ? 2 : 42);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    std::this_thread::sleep_for(2100ms);  // what is tested is that much time passing
    ::kill(child, SIGCONT);
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 42);
}

}  // namespace
}  // namespace holdfast::client
