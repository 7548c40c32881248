#include "cli/mcp/mcp_leases.h"

#include <atomic>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <thread>

#include "base/clock.h"

namespace holdfast::cli::mcp {
namespace {

client::Timing timing_of(Duration ttl) {
    return {{ttl / 3, ttl * 2 / 3, ttl * 5 / 6, ttl}, ttl};
}

client::RenewReply renewed_for(Duration ttl) {
    return client::Renewed{timing_of(ttl)};
}

/// A server that grants what is asked for, with a token that rises, and answers every renewal in the same way.
class Server final : public client::Transport {
 public:
    void grants_for(Duration ttl) {
        const std::lock_guard lock(mutex_);
        ttl_ = ttl;
    }
    void refuses(Failure failure) {
        const std::lock_guard lock(mutex_);
        refusal_ = std::move(failure);
    }
    void answers(client::RenewReply answer) {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(answer);
    }
    void answers_all(Error error) {
        const std::lock_guard lock(mutex_);
        error_ = std::move(error);
    }
    std::size_t renewed() const { return renewed_; }
    client::NamedLeases last() {
        const std::lock_guard lock(mutex_);
        return last_;
    }
    client::AcquireAsk asked() {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    std::vector<std::string> released() {
        const std::lock_guard lock(mutex_);
        return released_;
    }

    client::AcquireReply acquire(const client::AcquireAsk& ask, Duration, const std::stop_token&) override {
        const std::lock_guard lock(mutex_);
        asked_ = ask;
        if (refusal_) return *refusal_;
        std::vector<client::TimedGrant> grants;
        for (const auto& [resource, predicate] : ask.intents) {
            const std::uint64_t token = ++token_;
            grants.push_back({{fmt::format("{}#{}", resource, token), resource, predicate.text(), token},
                              timing_of(ttl_),
                              holder_clock_now()});
        }
        return grants;
    }
    Result<std::vector<client::RenewReply>> renew(const client::NamedLeases& leases, Duration) override {
        const std::lock_guard lock(mutex_);
        last_ = leases;
        ++renewed_;
        if (error_) return *error_;
        std::vector<client::RenewReply> replies(leases.leases.size(), answer_);
        for (std::size_t i = 0; i < replies.size(); ++i)
            if (auto* renewed = std::get_if<client::Renewed>(&replies[i]))
                renewed->grant = {leases.leases[i].id, leases.leases[i].id.substr(0, 1), "MUTATES", 17};
        return replies;
    }
    Result<std::vector<client::ReleaseReply>> release(const client::NamedLeases& leases, Duration) override {
        const std::lock_guard lock(mutex_);
        for (const auto& lease : leases.leases)
            released_.push_back(lease.id);
        if (error_) return *error_;
        return std::vector<client::ReleaseReply>(leases.leases.size(), client::Released{"RELEASED"});
    }
    Result<client::AgentKnown> register_agent(const client::AgentAsk&, Duration) override { return Error{}; }
    Result<void> declare_restart(const client::AgentAsk&, Duration) override { return {}; }
    Result<std::vector<client::VerifiedLease>> verify_all(const client::AgentAsk&, Duration) override {
        return Error{};
    }
    std::shared_ptr<Transport> twin() const override { return nullptr; }
    void stop() override {}

 private:
    std::mutex mutex_;
    Duration ttl_ = 60s;
    std::uint64_t token_ = 0;
    client::AcquireAsk asked_;
    std::optional<Failure> refusal_;
    client::RenewReply answer_ = Error{};
    std::optional<Error> error_;
    client::NamedLeases last_;
    std::vector<std::string> released_;
    std::atomic<std::size_t> renewed_ = 0;
};

class McpLeasesTest : public testing::Test {
 protected:
    void claim(const std::string& resource, Duration ttl = 60s) {
        server->grants_for(ttl);
        ASSERT_TRUE(std::holds_alternative<client::Timing>(leases.acquire({{resource}}, {})));
    }
    static void await(const std::function<bool()>& done) {
        for (int i = 0; i < 3000 && !done(); ++i)
            std::this_thread::sleep_for(10ms);
        ASSERT_TRUE(done());
    }
    std::vector<McpLeases::Lost> await_lost(std::size_t count) {
        std::vector<McpLeases::Lost> lost;
        await([&] {
            for (auto& one : leases.take_lost())
                lost.push_back(std::move(one));
            return lost.size() >= count;
        });
        return lost;
    }

