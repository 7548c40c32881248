#include "cli/session_file.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace holdfast::cli {
namespace {

constexpr HolderInstant begin{1000s};

class SessionFileTest : public testing::Test {
 protected:
    SessionFileTest() { write("one\n"); }
    ~SessionFileTest() override { std::remove(path.c_str()); }

    void write(const std::string& text) const { std::ofstream{path} << text; }

    const std::string path = testing::TempDir() + "sessions-" + std::to_string(getpid());
    SessionFile file{path};
};

TEST_F(SessionFileTest, that_stays_as_it_is_has_not_changed) {
    file.remember();
    EXPECT_FALSE(file.has_changed(begin));
    EXPECT_FALSE(file.has_changed(begin + 1h));
}

TEST_F(SessionFileTest, that_was_written_to_is_told_of_once_when_it_has_come_to_rest) {
    file.remember();
    write("one\ntwo\n");
    EXPECT_FALSE(file.has_changed(begin)) << "whoever writes it may not be done";
    write("one\ntwo\nthree\n");
    EXPECT_FALSE(file.has_changed(begin + 900ms));
    EXPECT_FALSE(file.has_changed(begin + 1800ms)) << "it changed again since";
    EXPECT_TRUE(file.has_changed(begin + 1900ms + 100ms));
    EXPECT_FALSE(file.has_changed(begin + 1h));
}

TEST_F(SessionFileTest, that_was_replaced_has_changed) {
    file.remember();
    std::ofstream{path + ".new"} << "one\n";
    ASSERT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
    EXPECT_FALSE(file.has_changed(begin));
    EXPECT_TRUE(file.has_changed(begin + 2s));
}

TEST_F(SessionFileTest, that_is_gone_has_not_changed) {
    file.remember();
    std::remove(path.c_str());
    EXPECT_FALSE(file.has_changed(begin));
    EXPECT_FALSE(file.has_changed(begin + 2s));
}

TEST_F(SessionFileTest, that_was_read_meanwhile_has_not_changed) {
    file.remember();
    write("one\ntwo\n");
    EXPECT_FALSE(file.has_changed(begin));
    file.remember();
    EXPECT_FALSE(file.has_changed(begin + 2s));
}

TEST(SessionFile, on_standard_input_cannot_be_read_again) {
    SessionFile input{"-"};
    EXPECT_FALSE(input);
    EXPECT_FALSE(input.has_changed(begin));
}

}  // namespace
}  // namespace holdfast::cli
