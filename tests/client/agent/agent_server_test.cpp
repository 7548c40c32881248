#include <holdfast/agent.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>
#include <regex>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"
#include "client/http_connection.h"
#include "client/scripted_server.h"
#include "client/server_process.h"

namespace holdfast::client::agent {
namespace {

/// The example agent as a process: read line by line, and killed.
class AgentProcess {
 public:
    AgentProcess(const ServerProcess& server, const std::string& state_file, const std::string& pages) {
        std::array<int, 2> output{};
        if (::pipe2(output.data(), O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
        const std::string where = "HOLDFAST_SERVER=" + server.url();
        std::array<char*, 2> environment{const_cast<char*>(where.c_str()), nullptr};
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::dup2(output[1], STDOUT_FILENO);
            ::execle(EXAMPLE_AGENT, EXAMPLE_AGENT, "writer", state_file.c_str(), pages.c_str(), nullptr,
                     environment.data());
            ::_exit(127);
        }
        ::close(output[1]);
        output_ = output[0];
    }
    ~AgentProcess() {
        kill();
        ::close(output_);
    }
    AgentProcess(const AgentProcess&) = delete;
    AgentProcess& operator=(const AgentProcess&) = delete;

    /// Waits until it has said something like this; the number in it.
    std::uint64_t wait_for(const std::string& pattern) {
        const std::regex wanted(pattern);
        std::smatch found;
        const bool came = eventually([&] {
            read_some();
            return std::regex_search(said_, found, wanted);
        });
        if (!came) throw std::runtime_error("the agent never said " + pattern + " but: " + said_);
        return std::stoull(found[1]);
    }

    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    /// Its exit code.
    int wait() {
        int status = 0;
        if (!eventually([&] { return read_some(), ::waitpid(pid_, &status, WNOHANG) == pid_; })) return -1;
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

 private:
    void read_some() {
        pollfd readable{output_, POLLIN, 0};
        while (::poll(&readable, 1, 0) > 0) {
            std::array<char, 1024> chunk{};
            const auto got = ::read(output_, chunk.data(), chunk.size());
            if (got <= 0) return;
            said_.append(chunk.data(), static_cast<std::size_t>(got));
        }
    }

    pid_t pid_ = -1;
    int output_ = -1;
    std::string said_;
};

class AgentAndServer : public testing::Test {
 protected:
    AgentAndServer() {
        std::string name = (std::filesystem::temp_directory_path() / "holdfast-agents-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a directory");
        directory_ = name;
    }
    ~AgentAndServer() override { std::filesystem::remove_all(directory_); }

    Client client(const std::string& holder) { return Client({.server = server_.url(), .holder = holder}); }
    Agent agent(const std::string& id, std::optional<std::int64_t> priority = {}) {
        return Agent(client(id), {.priority = priority, .state_file = (directory_ / id).string()});
    }

    ServerProcess server_;
    std::filesystem::path directory_;
};

TEST_F(AgentAndServer, an_agent_that_is_killed_and_started_again_goes_on_where_it_was) {
    const std::string state = (directory_ / "writer").string();
    AgentProcess first(server_, state, "1000");
    EXPECT_EQ(first.wait_for("life (\\d+), goes on after page 0\n"), 1U);
    const auto token = first.wait_for("page 3, written with token (\\d+)\n");
    first.kill();
    EXPECT_EQ(client("bob").acquire("FILE:/book/page1").outcome(), Outcome::busy) << "nobody comes between";
    AgentProcess second(server_, state, "8");
    EXPECT_GE(second.wait_for("life 2, goes on after page (\\d+)\n"), 2U)
        << "page 3 may have been written but not saved";
    EXPECT_GT(second.wait_for("page 8, written with token (\\d+)\n"), token);
    EXPECT_EQ(second.wait(), 0);
    EXPECT_TRUE(client("bob").acquire("FILE:/book/page1")) << "nothing of either life is left";
}

TEST_F(AgentAndServer, the_younger_is_told_to_die_until_the_older_is_done) {
    Agent old_one = agent("old", 1);
    Agent young_one = agent("young", 2);
    std::atomic<int> deaths = 0;
    std::thread younger;
    EXPECT_TRUE(old_one.perform({{"FILE:/src/**"}}, [&](Work& work) {
        younger = std::thread([&] {
            const auto performed = young_one.perform(
                {{"FILE:/src/main.c"}}, [](Work& w) { return w.go_on(); },
                {.on_step = [&](const Step& step) { deaths += step.why && step.why->outcome == Outcome::die; }});
            EXPECT_TRUE(performed) << performed.why->message;
        });
        EXPECT_TRUE(eventually([&] { return deaths >= 2; }));
        return work.go_on();
    }));
    younger.join();
    EXPECT_EQ(young_one.epoch(), 1U + static_cast<unsigned>(deaths));
    EXPECT_EQ(young_one.priority(), 2);
}

TEST_F(AgentAndServer, a_planned_restart_keeps_everything_for_the_next_life_and_over_one_of_the_server) {
    std::uint64_t token = 0;
    {
        Agent alice = agent("alice", 5);
        const auto performed = alice.perform({{"a"}, {"b", "CONSUMES"}}, [&](Work& work) {
            token = work.token();
            EXPECT_FALSE(alice.declare_restart());
            return work.go_on();
        });
        EXPECT_EQ(performed.why.value().code, "agent_restarting");
    }
    server_.stop();
    server_.start();
    EXPECT_EQ(client("bob").acquire("a").outcome(), Outcome::busy);
    Agent alice = agent("alice");
    ASSERT_FALSE(alice.start());
    EXPECT_EQ(alice.epoch(), 2U);
    EXPECT_EQ(alice.priority(), 5);
    EXPECT_EQ(alice.left_behind().size(), 2U);
    EXPECT_TRUE(alice.perform(alice.pending(), [&](Work& work) { return work.go_on() && work.token() > token; }));
    EXPECT_TRUE(client("bob").acquire({{"a"}, {"b"}}));
}

TEST_F(AgentAndServer, reserved_for_an_agent_past_the_expiry_of_its_lease) {
    {
        Agent alice = agent("alice");
        (void)alice.perform({{"a"}},
                            [&](Work& work) {
                                EXPECT_FALSE(alice.declare_restart());
                                return work.go_on();
                            },
                            {.ttl = 1s});
    }
    Client bob = client("bob");
    EXPECT_TRUE(eventually([&] {
        const auto refused = bob.acquire("a");
        EXPECT_EQ(refused.outcome(), Outcome::busy);
        return !refused && refused.failure().conflicts.at(0).reserved;
    })) << "its lease has run out, and it is reserved";
    Agent alice = agent("alice");
    ASSERT_FALSE(alice.start());
    ASSERT_EQ(alice.left_behind().size(), 1U);
    EXPECT_FALSE(alice.left_behind()[0].active);
    EXPECT_GT(alice.left_behind()[0].remaining, 0ms);
    EXPECT_TRUE(alice.perform(alice.pending(), [](Work& work) { return work.go_on(); }));
}

TEST_F(AgentAndServer, the_work_goes_on_with_a_new_token_after_an_admin_took_the_lease_away) {
    Agent alice = agent("alice");
    std::atomic<bool> asked_to_pause = false;
    const auto performed = alice.perform(
        {{"db"}},
        [&](Work& work) {
            const auto token = work.token();
            const std::string target = "/v1/leases/" + percent_encode(work.grants().front().id) + "/revoke";
            const auto revoked = HttpConnection(server_.url()).send({.method = "POST", .target = target}, 20s);
            EXPECT_TRUE(revoked && revoked->status == 200);
            EXPECT_TRUE(eventually([&] { return asked_to_pause.load(); }));
            EXPECT_TRUE(work.go_on());
            EXPECT_GT(work.token(), token);
            return true;
        },
        {.ttl = 2s, .on_pause = [&] { asked_to_pause = true; }});
    EXPECT_TRUE(performed) << performed.why->message;
}

TEST_F(AgentAndServer, a_lease_whose_progress_stands_still_is_lost_where_the_policy_says_so) {
    const HttpRequest idle_limit{.method = "PATCH", .target = "/v1/policy", .body = R"({"idle_max_ms": 3000})"};
    const auto changed = HttpConnection(server_.url()).send(idle_limit, 20s);
    ASSERT_TRUE(changed && changed->status == 200);
    auto acquired = client("bob").acquire("db", {.ttl = 2s});
    ASSERT_TRUE(acquired) << acquired.failure().message;
    Lease& lease = acquired.lease();
    std::atomic<int> renewals = 0;
    std::atomic<bool> lost = false;
    std::string code;
    lease.on_change([&](Outcome outcome) {
        if (outcome != Outcome::granted) return;
        lease.progress(static_cast<std::uint64_t>(std::min(++renewals, 10)));
    });
    lease.on_lost([&](const Failure& failure) {
        code = failure.code;
        lost = true;
    });
    ASSERT_TRUE(eventually([&] { return lost.load(); }));
    EXPECT_GE(renewals, 10) << "as long as it rose, it was renewed";
    EXPECT_EQ(code, "lease_idle");
}

}  // namespace
}  // namespace holdfast::client::agent
