#include "cli/mcp/mcp_leases.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "base/clock.h"

namespace holdfast::cli::mcp {
namespace {

JsonValue lease(std::string_view id, std::int64_t ttl_ms = 60'000) {
    return JsonValue::object({{"id", id},
                              {"resource", "r"},
                              {"predicate", "MUTATES"},
                              {"token", 17},
                              {"ttl_ms", ttl_ms},
                              {"timeline", JsonValue::object({{"renew_in_ms", ttl_ms / 3},
                                                              {"soft_terminate_in_ms", ttl_ms * 2 / 3},
                                                              {"hard_terminate_in_ms", ttl_ms * 5 / 6},
                                                              {"expires_in_ms", ttl_ms}})}});
}

/// A server that answers every renewal in the same way.
class Server final : public client::Transport {
 public:
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

    Result<std::vector<client::RenewReply>> renew(const client::NamedLeases& leases, Duration) override {
        const std::lock_guard lock(mutex_);
        last_ = leases;
        ++renewed_;
        if (error_) return *error_;
        return std::vector(leases.leases.size(), answer_);
    }
    client::AcquireReply acquire(const client::AcquireAsk&, Duration, const std::stop_token&) override {
        return client::NoAnswer{};
    }
    Result<void> release(const client::NamedLeases&, Duration) override { return {}; }
    Result<client::AgentKnown> register_agent(const client::AgentAsk&, Duration) override { return Error{}; }
    Result<void> declare_restart(const client::AgentAsk&, Duration) override { return {}; }
    Result<std::vector<client::VerifiedLease>> verify_all(const client::AgentAsk&, Duration) override {
        return Error{};
    }
    std::shared_ptr<Transport> twin() const override { return nullptr; }
    void stop() override {}

