#include "consensus/log_submissions.h"

#include <gtest/gtest.h>

#include "consensus/replicated_log.h"

namespace holdfast::consensus {
namespace {

constexpr Instant noon{1h};

LogSubmissions::Waiting waiting(std::uint64_t number, Instant give_up_at = noon, std::string value = "v") {
    return {{{}, 1, number}, give_up_at, std::move(value)};
}

/// `number:index`, or `number:code`, with a sign if it is certain that it never will be.
std::vector<std::string> answers(LogSubmissions& submissions) {
    std::vector<std::string> said;
    while (auto answer = submissions.take_answer()) {
        const auto& outcome = answer->outcome;
        said.push_back(std::to_string(answer->asker.number) + ':' +
                       (outcome ? std::to_string(*outcome) : std::string(outcome.error().code.name())) +
                       (answer->certainly_not ? "!" : ""));
    }
    return said;
}

using Said = std::vector<std::string>;

TEST(LogSubmissions, are_answered_when_their_place_is_applied) {
    LogSubmissions submissions(1);
    for (std::uint64_t number : {1, 2, 3})
        submissions.queue(waiting(number));
    EXPECT_EQ(submissions.place(10), "v");
    EXPECT_EQ(submissions.place(11), "v");
    submissions.applied_to(10);
    EXPECT_EQ(answers(submissions), Said{"1:10"});
    submissions.applied_to(20);
    EXPECT_EQ(answers(submissions), Said{"2:11"});
    EXPECT_TRUE(submissions.has_queued());
}

TEST(LogSubmissions, are_refused_when_the_only_disk_has_refused_them) {
    LogSubmissions submissions(1);
    for (std::uint64_t number : {1, 2})
        submissions.queue(waiting(number));
    EXPECT_EQ(submissions.place(10), "v");
    submissions.disk_failed({Code::storage_failed, "the disk is full"});
    EXPECT_EQ(answers(submissions), Said{"1:storage_failed"}) << "not certainly never: the disk is asked again";
    submissions.applied_to(10);
    EXPECT_EQ(answers(submissions), Said{});
}

TEST(LogSubmissions, that_were_forwarded_wait_until_this_node_has_applied_them) {
    LogSubmissions submissions(7);
    EXPECT_EQ(submissions.forward(waiting(1)), 7U);
    EXPECT_EQ(submissions.forward(waiting(2)), 8U);
    submissions.applied_to(100);
    submissions.forwarded_is_at(8, 101);
    submissions.forwarded_is_at(99, 5);
    submissions.applied_to(100);
    EXPECT_EQ(answers(submissions), Said{});
    submissions.applied_to(101);
    EXPECT_EQ(answers(submissions), Said{"2:101"});
    submissions.forwarded_is_at(7, 0);
    EXPECT_EQ(answers(submissions), Said{"1:unavailable!"});
}

TEST(LogSubmissions, are_given_up_in_time_and_only_the_queued_for_certain) {
    LogSubmissions submissions(1);
    submissions.queue(waiting(1, noon));
    submissions.queue(waiting(2, noon + 1s));
    submissions.place(5);
    submissions.forward(waiting(3, noon + 2s));
    EXPECT_EQ(submissions.due(), noon);
    submissions.give_up(noon - 1ms);
    EXPECT_EQ(answers(submissions), Said{});
    submissions.give_up(noon + 1s);
    EXPECT_EQ(answers(submissions), (Said{"2:unavailable!", "1:unavailable"}));
    submissions.give_up(noon + 2s);
    EXPECT_EQ(answers(submissions), Said{"3:unavailable"});
    EXPECT_EQ(submissions.due(), Instant::max());
}

TEST(LogSubmissions, of_a_deposed_leader_are_answered_at_once) {
    LogSubmissions submissions(1);
    submissions.queue(waiting(1));
    submissions.queue(waiting(2));
    submissions.place(5);
    submissions.lost_leadership();
    EXPECT_EQ(answers(submissions), (Said{"1:unavailable", "2:unavailable!"}));
}

TEST(LogSubmissions, have_limits) {
    LogSubmissions submissions(1);
    EXPECT_EQ(submissions.check_room(ReplicatedLog::max_value_bytes + 1).error().code, Code::too_large);
    EXPECT_TRUE(submissions.check_room(ReplicatedLog::max_value_bytes));
    for (std::size_t i = 0; i < ReplicatedLog::max_submissions; ++i) {
        ASSERT_TRUE(submissions.check_room(1));
        submissions.queue(waiting(i));
    }
    EXPECT_EQ(submissions.check_room(1).error().code, Code::too_many);
    LogSubmissions large(1);
    const std::string value(ReplicatedLog::max_value_bytes, 'x');
    std::size_t taken = 0;
    for (; large.check_room(value.size()); ++taken)
        large.queue(waiting(taken, noon, value));
    EXPECT_EQ(taken, ReplicatedLog::max_submission_bytes / ReplicatedLog::max_value_bytes);
    large.place(1);
    EXPECT_TRUE(large.check_room(value.size())) << "what is in the log has a limit of its own";
}

}  // namespace
}  // namespace holdfast::consensus
