#include "client/renewals.h"

#include <gtest/gtest.h>

namespace holdfast::client {
namespace {

constexpr HolderInstant sent_at{50s};

Grant grant(const std::string& id) {
    return {.id = id, .resource = "", .predicate = "", .token = 0};
}

std::vector<std::string> ids_of(const RenewalBatch& batch) {
    std::vector<std::string> ids;
    for (const auto& lease : batch.names().leases)
        ids.push_back(lease.id);
    return ids;
}

RenewReply renewed(Duration ttl) {
    return Renewed{{{ttl / 3, ttl * 2 / 3, ttl * 5 / 6, ttl}, ttl}};
}

RenewalBatch::Answer answer_to_two(const RenewReply& first, const RenewReply& second) {
    RenewalBatch batch("alice");
    EXPECT_TRUE(batch.add(1, {grant("a#1"), grant("b#2")}, sent_at + 10s));
    return batch.answers(std::vector{first, second}, {sent_at, sent_at + 1s}).front();
}

TEST(RenewalBatch, names_all_grants_of_all_leases_in_one_message) {
    RenewalBatch batch("alice");
    EXPECT_TRUE(batch.add(1, {grant("a#1"), grant("b#2")}, sent_at));
    EXPECT_TRUE(batch.add(2, {grant("c#3")}, sent_at));
    EXPECT_EQ(batch.names().holder, "alice");
    EXPECT_EQ(ids_of(batch), (std::vector<std::string>{"a#1", "b#2", "c#3"}));
    EXPECT_FALSE(batch.names().epoch);
}

TEST(RenewalBatch, stays_within_what_a_server_accepts) {
    RenewalBatch by_count("alice");
    for (Keeper::Key key = 0; key < max_renewals_per_message; ++key)
        ASSERT_TRUE(by_count.add(key, {grant("a#1")}, sent_at));
    EXPECT_FALSE(by_count.add(0, {grant("a#1")}, sent_at));

    RenewalBatch by_size("alice");
    int added = 0;
    while (by_size.add(1, {grant(std::string(4096, 'x'))}, sent_at))
        ++added;
    EXPECT_GT(added, 50);
    EXPECT_LT(added, 120);
}

TEST(RenewalBatch, says_for_which_life_and_how_far_the_work_has_come) {
    RenewalBatch batch("alice", 3);
    batch.add(1, {grant("a#1")}, sent_at, 70);
    batch.add(2, {grant("b#2")}, sent_at);
    EXPECT_EQ(batch.names().epoch, 3U);
    EXPECT_EQ(batch.names().leases[0].progress, 70U);
    EXPECT_FALSE(batch.names().leases[1].progress);
}

TEST(RenewalBatch, is_lost_as_a_whole_when_a_newer_life_is_there) {
    RenewalBatch batch("alice", 3);
    batch.add(1, {grant("a#1")}, sent_at);
    batch.add(2, {grant("b#2")}, sent_at);
    for (const auto& answer : batch.answers(Error{Code::stale_epoch, "m"}, {sent_at, sent_at})) {
        ASSERT_TRUE(std::holds_alternative<RenewalRejected>(answer.answer));
        EXPECT_TRUE(means_lost(std::get<RenewalRejected>(answer.answer).code));
    }
}

TEST(RenewalBatch, leaves_time_for_more_tries_before_the_first_lease_ends) {
    RenewalBatch batch("alice");
    batch.add(1, {grant("a#1")}, sent_at + 60s);
    EXPECT_EQ(batch.patience(sent_at, 5s), 5s);
    batch.add(2, {grant("b#2")}, sent_at + 3s);
    EXPECT_EQ(batch.patience(sent_at, 5s), 1s);
    EXPECT_EQ(batch.patience(sent_at + 1h, 5s), 100ms);
}

TEST(RenewalBatch, renews_a_lease_up_to_the_earliest_end_of_its_grants) {
    const auto answer = answer_to_two(renewed(60s), renewed(30s));
    ASSERT_TRUE(std::holds_alternative<RenewalGranted>(answer.answer));
    EXPECT_EQ(std::get<RenewalGranted>(answer.answer).deadlines.end(), sent_at + 30s - 300ms);
}

TEST(RenewalBatch, loses_a_lease_with_the_first_of_its_grants) {
    const auto answer = answer_to_two(renewed(60s), Error{Code::lease_revoked, "m"});
    ASSERT_TRUE(std::holds_alternative<RenewalRejected>(answer.answer));
    EXPECT_EQ(answer.why.code, Code::lease_revoked);
}

TEST(RenewalBatch, lets_the_worst_answer_decide) {
    EXPECT_EQ(answer_to_two(Error{Code::renewal_barred, "m"}, Error{Code::lease_expired, "m"}).why.code,
              Code::lease_expired);
    EXPECT_EQ(answer_to_two(Error{Code::stopping, "m"}, Error{Code::renewal_barred, "m"}).why.code,
              Code::renewal_barred);
    const auto passing = answer_to_two(renewed(60s), Error{Code::ttl_too_long, "m"});
    EXPECT_TRUE(std::holds_alternative<RenewalUnanswered>(passing.answer));
}

TEST(RenewalBatch, leaves_every_lease_unanswered_if_the_message_was) {
    RenewalBatch batch("alice");
    batch.add(1, {grant("a#1")}, sent_at);
    batch.add(2, {grant("b#2")}, sent_at);
    const auto answers = batch.answers(Error{Code::unreachable, "m"}, {sent_at, sent_at});
    ASSERT_EQ(answers.size(), 2U);
    for (const auto& answer : answers)
        EXPECT_TRUE(std::holds_alternative<RenewalUnanswered>(answer.answer));
}

}  // namespace
}  // namespace holdfast::client
