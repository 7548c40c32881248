#include "supervise/processes.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::supervise {
namespace {

TEST(ProcessTable, finds_what_lives_below_a_process) {
    const ProcessTable table{{{1, 0, 1, false},
                              {10, 1, 10, false},
                              {11, 10, 10, false},
                              {12, 11, 12, true},
                              {13, 12, 13, false},
                              {20, 1, 20, false}}};
    EXPECT_EQ(table.living_below(10), (std::vector<pid_t>{11, 13})) << "also below a dead one";
    EXPECT_EQ(table.living_below(1, {10}), (std::vector<pid_t>{20}));
    EXPECT_TRUE(table.living_below(20).empty());
}

TEST(ProcessTable, does_not_count_the_dead_as_a_living_group) {
    const ProcessTable table{{{10, 1, 10, true}, {11, 1, 11, false}}};
    EXPECT_FALSE(table.lives(10));
    EXPECT_TRUE(table.lives(11));
    EXPECT_FALSE(table.lives(12));
}

TEST(ProcessTable, a_process_keeps_the_time_it_was_started) {
    const auto mine = start_time_of(getpid());
    ASSERT_TRUE(mine);
    EXPECT_GT(*mine, 0U);
    EXPECT_EQ(start_time_of(getpid()), mine);
    EXPECT_LE(start_time_of(getppid()).value_or(0), *mine) << "nobody is older than its parent";
    EXPECT_FALSE(start_time_of(0));
}

TEST(ProcessTable, survives_a_loop_of_parents) {
    const ProcessTable table{{{10, 11, 10, false}, {11, 10, 10, false}}};
    EXPECT_EQ(table.living_below(10), (std::vector<pid_t>{11}));
}

TEST(ProcessTable, sees_a_real_child_live_and_die) {
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    const auto below = ProcessTable::read().living_below(getpid());
    EXPECT_NE(std::find(below.begin(), below.end(), child), below.end());
    kill(child, SIGKILL);
    siginfo_t info{};
    waitid(P_PID, child, &info, WEXITED | WNOWAIT);
    const auto after = ProcessTable::read();
    const auto living = after.living_below(getpid());
    EXPECT_EQ(std::find(living.begin(), living.end(), child), living.end());
    const auto children = after.children_of(getpid());
    const auto zombie =
        std::find_if(children.begin(), children.end(), [&](const Process& process) { return process.id == child; });
    ASSERT_NE(zombie, children.end());
    EXPECT_TRUE(zombie->dead);
    waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace holdfast::supervise
