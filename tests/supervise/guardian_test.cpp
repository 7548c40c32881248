#include "supervise/guardian.h"

#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

#include "supervise/keeper_process.h"
#include "supervise/processes.h"

namespace holdfast::supervise {
namespace {

constexpr auto never = 1h;

/// The only child of a process, or zero.
pid_t child_of(pid_t parent) {
    const auto children = ProcessTable::read().children_of(parent);
    return children.size() == 1 ? children[0].id : 0;
}

pid_t second_guardian_of(const KeeperProcess& keeper) {
    return child_of(keeper.id());
}

pid_t guardian_of(const KeeperProcess& keeper) {
    return child_of(second_guardian_of(keeper));
}

/// For a script within double quotes of another.
std::string quoted(const std::string& script) {
    std::string text;
    for (const char c : script)
        text += c == '$' ? std::string("\\$") : std::string(1, c);
    return text;
}

/// True once it is; false if it is not after all our patience.
bool is_suspended(pid_t process) {
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < limit) {
        const auto now = read_process(process);
        if (now && now->stopped) return true;
        std::this_thread::sleep_for(2ms);
    }
    return false;
}

TEST(Guardian, passes_the_exit_code_through) {
    KeeperProcess keeper{never, never, {"sh", "-c", "exit 42"}};
    EXPECT_EQ(keeper.wait(), 42);
}

TEST(Guardian, passes_the_signal_that_killed_the_command_through) {
    KeeperProcess keeper{never, never, {"sh", "-c", "kill -SEGV $$"}};
    EXPECT_EQ(keeper.wait(), 128 + SIGSEGV);
}

TEST(Guardian, says_what_a_shell_says_of_a_command_that_cannot_be_run) {
    KeeperProcess missing{never, never, {"/nonexistent/command"}};
    EXPECT_EQ(missing.wait(), 127);
    KeeperProcess directory{never, never, {"/"}};
    EXPECT_EQ(directory.wait(), 126);
}

TEST(Guardian, gives_the_command_its_environment_and_a_group_of_its_own) {
    KeeperProcess keeper{never, never, {"sh", "-c", "echo $UNDER; echo $$; cut -d' ' -f5 /proc/$$/stat"}};
    EXPECT_EQ(keeper.line(), "guard");
    EXPECT_EQ(keeper.line(), keeper.line());
    EXPECT_EQ(keeper.wait(), 0);
}

/// What a command started without us prints.
std::string plain_output(const std::string& script) {
    FILE* pipe = popen(script.c_str(), "re");
    char line[256] = "";
    const bool read = fgets(line, sizeof line, pipe) != nullptr;
    pclose(pipe);
    std::string text = read ? line : "";
    if (!text.empty()) text.pop_back();
    return text;
}

TEST(Guardian, leaves_the_command_no_descriptor_and_no_blocked_signal_of_its_own) {
    const std::string count = "ls /proc/self/fd | wc -l";
    const std::string blocked = "grep SigBlk /proc/self/status";
    KeeperProcess keeper{never, never, {"sh", "-c", count + "; " + blocked}};
    EXPECT_EQ(keeper.line(), plain_output(count));
    EXPECT_EQ(keeper.line(), plain_output(blocked));
    EXPECT_EQ(keeper.wait(), 0);
}

TEST(Guardian, asks_at_the_soft_deadline) {
    KeeperProcess keeper{1500ms, never,
                         shell("trap 'echo asked; exit 0' TERM; echo set; while :; do sleep 0.01; done")};
    EXPECT_NE(keeper.line(), "");
    EXPECT_EQ(keeper.line(), "set");
    EXPECT_EQ(keeper.line(), "asked");
    EXPECT_EQ(keeper.wait(), 104) << "told to stop is lost, however politely it ended";
}

TEST(Guardian, kills_the_whole_group_at_the_hard_deadline) {
    KeeperProcess keeper{200ms, 600ms, {"sh", "-c", "trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000"}};
    const pid_t child = std::stoi(keeper.line());
    const pid_t leader = std::stoi(keeper.line());
    EXPECT_EQ(keeper.wait(), 104);
    EXPECT_FALSE(lives(child)) << "dead before the keeper says so";
    EXPECT_FALSE(lives(leader));
}

TEST(Guardian, kills_what_escaped_from_the_group) {
    const std::string escape = "trap '' TERM; setsid sh -c 'setsid sleep 1000 & echo $!; wait' & wait; sleep 1000";
    KeeperProcess keeper{200ms, 800ms, {"sh", "-c", escape}};
    const pid_t escaped = std::stoi(keeper.line());
    EXPECT_EQ(keeper.wait(), 104);
    EXPECT_FALSE(lives(escaped));
}

TEST(Guardian, kills_a_double_forked_orphan_even_if_the_command_ends_when_asked) {
    const std::string daemon =
        "trap 'exit 0' TERM; (setsid sh -c \"trap '' TERM; echo \\$\\$; sleep 1000 & wait; "
        "sleep 1000\" &); while :; do sleep 0.01; done";
    KeeperProcess keeper{500ms, 1200ms, {"sh", "-c", daemon}};
    const pid_t orphan = std::stoi(keeper.line());
    EXPECT_EQ(keeper.wait(), 104);
    EXPECT_FALSE(lives(orphan));
}

TEST(Guardian, wakes_a_suspended_command_so_that_it_can_clean_up) {
    KeeperProcess keeper{1500ms, never, shell("trap 'echo cleaned; exit 0' TERM; echo set; kill -STOP $$")};
    EXPECT_NE(keeper.line(), "");
    EXPECT_EQ(keeper.line(), "set");
    EXPECT_EQ(keeper.line(), "cleaned");
    EXPECT_EQ(keeper.wait(), 104);
}

TEST(Guardian, lets_renewed_work_go_on) {
    KeeperProcess keeper{2s, 3s, shell("sleep 3; exit 9")};
    EXPECT_NE(keeper.line(), "");
    keeper.say("renew 3600000 3600000");
    EXPECT_EQ(keeper.wait(), 9);
}

TEST(Guardian, stops_work_at_once_when_the_lease_is_lost) {
    KeeperProcess keeper{never, never, shell("trap 'echo asked; exit 0' TERM; echo set; while :; do sleep 0.01; done")};
    EXPECT_NE(keeper.line(), "");
    EXPECT_EQ(keeper.line(), "set");
    keeper.say("lost");
    EXPECT_EQ(keeper.line(), "asked");
    EXPECT_EQ(keeper.wait(), 104);
}

TEST(Guardian, kills_work_that_ignores_the_loss) {
    KeeperProcess keeper{never, never, {"sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.05; done"}};
    const pid_t leader = std::stoi(keeper.line());
    keeper.say("lost");
    EXPECT_EQ(keeper.wait(), 104);
    EXPECT_FALSE(lives(leader));
}

TEST(Guardian, ends_the_command_when_the_keeper_is_killed) {
    KeeperProcess keeper{never, never, shell("sleep 1000 & echo $!; wait")};
    const pid_t leader = std::stoi(keeper.line());
    const pid_t child = std::stoi(keeper.line());
    const pid_t guardian = guardian_of(keeper);
    const pid_t second = second_guardian_of(keeper);
    ASSERT_NE(guardian, 0);
    keeper.signal(SIGKILL);
    EXPECT_TRUE(dies(leader));
    EXPECT_TRUE(dies(child));
    EXPECT_TRUE(dies(guardian)) << "nothing stays behind";
    EXPECT_TRUE(dies(second));
}

TEST(Guardian, survives_a_kill_of_the_keepers_whole_group) {
    KeeperProcess keeper{never, never, {"sh", "-c", "trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000"}};
    const pid_t child = std::stoi(keeper.line());
    const pid_t leader = std::stoi(keeper.line());
    kill(-keeper.id(), SIGKILL);
    EXPECT_TRUE(dies(leader));
    EXPECT_TRUE(dies(child));
}

TEST(Guardian, acts_on_its_own_while_the_keeper_is_stopped) {
    KeeperProcess keeper{1s, 2s, {"sh", "-c", "trap '' TERM; sleep 1000 & echo $!; echo $$; wait; sleep 1000"}};
    const pid_t child = std::stoi(keeper.line());
    const pid_t leader = std::stoi(keeper.line());
    keeper.signal(SIGSTOP);
    EXPECT_TRUE(dies(leader));
    EXPECT_TRUE(dies(child));
    EXPECT_TRUE(lives(keeper.id())) << "it was stopped all the while";
    keeper.signal(SIGCONT);
    EXPECT_EQ(keeper.wait(), 104);
}

TEST(Keeper, kills_everything_when_the_guardian_is_killed) {
    KeeperProcess keeper{never, never, {"sh", "-c", "trap '' TERM; setsid sleep 1000 & echo $!; echo $$; wait"}};
    const pid_t escaped = std::stoi(keeper.line());
    const pid_t leader = std::stoi(keeper.line());
    ASSERT_EQ(kill(guardian_of(keeper), SIGKILL), 0);
    EXPECT_EQ(keeper.wait(), 104);
    EXPECT_FALSE(lives(leader));
    EXPECT_FALSE(lives(escaped));
}

TEST(Keeper, stands_in_for_a_stopped_guardian) {
    KeeperProcess keeper{1s, 2s, {"sh", "-c", "sleep 1000 & echo $!; echo $$; wait"}};
    const pid_t child = std::stoi(keeper.line());
    const pid_t leader = std::stoi(keeper.line());
    ASSERT_EQ(kill(guardian_of(keeper), SIGSTOP), 0);
    EXPECT_EQ(keeper.wait(), 104);
    EXPECT_FALSE(lives(leader));
    EXPECT_FALSE(lives(child));
}

TEST(Keeper, waits_for_what_the_command_left_in_its_group) {
    KeeperProcess keeper{never, never, {"sh", "-c", "(sleep 0.3; echo done) & exit 5"}};
    EXPECT_EQ(keeper.line(), "done");
    EXPECT_EQ(keeper.wait(), 5);
}

TEST(Keeper, does_not_wait_for_a_daemon_that_may_stay) {
    KeeperProcess keeper{
        never, never, {"sh", "-c", "setsid sleep 1000 >/dev/null & echo $!; sleep 0.1; exit 6"}, Daemons::stay};
    const pid_t daemon = std::stoi(keeper.line());
    EXPECT_EQ(keeper.wait(), 6);
    EXPECT_TRUE(lives(daemon));
    kill(daemon, SIGKILL);
}

TEST(Keeper, ends_only_when_a_daemon_of_the_command_is_dead) {
    KeeperProcess keeper{never, never, {"sh", "-c", "setsid sleep 1000 >/dev/null & echo $!; sleep 0.1; exit 6"}};
    const pid_t daemon = std::stoi(keeper.line());
    EXPECT_EQ(keeper.wait(), 6) << "as the command ended: it was not the lease that ended it";
    EXPECT_FALSE(lives(daemon));
    if (lives(daemon)) kill(daemon, SIGKILL);
}

TEST(Keeper, kills_a_daemon_of_the_command_that_does_not_want_to_stop) {
    const std::string stubborn = "setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & sleep 0.5; exit 6";
    KeeperProcess keeper{never, never, {"sh", "-c", stubborn}};
    const pid_t daemon = std::stoi(keeper.line());
    EXPECT_EQ(keeper.wait(), 6);
    EXPECT_FALSE(lives(daemon));
}

TEST(Keeper, passes_sigterm_on_to_daemons_too_and_lets_them_finish) {
    const std::string daemon =
        "setsid sh -c 'trap \"sleep 2; echo saved; exit 0\" TERM; echo $$; while :; do sleep "
        "0.02; done' & wait";
    KeeperProcess keeper{never, never, {"sh", "-c", daemon}};
    EXPECT_NE(keeper.line(), "");
    keeper.signal(SIGTERM);
    EXPECT_EQ(keeper.line(), "saved");
    EXPECT_EQ(keeper.wait(), 128 + SIGTERM) << "the shell died of it at once";
}

TEST(Keeper, wakes_what_is_suspended_when_it_passes_sigterm_on) {
    const std::string suspended =
        "trap 'echo saved; exit 0' TERM; echo $$; echo set; kill -STOP $$; while :; do sleep 0.02; done";
    for (const bool detached : {false, true}) {
        KeeperProcess keeper{
            never, never, {"sh", "-c", detached ? "setsid sh -c \"" + quoted(suspended) + "\" & wait" : suspended}};
        const pid_t process = std::stoi(keeper.line());
        ASSERT_EQ(keeper.line(), "set");
        ASSERT_TRUE(is_suspended(process));
        keeper.signal(SIGTERM);
        ASSERT_EQ(keeper.line(), "saved") << detached;
        EXPECT_EQ(keeper.wait(), detached ? 128 + SIGTERM : 0) << detached;
    }
}

/// Any two of the three processes between a lease and its command.
struct Pair {
    const char* name;
    bool keeper, guardian, second;
};

class Fault : public testing::TestWithParam<std::tuple<Pair, int>> {
 protected:
    static constexpr auto soft = 1s;
    static constexpr auto hard = 2s;

