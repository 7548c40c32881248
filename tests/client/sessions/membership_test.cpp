#include "client/sessions/membership.h"

#include <gtest/gtest.h>

namespace holdfast::client::sessions {
namespace {

using codec::resp::Value;
constexpr HolderInstant start{1000s};
const std::string me = "me-1-00000001";

Value ok() {
    return {.type = Value::Type::status, .text = "OK"};
}
Value number(std::int64_t value) {
    return {.type = Value::Type::integer, .number = value};
}
Value page(const std::string& cursor, const std::vector<std::string>& keys) {
    Value list{.type = Value::Type::array};
    for (const auto& key : keys)
        list.items.push_back({.type = Value::Type::text, .text = key});
    return {.type = Value::Type::array, .items = {{.type = Value::Type::text, .text = cursor}, list}};
}

TEST(Membership, beats_and_reads_the_list_in_pieces) {
    Membership roll{{.instance = me}, start};
    auto due = roll.take_due(start);
    ASSERT_EQ(due.size(), 2U);
    EXPECT_EQ(due[0].ask, Membership::Ask::heartbeat);
    EXPECT_EQ(due[1].argument, "0");
    roll.answer(due[0], ok(), start);
    roll.answer(due[1], page("17", {"poll:node:b-2-00000002"}), start);
    EXPECT_FALSE(roll.take_news()) << "not the whole list";
    due = roll.take_due(start);
    ASSERT_EQ(due.size(), 1U);
    EXPECT_EQ(due[0].argument, "17");
    roll.answer(due[0], page("0", {"poll:node:c-3-00000003", "poll:node:b-2-00000002"}), start);
    EXPECT_TRUE(roll.take_news());
    EXPECT_EQ(roll.live(), (std::set<std::string>{me, "b-2-00000002", "c-3-00000003"}));
}

TEST(Membership, looks_again_when_the_first_heartbeat_runs_out) {
    Membership roll{{.instance = me}, start};
    auto due = roll.take_due(start);
    roll.answer(due[1], page("0", {"poll:node:a", "poll:node:b"}), start);
    due = roll.take_due(start);
    ASSERT_EQ(due.size(), 2U);
    roll.answer(due[0], number(25'000), start);
    roll.answer(due[1], number(4'000), start);
    EXPECT_GT(roll.next(), start + 4s);
    EXPECT_LT(roll.next(), start + 5s);
}

TEST(Membership, otherwise_looks_again_at_its_interval) {
    Membership roll{{.instance = me}, start};
    auto due = roll.take_due(start);
    roll.answer(due[1], page("0", {}), start);
    EXPECT_EQ(roll.next(), start + 10s);
    EXPECT_EQ(roll.live(), std::set<std::string>{me}) << "itself, even if its heartbeat was not seen";
}

TEST(Membership, starts_over_after_a_failure) {
    Membership roll{{.instance = me}, start};
    auto due = roll.take_due(start);
    roll.answer(due[1], page("17", {"poll:node:gone"}), start);
    (void)roll.take_due(start);
    roll.unanswered(start + 1s);
    due = roll.take_due(start + 1s);
    ASSERT_EQ(due.size(), 2U) << "the heartbeat too";
    EXPECT_EQ(due[1].argument, "0");
    roll.answer(due[1], page("0", {}), start + 1s);
    EXPECT_EQ(roll.live(), std::set<std::string>{me});
}

TEST(Membership, gives_a_list_without_end_up_and_keeps_the_one_it_has) {
    Membership roll{{.instance = me}, start};
    auto due = roll.take_due(start);
    roll.answer(due[1], page("0", {"poll:node:b-2-00000002"}), start);
    roll.answer(roll.take_due(start)[0], number(30'000), start);
    ASSERT_TRUE(roll.take_news());
    HolderInstant now = start + 10s;
    int pages = 0;
    for (; !roll.take_endless() && pages < 1'000'000; ++pages)
        for (const auto& request : roll.take_due(now))
            roll.answer(request, request.ask == Membership::Ask::scan ? page("7", {}) : ok(), now);
    EXPECT_LT(pages, 1'000'000);
    EXPECT_FALSE(roll.take_news());
    EXPECT_EQ(roll.live(), (std::set<std::string>{me, "b-2-00000002"}));
    EXPECT_EQ(roll.next(), now + 10s) << "and tries again";
}

TEST(Membership, bears_an_answer_that_makes_no_sense) {
    Membership roll{{.instance = me}, start};
    auto due = roll.take_due(start);
    roll.answer(due[1], {.type = Value::Type::error, .text = "ERR no"}, start);
    EXPECT_FALSE(roll.take_news());
    EXPECT_GT(roll.next(), start);
}

}  // namespace
}  // namespace holdfast::client::sessions
