#include "cli/mcp/mcp_leases.h"

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

namespace holdfast::cli::mcp {
namespace {

namespace json = boost::json;

constexpr HolderInstant start{std::chrono::hours{1}};

json::value lease(std::string_view id, std::int64_t ttl_ms = 60'000) {
    return {{"id", id},
            {"resource", "r"},
            {"predicate", "MUTATES"},
            {"token", 17},
            {"ttl_ms", ttl_ms},
            {"timeline",
             {{"renew_in_ms", ttl_ms / 3},
              {"soft_terminate_in_ms", ttl_ms * 2 / 3},
              {"hard_terminate_in_ms", ttl_ms * 5 / 6},
              {"expires_in_ms", ttl_ms}}}};
}

json::value renewed(std::string_view id) {
    return {{"id", id}, {"result", "RENEWED"}, {"lease", lease(id)}};
}

json::value rejected(std::string_view id, std::string_view code) {
    return {{"id", id}, {"result", "REJECTED"}, {"error", {{"code", code}, {"message", "because"}}}};
}

class McpLeasesTest : public testing::Test {
 protected:
    McpLeases leases{Random{1}};
    void keep(std::string_view id) { ASSERT_TRUE(leases.keep(lease(id), start, start)); }
};

TEST_F(McpLeasesTest, are_due_by_the_time_the_server_said) {
    EXPECT_EQ(leases.next(), HolderInstant::max());
    keep("a#1");
    EXPECT_TRUE(leases.take_due(start + 10s).empty());
    EXPECT_LE(leases.next(), start + 20s);
    EXPECT_EQ(leases.take_due(start + 20s), std::vector<std::string>{"a#1"});
    EXPECT_TRUE(leases.take_due(start + 21s).empty()) << "under way";
    leases.answer(renewed("a#1"), start + 20s, start + 22s);
    EXPECT_GT(leases.next(), start + 30s);
    EXPECT_LE(leases.next(), start + 40s) << "counted from when it was sent (T3)";
    EXPECT_TRUE(leases.take_lost(start + 60s).empty());
}

TEST_F(McpLeasesTest, that_are_not_answered_are_tried_again_and_lost_at_their_end) {
    keep("a#1");
    ASSERT_EQ(leases.take_due(start + 20s).size(), 1U);
    leases.unanswered("a#1", start + 20s);
    EXPECT_LT(leases.next(), start + 25s);
    EXPECT_TRUE(leases.holds("a#1", start + 59s));
    const auto lost = leases.take_lost(start + 60s);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].id, "a#1");
    EXPECT_EQ(lost[0].resource, "r");
    EXPECT_FALSE(leases.holds("a#1", start + 60s));
    EXPECT_TRUE(leases.take_lost(start + 60s).empty()) << "told once";
    EXPECT_EQ(leases.next(), HolderInstant::max());
}

TEST_F(McpLeasesTest, that_the_server_ended_are_lost_at_once) {
    keep("a#1");
    keep("b#2");
    ASSERT_EQ(leases.take_due(start + 20s).size(), 2U);
    leases.answer(rejected("a#1", "lease_revoked"), start + 20s, start + 20s);
    leases.answer(rejected("b#2", "renewal_barred"), start + 20s, start + 20s);
    const auto lost = leases.take_lost(start + 20s);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].why, "because");
    EXPECT_TRUE(leases.holds("b#2", start + 30s)) << "it runs out (R7)";
    EXPECT_EQ(leases.take_lost(start + 61s).size(), 1U);
}

