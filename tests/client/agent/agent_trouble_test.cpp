#include <holdfast/agent.h>

#include <atomic>
#include <gtest/gtest.h>
#include <mutex>

#include "base/time.h"
#include "client/scripted_server.h"

namespace holdfast::client::agent {
namespace {

/// A server that keeps one agent and one resource, and can be told to go wrong.
class TroubledServer {
 public:
    std::string url() const { return server_.url(); }
    int acquires() const { return acquires_; }

    std::atomic<bool> silent = false;        ///< to heartbeats
    std::atomic<bool> silent_truth = false;  ///< to verification
    std::atomic<bool> gone = false;          ///< whatever was granted so far is
    std::atomic<int> refusals = 0;           ///< of the next acquires

 private:
    ScriptedServer::Reply answer(const ScriptedServer::Request& request) {
        if (request.target.starts_with("/v1/agents/"))
            return {http_answer(201, R"({"agent": {"id": "a", "priority": 1, "epoch": 1, "deaths": 0}})")};
        if (request.target == "/v1/leases") return acquire();
        if (request.target == "/v1/heartbeat") return heartbeat(request);
        if (request.target == "/v1/verify") return verify();
        return {http_answer(200, R"({"released": true})")};
    }

    ScriptedServer::Reply acquire() {
        ++acquires_;
        if (refusals > 0) {
            --refusals;
            return {http_answer(503, R"({"verdict": "REFUSED", "error": {"code": "recovering", "message": "m"}})")};
        }
        gone = false;
        return {granted_answer("db", ++token_, ttl_ms)};
    }

    ScriptedServer::Reply heartbeat(const ScriptedServer::Request&) {
        if (silent) return {"", true};
        const std::string id = "db#" + std::to_string(token_);
        if (gone) return {rejected_answer(id, "lease_revoked")};
        return {renewed_answer(id, ttl_ms)};
    }

    ScriptedServer::Reply verify() {
        if (silent_truth) return {"", true};
        if (gone || token_ == 0) return {http_answer(200, R"({"results": []})")};
        return {http_answer(200, R"({"results": [{"id": "db#)" + std::to_string(token_) +
                                     R"(", "state": "ACTIVE", "expires_in_ms": 500, "current": []}]})")};
    }

    static constexpr int ttl_ms = 1500;
    std::atomic<std::uint64_t> token_ = 0;
    std::atomic<int> acquires_ = 0;
    ScriptedServer server_{[this](const ScriptedServer::Request& request) { return answer(request); }};
};

struct Told {
    std::mutex mutex;
    std::vector<std::string> steps;
    std::atomic<int> pauses = 0;

    WorkOptions options() {
        return {.patience = 60s,
                .on_step =
                    [this](const Step& step) {
                        const std::lock_guard lock(mutex);
                        steps.push_back(std::string(to_string(step.from)) + ">" + to_string(step.to));
                    },
                .on_pause = [this] { ++pauses; }};
    }
};

Agent agent_of(const TroubledServer& server) {
    return Agent(Client({.server = server.url(), .holder = "a", .timeout = 1s}));
}

TEST(AgentInTrouble, pauses_verifies_and_goes_on_under_the_same_token_if_nothing_was_lost) {
    TroubledServer server;
    Told told;
    const auto performed = agent_of(server).perform(
        {{"db"}},
        [&](Work& work) {
            const auto token = work.token();
            server.silent = true;
            EXPECT_TRUE(eventually([&] { return told.pauses > 0; }));
            EXPECT_TRUE(work.held()) << "it is only in doubt";
            EXPECT_TRUE(work.go_on());
            EXPECT_EQ(work.token(), token);
            server.silent = false;
            return true;
        },
        told.options());
    EXPECT_TRUE(performed) << performed.why->message;
    EXPECT_EQ(server.acquires(), 1);
    EXPECT_EQ(told.steps, (std::vector<std::string>{"PLANNING>ACQUIRING", "ACQUIRING>EXECUTING", "EXECUTING>PAUSED",
                                                    "PAUSED>VERIFYING", "VERIFYING>EXECUTING", "EXECUTING>COMPLETED"}));
}

TEST(AgentInTrouble, acquires_a_lost_lease_anew_over_refusals_and_goes_on_with_a_new_token) {
    TroubledServer server;
    Told told;
    const auto performed = agent_of(server).perform(
        {{"db"}},
        [&](Work& work) {
            const auto token = work.token();
            server.refusals = 2;
            server.gone = true;
            EXPECT_TRUE(eventually([&] { return told.pauses > 0; }));
            EXPECT_FALSE(work.held());
            EXPECT_TRUE(work.go_on());
            EXPECT_GT(work.token(), token);
            EXPECT_TRUE(work.held());
            return true;
        },
        told.options());
    EXPECT_TRUE(performed) << performed.why->message;
    EXPECT_GE(server.acquires(), 4);
    const auto& steps = told.steps;
    EXPECT_EQ(steps.at(4), "VERIFYING>ACQUIRING");
    EXPECT_EQ(steps.at(5), "ACQUIRING>ACQUIRING");
    EXPECT_EQ(steps.at(steps.size() - 2), "ACQUIRING>EXECUTING");
}

TEST(AgentInTrouble, does_not_go_on_past_its_own_deadline_whatever_nobody_says) {
    TroubledServer server;
    Told told;
    std::atomic<bool> expired_while_verifying = false;
    auto options = told.options();
    options.on_step = [&](const Step& step) {
        if (step.from == IntentState::verifying && step.to == IntentState::verifying) {
            EXPECT_GT(step.retry_in, 0ms);
        }
        if (step.to != IntentState::acquiring || step.from != IntentState::verifying) return;
        expired_while_verifying = true;
        server.silent = false;
        server.silent_truth = false;
    };
    const auto performed = agent_of(server).perform(
        {{"db"}},
        [&](Work& work) {
            const auto token = work.token();
            server.silent = true;
            server.silent_truth = true;
            EXPECT_TRUE(eventually([&] { return told.pauses > 0; }));
            EXPECT_TRUE(work.go_on());
            EXPECT_GT(work.token(), token);
            return true;
        },
        options);
    EXPECT_TRUE(performed) << performed.why->message;
    EXPECT_TRUE(expired_while_verifying);
}

TEST(AgentInTrouble, is_not_complete_if_its_lease_was_gone_at_the_end) {
    TroubledServer server;
    Told told;
    const auto performed = agent_of(server).perform(
        {{"db"}},
        [&](Work& work) {
            server.gone = true;
            EXPECT_TRUE(eventually([&] { return !work.held(); }));
            return true;
        },
        told.options());
    EXPECT_EQ(performed.state, IntentState::aborted);
    EXPECT_EQ(performed.why.value().outcome, Outcome::lost);
}

TEST(AgentInTrouble, gives_up_when_its_patience_is_at_an_end) {
    const std::string nowhere = [] {
        return ScriptedServer([](const auto&) { return ScriptedServer::Reply{}; }).url();
    }();
    Agent agent(Client({.server = nowhere, .holder = "a", .timeout = 200ms}));
    EXPECT_EQ(agent.start().value().outcome, Outcome::unreachable);
    const auto performed = agent.perform({{"db"}}, [](Work&) { return true; }, {.patience = 500ms});
    EXPECT_EQ(performed.why.value().outcome, Outcome::unreachable);
}

}  // namespace
}  // namespace holdfast::client::agent
