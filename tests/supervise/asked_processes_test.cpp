#include "supervise/asked_processes.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace holdfast::supervise {
namespace {

constexpr pid_t guardian_id = 10;

/// A process that was started at a time of its own.
Process process(pid_t id, pid_t parent, pid_t group) {
    return {.id = id, .parent = parent, .group = group, .start = static_cast<std::uint64_t>(1000 + id)};
}

Process zombie(Process process) {
    process.dead = true;
    return process;
}

/// A guardian, a shell with two children in its group, and a daemon that has a group of its own.
std::vector<Process> family() {
    return {process(1, 0, 1),
            process(guardian_id, 1, guardian_id),
            process(11, guardian_id, 11),
            process(12, 11, 11),
            process(13, 11, 11),
            process(14, 13, 14),
            process(20, 1, 20)};
}

std::vector<pid_t> groups_of(const SignalTargets& targets) {
    std::vector<pid_t> groups;
    for (const auto& group : targets.groups)
        groups.push_back(group.id);
    return groups;
}

std::vector<pid_t> processes_of(const SignalTargets& targets) {
    std::vector<pid_t> ids;
    for (const Process& one : targets.processes)
        ids.push_back(one.id);
    return ids;
}

TEST(SignalTargets, name_each_group_once_and_none_that_is_elsewhere) {
    const SignalTargets targets = everything_below(ProcessTable{family()}, guardian_id);
    EXPECT_EQ(groups_of(targets), (std::vector<pid_t>{11, 14}));
    EXPECT_TRUE(targets.processes.empty());
}

TEST(SignalTargets, name_singly_who_shares_a_group_with_others) {
    std::vector<Process> all = family();
    all.push_back(process(15, 11, 20));
    all.push_back(process(16, 11, guardian_id));
    const SignalTargets targets = everything_below(ProcessTable{all}, guardian_id);
    EXPECT_EQ(groups_of(targets), (std::vector<pid_t>{11, 14}));
    EXPECT_EQ(processes_of(targets), (std::vector<pid_t>{16, 15})) << "the guardian and strangers hear nothing";
}

TEST(SignalTargets, leave_what_another_guardian_guards_to_its_keeper) {
    std::vector<Process> all = family();
    Process second = process(31, 12, 31);
    Process first = process(32, 31, 32);
    second.guardian = first.guardian = true;
    all.insert(all.end(), {second, first, process(33, 32, 33), process(34, 33, 34)});
    const ProcessTable table{all};
    EXPECT_EQ(groups_of(everything_below(table, guardian_id)), (std::vector<pid_t>{11, 14})) << "12 passes it on";
    AskedProcesses asked;
    asked.note(table, guardian_id);
    all.back().parent = guardian_id;  // it outlived the keeper that was to ask it
    EXPECT_EQ(groups_of(asked.unasked_below(ProcessTable{all}, guardian_id)), (std::vector<pid_t>{34}));
}

TEST(SignalTargets, leave_the_dead_out) {
    const ProcessTable table{{process(guardian_id, 1, guardian_id), zombie(process(11, guardian_id, 11))}};
    EXPECT_TRUE(everything_below(table, guardian_id).groups.empty());
}

TEST(AskedProcesses, are_asked_once) {
    AskedProcesses asked;
    const ProcessTable table{family()};
    EXPECT_EQ(groups_of(asked.unasked_below(table, guardian_id)), (std::vector<pid_t>{11, 14}));
    asked.note(table, guardian_id);
    EXPECT_TRUE(asked.unasked_below(table, guardian_id).groups.empty());
}

TEST(AskedProcesses, do_not_have_their_helpers_asked) {
    AskedProcesses asked;
    asked.note(ProcessTable{family()}, guardian_id);
    std::vector<Process> later = family();
    later.push_back(process(30, 12, 11));
    EXPECT_TRUE(asked.unasked_below(ProcessTable{later}, guardian_id).groups.empty());
}

TEST(AskedProcesses, stay_asked_when_only_the_zombie_of_their_leader_is_left_of_them) {
    AskedProcesses asked;
    asked.note(ProcessTable{family()}, guardian_id);
    const ProcessTable later{
        {process(guardian_id, 1, guardian_id), zombie(process(11, guardian_id, 11)), process(30, guardian_id, 11)}};
    EXPECT_TRUE(asked.unasked_below(later, guardian_id).groups.empty());
}

TEST(AskedProcesses, a_group_that_came_later_is_asked) {
    AskedProcesses asked;
    asked.note_group(ProcessTable{family()}, 11);
    EXPECT_EQ(groups_of(asked.unasked_below(ProcessTable{family()}, guardian_id)), (std::vector<pid_t>{14}));
}

TEST(AskedProcesses, are_not_confused_with_others_that_got_their_number) {
    AskedProcesses asked;
    asked.note(ProcessTable{family()}, guardian_id);
    std::vector<Process> later = family();
    for (Process& one : later)
        if (one.id == 14) one.start = 5000;
    EXPECT_EQ(groups_of(asked.unasked_below(ProcessTable{later}, guardian_id)), (std::vector<pid_t>{14}));
}

}  // namespace
}  // namespace holdfast::supervise