TEST_F(McpLeasesTest, that_could_not_be_renewed_say_what_the_server_refused) {
    keep("a#1");
    keep("b#2");
    keep("c#3");
    ASSERT_EQ(leases.take_due(start + 20s).size(), 3U);
    leases.answer(rejected("a#1", "over_quota"), start + 20s, start + 20s);
    leases.answer(rejected("b#2", "over_quota"), start + 20s, start + 20s);
    leases.answer(renewed("b#2"), start + 21s, start + 21s);
    leases.answer(rejected("c#3", "over_quota"), start + 20s, start + 20s);
    leases.answer(rejected("c#3", "lease_expired"), start + 59s, start + 59s);
    const auto lost = leases.take_lost(start + 100s);
    ASSERT_EQ(lost.size(), 3U);
    EXPECT_EQ(lost[0].id + " " + lost[0].code, "c#3 over_quota") << "that it expired is no reason";
    EXPECT_EQ(lost[1].id + " " + lost[1].code, "a#1 over_quota");
    EXPECT_EQ(lost[1].why, "because");
    EXPECT_EQ(lost[2].id + " " + lost[2].code, "b#2 ") << "renewed after it was refused";
    EXPECT_EQ(lost[2].why, "it could not be renewed in time");
}

TEST_F(McpLeasesTest, are_known_by_the_paths_they_were_claimed_by) {
    keep("a#1");
    leases.remember_path("a#1", "src/a.c");
    leases.remember_path("unknown", "b.c");
    ASSERT_TRUE(leases.keep(lease("a#1"), start + 20s, start + 20s));
    EXPECT_EQ(leases.held(start + 20s).at(0).paths, std::set<std::string>{"src/a.c"}) << "also after a renewal";
}

TEST_F(McpLeasesTest, that_were_given_back_are_not_lost) {
    keep("a#1");
    leases.forget("a#1");
    leases.forget("unknown");
    leases.lose("a#1", {"lease_expired", "too late"});
    EXPECT_EQ(leases.size(start), 0U);
    EXPECT_TRUE(leases.take_lost(start + 100s).empty());
    leases.answer(renewed("a#1"), start, start);
    EXPECT_EQ(leases.size(start), 0U) << "an answer that comes later brings nothing back";
}

TEST_F(McpLeasesTest, that_are_kept_again_have_the_new_time) {
    keep("a#1");
    ASSERT_TRUE(leases.keep(lease("a#1", 120'000), start + 30s, start + 30s));
    EXPECT_EQ(leases.size(start + 30s), 1U);
    EXPECT_TRUE(leases.holds("a#1", start + 100s));
    EXPECT_EQ(leases.held(start + 30s).at(0).token, 17U);
}

TEST_F(McpLeasesTest, without_time_left_or_sense_are_not_kept) {
    EXPECT_FALSE(leases.keep(lease("a#1"), start, start + 60s));
    EXPECT_FALSE(leases.keep(lease("a#1", 0), start, start));
    EXPECT_FALSE(leases.keep(lease("a#1", -5), start, start));
    EXPECT_FALSE(leases.keep(lease("a#1", std::int64_t{1} << 60), start, start));
    EXPECT_FALSE(leases.keep(json::value{17}, start, start));
    EXPECT_FALSE(leases.keep(lease(""), start, start));
    EXPECT_EQ(leases.size(start), 0U);
}

TEST_F(McpLeasesTest, count_from_when_they_were_asked_for_and_what_that_waited) {
    const auto from = [](const json::value& grant) { return McpLeases::counts_from(grant, start, start + 10s); };
    EXPECT_EQ(from({{"waited_ms", 6000}}), start + 6s);
    EXPECT_EQ(from({{"waited_ms", 60000}}), start + 10s) << "never from what is to come";
    EXPECT_EQ(from({{"verdict", "GRANTED"}}), start);
    EXPECT_EQ(from({{"waited_ms", -1}}), start);
    EXPECT_EQ(from({{"waited_ms", "6000"}}), start);
}

TEST_F(McpLeasesTest, whose_answer_was_long_under_way_need_a_renewal_first) {
    EXPECT_FALSE(McpLeases::needs_renewal(lease("a#1"), start, start + 19s));
    EXPECT_TRUE(McpLeases::needs_renewal(lease("a#1"), start, start + 21s));
    EXPECT_TRUE(McpLeases::needs_renewal(lease("a#1"), start, start + 100s));
}

}  // namespace
}  // namespace holdfast::cli::mcp