    /// A command with a child and a daemon, all of which ignore SIGTERM.
    KeeperProcess keeper{
        soft, hard, {"sh", "-c", "trap '' TERM; sleep 1000 & echo $!; setsid sleep 1000 & echo $!; echo $$; wait"}};
};

TEST_P(Fault, of_two_leaves_nothing_alive) {
    const auto [pair, signal] = GetParam();
    const pid_t child = std::stoi(keeper.line());
    const pid_t daemon = std::stoi(keeper.line());
    const pid_t leader = std::stoi(keeper.line());
    const pid_t second = second_guardian_of(keeper);
    const pid_t guardian = guardian_of(keeper);
    ASSERT_GT(second, 0);
    ASSERT_GT(guardian, 0);
    // All are stopped before any is killed: one that still runs would notice the end of the other and clean up.
    for (const int each : {SIGSTOP, signal}) {
        if (pair.second) kill(second, each);
        if (pair.guardian) kill(guardian, each);
        if (pair.keeper) keeper.signal(each);
    }
    EXPECT_TRUE(dies(child) && dies(daemon) && dies(leader));
    for (const pid_t process : {child, daemon, leader})
        if (lives(process)) kill(process, SIGKILL);
    for (const pid_t stopped : {second, guardian})
        kill(stopped, SIGCONT);
    keeper.signal(SIGCONT);
    const bool keeper_lives = !pair.keeper || signal == SIGSTOP;
    EXPECT_EQ(keeper.wait(), keeper_lives ? 104 : 128 + SIGKILL);
    EXPECT_TRUE(dies(second));
    EXPECT_TRUE(dies(guardian));
}

INSTANTIATE_TEST_SUITE_P(All, Fault,
                         testing::Combine(testing::Values(Pair{"keeper_and_guardian", true, true, false},
                                                          Pair{"keeper_and_second", true, false, true},
                                                          Pair{"both_guardians", false, true, true},
                                                          Pair{"second", false, false, true}),
                                          testing::Values(SIGSTOP, SIGKILL)),
                         [](const auto& one) {
                             return std::string(std::get<0>(one.param).name) +
                                    (std::get<1>(one.param) == SIGSTOP ? "_stopped" : "_killed");
                         });

class PassedSignal : public testing::TestWithParam<std::pair<int, const char*>> {};

TEST_P(PassedSignal, reaches_the_command) {
    const auto [signal, name] = GetParam();
    KeeperProcess keeper{never, never,
                         shell("trap 'echo got; exit 3' " + std::string(name) + "; echo set; while :; do :; done")};
    EXPECT_NE(keeper.line(), "");
    ASSERT_EQ(keeper.line(), "set");
    keeper.signal(signal);
    EXPECT_EQ(keeper.line(), "got");
    EXPECT_EQ(keeper.wait(), 3) << "the command's own code: it was not the lease that ended it";
}

INSTANTIATE_TEST_SUITE_P(All, PassedSignal,
                         testing::Values(std::pair{SIGTERM, "TERM"}, std::pair{SIGINT, "INT"}, std::pair{SIGHUP, "HUP"},
                                         std::pair{SIGQUIT, "QUIT"}, std::pair{SIGUSR1, "USR1"},
                                         std::pair{SIGUSR2, "USR2"}, std::pair{SIGWINCH, "WINCH"},
                                         std::pair{SIGCONT, "CONT"}, std::pair{SIGTSTP, "TSTP"}),
                         [](const auto& one) { return std::string(one.param.second); });

}  // namespace
}  // namespace holdfast::supervise
