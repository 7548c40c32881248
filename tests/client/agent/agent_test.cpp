#include <holdfast/agent.h>
#include <holdfast/local.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>

#include "base/time.h"
#include "client/scripted_server.h"

namespace holdfast::client::agent {
namespace {

const std::function<bool(Work&)> nothing_to_do = [](Work& work) { return work.go_on(); };

/// The steps of a run, as text: `PLANNING>ACQUIRING`, with the code where there is a reason.
struct Steps {
    std::vector<std::string> told;

    std::function<void(const Step&)> listener() {
        return [this](const Step& step) {
            std::string text = std::string(to_string(step.from)) + ">" + to_string(step.to);
            told.push_back(step.why ? text + " " + step.why->code : text);
        };
    }
};

class AgentTest : public testing::Test {
 protected:
    AgentTest() {
        std::string name = (std::filesystem::temp_directory_path() / "holdfast-agent-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a directory");
        directory_ = name;
    }
    ~AgentTest() override { std::filesystem::remove_all(directory_); }

    Agent agent(const std::string& id, AgentOptions options = {}) {
        return Agent(local_.client(id), std::move(options));
    }
    Agent durable_agent(const std::string& id) { return agent(id, {.state_file = (directory_ / id).string()}); }

    Local local_;
    std::filesystem::path directory_;
};

TEST_F(AgentTest, does_its_work_under_the_lease_and_gives_it_back) {
    Steps steps;
    Agent alice = agent("alice", {.priority = 100});
    const auto performed =
        alice.perform({{"FILE:/a"}, {"FILE:/b", "CONSUMES"}},
                      [&](Work& work) {
                          EXPECT_TRUE(work.go_on());
                          EXPECT_TRUE(work.held());
                          EXPECT_EQ(work.grants().size(), 2U);
                          EXPECT_EQ(work.grants()[1].predicate, "CONSUMES");
                          EXPECT_EQ(work.token(), work.grants()[0].token);
                          EXPECT_EQ(local_.client("bob").acquire("FILE:/a").outcome(), Outcome::busy);
                          EXPECT_EQ(alice.pending().size(), 2U);
                          return true;
                      },
                      {.on_step = steps.listener()});
    EXPECT_TRUE(performed);
    EXPECT_EQ(performed.state, IntentState::completed);
    EXPECT_EQ(steps.told,
              (std::vector<std::string>{"PLANNING>ACQUIRING", "ACQUIRING>EXECUTING", "EXECUTING>COMPLETED"}));
    EXPECT_TRUE(local_.client("bob").acquire("FILE:/a"));
    EXPECT_TRUE(alice.pending().empty());
    EXPECT_EQ(alice.priority(), 100);
    EXPECT_EQ(alice.epoch(), 1U);
}

TEST_F(AgentTest, waits_for_a_younger_one_and_says_for_whom) {
    Agent old_one = agent("old", {.priority = 1});
    Agent young_one = agent("young", {.priority = 2});
    std::atomic<bool> told_busy = false;
    std::thread waiter;
    EXPECT_TRUE(young_one.perform({{"db"}}, [&](Work&) {
        waiter = std::thread([&] {
            const auto performed = old_one.perform({{"db"}}, nothing_to_do, {.on_step = [&](const Step& step) {
                                                       if (!step.why) return;
                                                       EXPECT_EQ(step.why->outcome, Outcome::busy);
                                                       EXPECT_EQ(step.why->conflicts.at(0).holder, "young");
                                                       EXPECT_EQ(step.why->queue_position, 1U);
                                                       told_busy = true;
                                                   }});
            EXPECT_TRUE(performed) << performed.why->message;
        });
        EXPECT_TRUE(eventually([&] { return told_busy.load(); }));
        return true;
    }));
    waiter.join();
}

TEST_F(AgentTest, told_to_die_comes_back_in_its_next_life_with_the_same_priority) {
    Agent old_one = agent("old", {.priority = 1});
    Agent young_one = agent("young", {.priority = 2});
    std::atomic<int> deaths = 0;
    std::thread younger;
    EXPECT_TRUE(old_one.perform({{"db"}}, [&](Work&) {
        younger = std::thread([&] {
            const auto performed = young_one.perform({{"db"}}, nothing_to_do, {.on_step = [&](const Step& step) {
                                                         if (!step.why || step.why->outcome != Outcome::die) return;
                                                         EXPECT_EQ(step.to, IntentState::planning);
                                                         EXPECT_GT(step.retry_in, 0ms);
                                                         EXPECT_EQ(step.why->conflicts.at(0).holder, "old");
                                                         ++deaths;
                                                     }});
            EXPECT_TRUE(performed) << performed.why->message;
        });
        EXPECT_TRUE(eventually([&] { return deaths >= 2; }));
        return true;
    }));
    younger.join();
    EXPECT_EQ(young_one.priority(), 2);
    EXPECT_EQ(young_one.epoch(), 1U + static_cast<unsigned>(deaths));
}

TEST_F(AgentTest, told_to_die_leaves_if_it_should) {
    Agent old_one = agent("old", {.priority = 1});
    Agent young_one = agent("young", {.priority = 2});
    EXPECT_TRUE(old_one.perform({{"db"}}, [&](Work&) {
        const auto performed = young_one.perform({{"db"}}, nothing_to_do, {.on_die = OnDie::leave});
        EXPECT_EQ(performed.state, IntentState::aborted);
        EXPECT_EQ(performed.why.value().outcome, Outcome::die);
        EXPECT_TRUE(performed.why->retry_in);
        return true;
    }));
    EXPECT_EQ(young_one.pending().size(), 1U) << "it is still to be done";
}

TEST_F(AgentTest, has_no_more_patience_than_it_was_given) {
    auto held = local_.client("bob").acquire("db");
    ASSERT_TRUE(held);
    Agent alice = agent("alice");
    for (const auto patience : {0ms, 300ms}) {
        const auto performed = alice.perform({{"db"}}, nothing_to_do, {.patience = patience});
        EXPECT_EQ(performed.state, IntentState::aborted);
        EXPECT_EQ(performed.why.value().outcome, Outcome::busy);
    }
    EXPECT_EQ(alice.perform({{""}}, nothing_to_do).why.value().code, "invalid_argument");
    EXPECT_EQ(alice.perform({}, nothing_to_do).why.value().code, "invalid_argument");
}

TEST_F(AgentTest, works_on_one_manifest_at_a_time) {
    Agent alice = agent("alice");
    EXPECT_TRUE(alice.perform({{"a"}}, [&](Work&) {
        EXPECT_EQ(alice.perform({{"b"}}, nothing_to_do).why.value().code, "agent_busy");
        return true;
    }));
    EXPECT_TRUE(alice.perform({{"b"}}, nothing_to_do));
}

TEST_F(AgentTest, gives_back_what_a_function_that_throws_had) {
    Agent alice = agent("alice");
    EXPECT_THROW((void)alice.perform({{"a"}}, [](Work&) -> bool { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_TRUE(local_.client("bob").acquire("a"));
    EXPECT_TRUE(alice.perform({{"b"}}, nothing_to_do));
}

TEST_F(AgentTest, stops_waiting_working_and_resting_when_told_to) {
    auto held = local_.client("bob").acquire("db");
    ASSERT_TRUE(held);
    Agent waiting = agent("waiting");
    std::atomic<bool> waits = false;
    std::thread waiter([&] {
        const auto performed = waiting.perform({{"db"}}, nothing_to_do, {.on_step = [&](const Step& step) {
                                                   if (step.why) waits = true;
                                               }});
        EXPECT_EQ(performed.why.value().code, "stopped");
    });
    EXPECT_TRUE(eventually([&] { return waits.load(); }));
    waiting.stop();
    waiter.join();

    Agent working = agent("working");
    const auto performed = working.perform({{"other"}}, [&](Work& work) {
        EXPECT_TRUE(work.go_on());
        working.stop();
        EXPECT_FALSE(work.go_on());
        EXPECT_FALSE(work.go_on()) << "and it stays so";
        return true;
    });
    EXPECT_EQ(performed.why.value().code, "stopped");
    EXPECT_TRUE(local_.client("bob").acquire("other")) << "what it held was given back";
}

TEST_F(AgentTest, keeps_priority_session_checkpoint_and_pending_work_for_its_next_life) {
    std::uint64_t first_token = 0;
    std::int64_t priority = 0;
    {
        Agent alice = durable_agent("alice");
        ASSERT_FALSE(alice.start());
        EXPECT_EQ(alice.epoch(), 1U);
        priority = alice.priority();
        EXPECT_GT(priority, 0);
        const auto performed = alice.perform({{"db"}, {"log"}}, [&](Work& work) {
            first_token = work.token();
            EXPECT_FALSE(alice.save("page 3"));
            EXPECT_FALSE(alice.declare_restart());
            EXPECT_FALSE(work.go_on());
            return false;
        });
        EXPECT_EQ(performed.why.value().code, "agent_restarting");
    }
    EXPECT_EQ(local_.client("bob").acquire("db").outcome(), Outcome::busy) << "it is kept for the next life";
    Agent alice = durable_agent("alice");
    EXPECT_EQ(alice.epoch(), 0U);
    ASSERT_FALSE(alice.start());
    EXPECT_EQ(alice.epoch(), 2U);
    EXPECT_EQ(alice.priority(), priority);
    EXPECT_EQ(alice.checkpoint(), "page 3");
    ASSERT_EQ(alice.left_behind().size(), 2U);
    EXPECT_EQ(alice.left_behind()[0].resource, "db");
    EXPECT_TRUE(alice.left_behind()[0].active);
    ASSERT_EQ(alice.pending().size(), 2U);
    EXPECT_TRUE(alice.perform(alice.pending(), [&](Work& work) {
        EXPECT_GT(work.token(), first_token);
        EXPECT_TRUE(alice.left_behind().empty());
        return work.go_on();
    }));
    EXPECT_TRUE(local_.client("bob").acquire({{"db"}, {"log"}})) << "nothing of either life is left";
}

TEST_F(AgentTest, without_a_digest_begins_a_new_life_each_time_and_ousts_the_one_before) {
    Agent first = agent("alice");
    ASSERT_FALSE(first.start());
    EXPECT_EQ(first.epoch(), 1U);
    Agent second = agent("alice");
    ASSERT_FALSE(second.start());
    EXPECT_EQ(second.epoch(), 2U);
    EXPECT_EQ(second.priority(), first.priority());
    EXPECT_EQ(first.perform({{"db"}}, nothing_to_do).why.value().code, "stale_epoch");
    EXPECT_TRUE(second.perform({{"db"}}, nothing_to_do));
}

TEST_F(AgentTest, ends_its_work_when_a_newer_life_is_there) {
    Agent first = agent("alice");
    Agent second = agent("alice");
    Steps steps;
    std::atomic<bool> asked_to_pause = false;
    const auto performed =
        first.perform({{"db"}},
                      [&](Work& work) {
                          EXPECT_FALSE(second.start());
                          EXPECT_TRUE(eventually([&] { return asked_to_pause.load(); })) << "a renewal is refused";
                          EXPECT_FALSE(work.held());
                          EXPECT_FALSE(work.go_on());
                          return true;
                      },
                      {.ttl = 1500ms, .on_step = steps.listener(), .on_pause = [&] { asked_to_pause = true; }});
    EXPECT_EQ(performed.why.value().code, "stale_epoch");
    EXPECT_EQ(steps.told.back(), "VERIFYING>ABORTED stale_epoch");
}

TEST_F(AgentTest, refuses_a_digest_that_is_damaged_in_use_or_of_another) {
    {
        Agent alice = durable_agent("alice");
        ASSERT_FALSE(alice.start());
        EXPECT_EQ(durable_agent("alice").start().value().code, "digest_in_use");
        EXPECT_EQ(alice.save(std::string(100'000, 'x')).value().code, "invalid_argument");
    }
    EXPECT_EQ(agent("bob", {.state_file = (directory_ / "alice").string()}).start().value().code, "invalid_argument");
    std::ofstream(directory_ / "alice") << "nonsense";
    EXPECT_EQ(durable_agent("alice").start().value().code, "digest_damaged");
    EXPECT_EQ(durable_agent("alice").perform({{"db"}}, nothing_to_do).why.value().code, "digest_damaged");
}

}  // namespace
}  // namespace holdfast::client::agent
