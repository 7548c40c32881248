#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/app.h"

namespace holdfast::cli {
namespace {

void expect_all_names(const CommandShape& command, const std::string& script, const std::string& option_prefix) {
    for (const OptionShape& option : command.options) {
        const std::string name = option_prefix + option.name.substr(2);
        EXPECT_NE(script.find(name), std::string::npos) << command.name << " " << option.name;
    }
    for (const CommandShape& one : command.commands) {
        EXPECT_NE(script.find(one.name), std::string::npos) << one.name;
        expect_all_names(one, script, option_prefix);
    }
}

TEST(Completion, knows_every_command_and_option) {
    const CommandShape root = command_shape();
    ASSERT_GE(root.commands.size(), 17U);
    expect_all_names(root, bash_completion(root), "--");
    expect_all_names(root, zsh_completion(root), "--");
    expect_all_names(root, fish_completion(root), "-l ");
}

TEST(Completion, tells_flags_from_options_with_a_value) {
    const CommandShape root = command_shape();
    for (const OptionShape& option : root.options) {
        const bool has_value = option.name == "--server" || option.name == "--config";
        EXPECT_EQ(option.takes_value, has_value) << option.name;
    }
}

/// What bash offers for the words typed so far, the last of which is being completed.
std::string offered(const std::string& words) {
    const std::string file = testing::TempDir() + "holdfast-completion-" + std::to_string(getpid()) + ".bash";
    std::ofstream(file) << bash_completion(command_shape());
    const std::string script = "source " + file + "; COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _holdfast; echo \" ${COMPREPLY[*]} \"";
    FILE* pipe = popen(("bash -euc '" + script + "'").c_str(), "re");
    char line[4096] = "";
    (void)!fgets(line, sizeof line, pipe);
    EXPECT_EQ(pclose(pipe), 0) << words;
    std::remove(file.c_str());
    return line;
}

TEST(Completion, works_in_bash) {
    EXPECT_EQ(offered("holdfast rel"), " release \n");
    EXPECT_EQ(offered("holdfast policy s"), " set \n");
    EXPECT_EQ(offered("holdfast policy set --ttl-mi"), " --ttl-min \n");
    EXPECT_EQ(offered("holdfast run x --predicate MUT"), " MUTATES \n");
    EXPECT_EQ(offered("holdfast completion z"), " zsh \n");
    EXPECT_EQ(offered("holdfast list --serv"), " --server \n") << "common options everywhere";
    EXPECT_NE(offered("holdfast run x -- tru").find(" true "), std::string::npos) << "commands after --";
}

}  // namespace
}  // namespace holdfast::cli
