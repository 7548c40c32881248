#include "client/agent/digest.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sstream>
#include <stdexcept>

namespace holdfast::client::agent {
namespace {

const Digest example{.id = "alice",
                     .session = "s1",
                     .epoch = 7,
                     .priority = -5,
                     .checkpoint = "file 3 of \"10\"\n\xc3\xa9",
                     .pending = {{"FILE:/a", "MUTATES"}, {"FILE:/b/**", "CONSUMES"}}};

void expect_equal(const Digest& found, const Digest& wanted) {
    EXPECT_EQ(found.id, wanted.id);
    EXPECT_EQ(found.session, wanted.session);
    EXPECT_EQ(found.epoch, wanted.epoch);
    EXPECT_EQ(found.priority, wanted.priority);
    EXPECT_EQ(found.checkpoint, wanted.checkpoint);
    ASSERT_EQ(found.pending.size(), wanted.pending.size());
    for (std::size_t i = 0; i < found.pending.size(); ++i) {
        EXPECT_EQ(found.pending[i].resource, wanted.pending[i].resource);
        EXPECT_EQ(found.pending[i].predicate, wanted.pending[i].predicate);
    }
}

TEST(Digest, comes_back_as_it_was_written) {
    const auto read = parse_digest(to_text(example));
    ASSERT_TRUE(read) << read.error().message;
    expect_equal(*read, example);
    const auto bare = parse_digest(to_text({.id = "a", .session = "", .epoch = 1}));
    ASSERT_TRUE(bare) << bare.error().message;
    EXPECT_FALSE(bare->priority);
}

TEST(Digest, that_is_torn_anywhere_is_damaged) {
    const std::string whole = to_text(example);
    for (std::size_t length = 0; length < whole.size(); ++length) {
        const auto read = parse_digest(whole.substr(0, length));
        ASSERT_FALSE(read) << length;
        EXPECT_EQ(read.error().code, Code::digest_damaged) << length;
    }
    EXPECT_FALSE(parse_digest(whole + "x"));
}

RC_GTEST_PROP(Digest, with_any_byte_changed_is_not_believed, ()) {
    std::string text = to_text(example);
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    text[at] = static_cast<char>(text[at] ^ *rc::gen::inRange(1, 256));
    RC_ASSERT(!parse_digest(text));
}

RC_GTEST_PROP(Digest, never_crashes_on_nonsense, (const std::string& nonsense)) {
    RC_ASSERT(!parse_digest(nonsense));
    RC_ASSERT(!parse_digest("holdfast-agent 1 " + nonsense));
}

TEST(Digest, of_a_later_version_says_so) {
    std::string text = to_text(example);
    text.replace(text.find(" 1 "), 3, " 2 ");
    EXPECT_EQ(parse_digest(text).error().code, Code::digest_version);
    EXPECT_NE(parse_digest(text).error().message.find("version 2"), std::string::npos);
}

TEST(Digest, refuses_a_checkpoint_that_is_too_long_or_no_text) {
    EXPECT_TRUE(check_checkpoint(std::string(max_checkpoint_bytes, 'x')));
    EXPECT_EQ(check_checkpoint(std::string(max_checkpoint_bytes + 1, 'x')).error().code, Code::invalid_argument);
    EXPECT_EQ(check_checkpoint("\xff").error().code, Code::invalid_argument);
}

class DigestFileTest : public testing::Test {
 protected:
    DigestFileTest() {
        std::string name = (std::filesystem::temp_directory_path() / "holdfast-digest-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a directory");
        directory_ = name;
    }
    ~DigestFileTest() override { std::filesystem::remove_all(directory_); }

    std::string path() const { return directory_ / "digest"; }
    void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }

    std::filesystem::path directory_;
};

TEST_F(DigestFileTest, is_there_for_the_next_life) {
    {
        DigestFile file(path());
        const auto nothing = file.load();
        ASSERT_TRUE(nothing) << nothing.error().message;
        EXPECT_FALSE(*nothing) << "there was no earlier life";
        ASSERT_TRUE(file.save(example));
        ASSERT_TRUE(file.save(example)) << "a save replaces the one before";
    }
    const auto loaded = DigestFile(path()).load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_TRUE(*loaded);
    expect_equal(**loaded, example);
}

TEST_F(DigestFileTest, that_is_damaged_is_named_and_left_alone) {
    write(to_text(example).substr(0, 60));
    const auto loaded = DigestFile(path()).load();
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code, Code::digest_damaged);
    EXPECT_NE(loaded.error().message.find(path()), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(path()), 60U);
}

TEST_F(DigestFileTest, that_is_too_large_is_not_read) {
    write("holdfast-agent 1 ");
    std::filesystem::resize_file(path(), max_digest_bytes + 1);
    EXPECT_EQ(DigestFile(path()).load().error().code, Code::digest_damaged);
}

TEST_F(DigestFileTest, that_is_no_file_is_not_read) {
    std::filesystem::create_directory(path());
    EXPECT_EQ(DigestFile(path()).load().error().code, Code::digest_damaged);
}

TEST_F(DigestFileTest, belongs_to_one_life_at_a_time) {
    DigestFile first(path());
    ASSERT_TRUE(first.load());
    EXPECT_EQ(DigestFile(path()).load().error().code, Code::digest_in_use);
}

TEST_F(DigestFileTest, says_what_is_wrong_with_the_disk) {
    DigestFile nowhere((directory_ / "missing" / "digest").string());
    EXPECT_EQ(nowhere.load().error().code, Code::storage_failed);
    DigestFile file(path());
    ASSERT_TRUE(file.load());
    std::filesystem::create_directory(path() + ".new");
    EXPECT_EQ(file.save(example).error().code, Code::storage_failed);
}

TEST_F(DigestFileTest, that_is_torn_off_while_being_saved_leaves_the_one_before) {
    DigestFile file(path());
    ASSERT_TRUE(file.load());
    ASSERT_TRUE(file.save(example));
    std::ofstream(path() + ".new") << to_text(example).substr(0, 20);  // as a crash in the middle of a save leaves it
    const auto loaded = file.load();
    ASSERT_TRUE(loaded) << loaded.error().message;
    expect_equal(**loaded, example);
    EXPECT_TRUE(file.save(example));
}

TEST(DigestFile, without_a_path_keeps_nothing) {
    DigestFile file("");
    ASSERT_TRUE(file.load());
    EXPECT_TRUE(file.save(example));
    EXPECT_FALSE(*file.load());
}

}  // namespace
}  // namespace holdfast::client::agent