    std::shared_ptr<Server> server = std::make_shared<Server>();
    McpAgent agent{{"alice", "default", ""}};
    McpLeases leases{server, agent};
};

TEST_F(McpLeasesTest, are_renewed_in_the_background) {
    server->answers(renewed_for(1500ms));
    claim("a", 1500ms);
    await([&] { return server->renewed() >= 3; });
    EXPECT_TRUE(leases.holds("a#1"));
    EXPECT_TRUE(leases.take_lost().empty());
    EXPECT_EQ(server->last().holder, "alice");
    EXPECT_EQ(server->last().leases.at(0).id, "a#1");
}

TEST_F(McpLeasesTest, that_are_not_answered_are_tried_again_and_lost_at_their_end) {
    server->answers_all({Code::unreachable, "nobody is there"});
    claim("a", 1000ms);
    const auto lost = await_lost(1);
    EXPECT_GE(server->renewed(), 2U);
    EXPECT_EQ(lost[0].id, "a#1");
    EXPECT_EQ(lost[0].resource, "a");
    EXPECT_EQ(lost[0].code, ErrorCode{});
    EXPECT_EQ(lost[0].why, "it could not be renewed in time");
    EXPECT_FALSE(leases.holds("a#1"));
    EXPECT_TRUE(leases.take_lost().empty()) << "told once";
}

TEST_F(McpLeasesTest, that_the_server_ended_are_lost_at_once) {
    server->answers(Error{Code::lease_revoked, "because"});
    claim("a", 6000ms);
    const auto lost = await_lost(1);
    EXPECT_EQ(lost[0].code, Code::lease_revoked);
    EXPECT_EQ(lost[0].why, "because");
    EXPECT_EQ(server->renewed(), 1U);
}

TEST_F(McpLeasesTest, that_could_not_be_renewed_say_what_the_server_refused) {
    server->answers(Error{Code::over_quota, "because"});
    claim("a", 1000ms);
    const auto lost = await_lost(1);
    EXPECT_EQ(lost[0].code, Code::over_quota);
    EXPECT_EQ(lost[0].why, "because");
}

TEST_F(McpLeasesTest, of_an_agent_that_was_replaced_are_all_lost) {
    server->answers_all({Code::stale_epoch, "epoch 4 is over"});
    claim("a", 3000ms);
    claim("b", 3000ms);
    const auto lost = await_lost(2);
    EXPECT_EQ(lost[0].why, "a newer process of this agent has taken over");
    EXPECT_EQ(lost[1].code, Code::stale_epoch);
}

TEST_F(McpLeasesTest, that_the_server_says_have_ended_are_lost) {
    claim("a");
    leases.lose("a#1", {ErrorCode{}, "the server says it is REVOKED"});
    leases.lose("a#1", {ErrorCode{}, "once more"});
    const auto lost = leases.take_lost();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].why, "the server says it is REVOKED");
    EXPECT_FALSE(leases.holds("a#1"));
}

TEST_F(McpLeasesTest, are_known_by_the_paths_they_were_claimed_by) {
    server->answers(renewed_for(60s));
    claim("a");
    leases.remember_path("a#1", "src/a.c");
    leases.remember_path("unknown", "b.c");
    EXPECT_TRUE(leases.renew(*server, {"a#1"}, {}));
    EXPECT_EQ(leases.held().at(0).paths, std::set<std::string>{"src/a.c"}) << "also after a renewal";
}

TEST_F(McpLeasesTest, that_were_given_back_are_not_lost) {
    claim("a");
    EXPECT_EQ(std::get<client::Released>(*leases.release(*server, "a#1")).state, "RELEASED");
    EXPECT_TRUE(leases.release(*server, "unknown#2"));
    leases.lose("a#1", {Code::lease_expired, "too late"});
    EXPECT_EQ(server->released(), (std::vector<std::string>{"a#1", "unknown#2"}));
    EXPECT_EQ(leases.size(), 0U);
    EXPECT_TRUE(leases.take_lost().empty());
}

TEST_F(McpLeasesTest, are_given_back_even_if_no_server_answers) {
    claim("a");
    server->answers_all({Code::unreachable, "nobody is there"});
    EXPECT_EQ(leases.release(*server, "a#1").error().code, Code::unreachable);
    EXPECT_EQ(leases.size(), 0U);
}

TEST_F(McpLeasesTest, that_were_claimed_together_are_given_back_one_by_one) {  // G1
    ASSERT_TRUE(std::holds_alternative<client::Timing>(leases.acquire({{"a"}, {"b", "CONSUMES"}}, {})));
    EXPECT_TRUE(leases.release(*server, "a#1"));
    ASSERT_EQ(leases.size(), 1U);
    EXPECT_EQ(leases.held()[0].grant.id, "b#2");
    EXPECT_EQ(leases.held()[0].grant.predicate, "CONSUMES");
}

TEST_F(McpLeasesTest, are_claimed_in_the_session_and_namespace_of_the_agent) {
    EXPECT_TRUE(std::holds_alternative<client::Timing>(leases.acquire({{"a"}}, {.ttl = 90s, .reason = "because"})));
    const client::AcquireAsk asked = server->asked();
    EXPECT_EQ(asked.holder, "alice");
    EXPECT_EQ(asked.session, agent.session());
    EXPECT_EQ(asked.name_space, "default");
    EXPECT_EQ(asked.ttl, 90s);
    EXPECT_EQ(asked.reason, "because");
}

TEST_F(McpLeasesTest, that_are_refused_are_not_held) {
    server->refuses({.outcome = Outcome::refused, .code = "banned", .message = "because"});
    const auto result = leases.acquire({{"a"}}, {});
    EXPECT_EQ(std::get<Failure>(result).code, "banned");
    EXPECT_EQ(leases.size(), 0U);
}

TEST_F(McpLeasesTest, that_are_renewed_have_the_new_time) {
    server->answers(renewed_for(120s));
    claim("a");
    ASSERT_TRUE(leases.renew(*server, {"a#1", "b#17"}, 120s));
    EXPECT_EQ(server->last().ttl, 120s);
    ASSERT_EQ(leases.size(), 2U) << "one that an earlier process of this holder left is held from now on";
    EXPECT_GT(leases.held().at(0).left, 60s);
    EXPECT_EQ(leases.held().at(1).grant.token, 17U);
}

TEST_F(McpLeasesTest, keep_their_time_if_a_renewal_comes_too_late) {
    claim("a");
    server->answers(renewed_for(0s));
    const auto replies = leases.renew(*server, {"a#1"}, {});
    ASSERT_TRUE(replies);
    EXPECT_EQ(std::get<Error>(replies->at(0)).code, Code::unreachable);
    EXPECT_TRUE(leases.holds("a#1"));
}

TEST_F(McpLeasesTest, that_a_renewal_finds_ended_are_lost) {
    claim("a");
    server->answers(Error{Code::lease_expired, "it is over"});
    ASSERT_TRUE(leases.renew(*server, {"a#1"}, {}));
    ASSERT_EQ(leases.take_lost().size(), 1U);
    EXPECT_FALSE(leases.holds("a#1"));
}

}  // namespace
}  // namespace holdfast::cli::mcp