 private:
    std::mutex mutex_;
    client::RenewReply answer_ = Error{};
    std::optional<Error> error_;
    client::NamedLeases last_;
    std::atomic<std::size_t> renewed_ = 0;
};

client::RenewReply renewed_for(Duration ttl) {
    return client::Timing{{ttl / 3, ttl * 2 / 3, ttl * 5 / 6, ttl}, ttl};
}

class McpLeasesTest : public testing::Test {
 protected:
    void keep(std::string_view id, std::int64_t ttl_ms = 60'000) {
        ASSERT_TRUE(leases.keep(lease(id, ttl_ms), {holder_clock_now()}));
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
    keep("a#1", 1500);
    await([&] { return server->renewed() >= 3; });
    EXPECT_TRUE(leases.holds("a#1"));
    EXPECT_TRUE(leases.take_lost().empty());
    EXPECT_EQ(server->last().holder, "alice");
    EXPECT_EQ(server->last().leases.at(0).id, "a#1");
}

TEST_F(McpLeasesTest, that_are_not_answered_are_tried_again_and_lost_at_their_end) {
    server->answers_all({"unreachable", "nobody is there"});
    keep("a#1", 1000);
    const auto lost = await_lost(1);
    EXPECT_GE(server->renewed(), 2U);
    EXPECT_EQ(lost[0].id, "a#1");
    EXPECT_EQ(lost[0].resource, "r");
    EXPECT_EQ(lost[0].code, "");
    EXPECT_EQ(lost[0].why, "it could not be renewed in time");
    EXPECT_FALSE(leases.holds("a#1"));
    EXPECT_TRUE(leases.take_lost().empty()) << "told once";
}

TEST_F(McpLeasesTest, that_the_server_ended_are_lost_at_once) {
    server->answers(Error{"lease_revoked", "because"});
    keep("a#1", 6000);
    const auto lost = await_lost(1);
    EXPECT_EQ(lost[0].code, "lease_revoked");
    EXPECT_EQ(lost[0].why, "because");
    EXPECT_EQ(server->renewed(), 1U);
}

TEST_F(McpLeasesTest, that_could_not_be_renewed_say_what_the_server_refused) {
    server->answers(Error{"over_quota", "because"});
    keep("a#1", 1000);
    const auto lost = await_lost(1);
    EXPECT_EQ(lost[0].code, "over_quota");
    EXPECT_EQ(lost[0].why, "because");
}

TEST_F(McpLeasesTest, of_an_agent_that_was_replaced_are_all_lost) {
    server->answers_all({"stale_epoch", "epoch 4 is over"});
    keep("a#1", 3000);
    keep("b#2", 3000);
    const auto lost = await_lost(2);
    EXPECT_EQ(lost[0].why, "a newer process of this agent has taken over");
    EXPECT_EQ(lost[1].code, "stale_epoch");
}

TEST_F(McpLeasesTest, that_the_server_says_have_ended_are_lost) {
    keep("a#1");
    leases.lose("a#1", {"", "the server says it is REVOKED"});
    leases.lose("a#1", {"", "once more"});
    const auto lost = leases.take_lost();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].why, "the server says it is REVOKED");
    EXPECT_FALSE(leases.holds("a#1"));
}

TEST_F(McpLeasesTest, are_known_by_the_paths_they_were_claimed_by) {
    keep("a#1");
    leases.remember_path("a#1", "src/a.c");
    leases.remember_path("unknown", "b.c");
    keep("a#1");
    EXPECT_EQ(leases.held().at(0).paths, std::set<std::string>{"src/a.c"}) << "also after a renewal";
}

TEST_F(McpLeasesTest, that_were_given_back_are_not_lost) {
    keep("a#1");
    leases.forget("a#1");
    leases.forget("unknown");
    leases.lose("a#1", {"lease_expired", "too late"});
    EXPECT_EQ(leases.size(), 0U);
    EXPECT_TRUE(leases.take_lost().empty());
}

TEST_F(McpLeasesTest, that_are_kept_again_have_the_new_time) {
    keep("a#1");
    keep("a#1", 120'000);
    EXPECT_EQ(leases.size(), 1U);
    EXPECT_GT(leases.held().at(0).left, 60s);
    EXPECT_EQ(leases.held().at(0).token, 17U);
}

TEST_F(McpLeasesTest, without_time_left_or_sense_are_not_kept) {
    const HolderInstant now = holder_clock_now();
    EXPECT_FALSE(leases.keep(lease("a#1"), {now - 60s}));
    EXPECT_FALSE(leases.keep(lease("a#1", 0), {now}));
    EXPECT_FALSE(leases.keep(lease("a#1", -5), {now}));
    EXPECT_FALSE(leases.keep(lease("a#1", std::int64_t{1} << 60), {now}));
    EXPECT_FALSE(leases.keep(JsonValue(17), {now}));
    EXPECT_FALSE(leases.keep(lease(""), {now}));
    EXPECT_EQ(leases.size(), 0U);
}

TEST_F(McpLeasesTest, count_what_their_request_waited_if_that_makes_sense) {
    const HolderInstant now = holder_clock_now();
    EXPECT_EQ(McpLeases::asked(JsonValue::object({{"waited_ms", 6000}}), now).waited, 6s);
    EXPECT_EQ(McpLeases::asked(JsonValue::object({{"verdict", "GRANTED"}}), now).waited, 0s);
    EXPECT_EQ(McpLeases::asked(JsonValue::object({{"waited_ms", -1}}), now).waited, 0s);
    EXPECT_EQ(McpLeases::asked(JsonValue::object({{"waited_ms", "6000"}}), now).waited, 0s);
}

TEST_F(McpLeasesTest, whose_answer_was_long_under_way_need_a_renewal_first) {
    const HolderInstant now = holder_clock_now();
    EXPECT_FALSE(McpLeases::needs_renewal(lease("a#1", 600'000), {now}));
    EXPECT_FALSE(McpLeases::needs_renewal(lease("a#1", 600'000), {now - 300s, 290s})) << "it waited for its turn";
    EXPECT_TRUE(McpLeases::needs_renewal(lease("a#1", 600'000), {now - 210s}));
    EXPECT_TRUE(McpLeases::needs_renewal(lease("a#1", 600'000), {now - 1000s}));
}

}  // namespace
}  // namespace holdfast::cli::mcp
