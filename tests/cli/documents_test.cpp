#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

#include "cli/app.h"

namespace holdfast::cli {
namespace {

std::string read(const std::string& path) {
    const char* source = std::getenv("HOLDFAST_SOURCE");
    std::ifstream file{std::string(source != nullptr ? source : ".") + "/" + path};
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The manual escapes hyphens; take the escapes out to search it.
std::string without_escapes(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] != '\\' || i + 1 == text.size() || text[i + 1] != '-') plain += text[i];
    return plain;
}

/// The option itself, not a longer one that starts like it.
bool names(const std::string& text, const std::string& option) {
    for (std::size_t at = text.find(option); at != std::string::npos; at = text.find(option, at + 1)) {
        const std::size_t end = at + option.size();
        const bool longer = end < text.size() && (text[end] == '-' || (text[end] >= 'a' && text[end] <= 'z'));
        if (!longer) return true;
    }
    return false;
}

void expect_documented(const CommandShape& command, const std::string& path, const std::string& text) {
    for (const CommandShape& one : command.commands) {
        const std::string full = path.empty() ? one.name : path + " " + one.name;
        EXPECT_NE(text.find(full), std::string::npos) << "no word of the command " << full;
        expect_documented(one, full, text);
    }
    for (const OptionShape& option : command.options) {
        EXPECT_TRUE(names(text, option.name)) << "no word of " << path << " " << option.name;
        if (!option.environment.empty()) {
            EXPECT_NE(text.find(option.environment), std::string::npos) << "no word of " << option.environment;
        }
    }
}

void expect_exit_codes(const std::string& text) {
    for (const char* code : {"103", "104", "105", "106", "107", "108", "126", "127", "128"})
        EXPECT_NE(text.find(code), std::string::npos) << code;
}

TEST(ManualPage, has_every_command_option_variable_and_exit_code) {
    const std::string manual = without_escapes(read("packaging/holdfast.1"));
    ASSERT_GT(manual.size(), 1000U);
    expect_documented(command_shape(), "", manual);
    expect_exit_codes(manual);
}

TEST(Reference, has_every_command_option_variable_and_exit_code) {
    const std::string reference = read("docs/cli.md");
    ASSERT_GT(reference.size(), 1000U);
    expect_documented(command_shape(), "", reference);
    expect_exit_codes(reference);
}

TEST(ManualPage, formats_without_a_warning) {
    if (std::system("command -v man >/dev/null") != 0) GTEST_SKIP() << "no man here";
    const char* source = std::getenv("HOLDFAST_SOURCE");
    const std::string page = std::string(source != nullptr ? source : ".") + "/packaging/holdfast.1";
    FILE* pipe = popen(
        ("LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z '" + page + "' 2>&1 >/dev/null").c_str(),
        "re");
    char said[1024] = "";
    (void)!fread(said, 1, sizeof said - 1, pipe);
    EXPECT_EQ(pclose(pipe), 0);
    EXPECT_STREQ(said, "");
}

}  // namespace
}  // namespace holdfast::cli
