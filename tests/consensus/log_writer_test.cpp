#include "consensus/log_writer.h"

#include <gtest/gtest.h>

#include "consensus/log_world.h"

namespace holdfast::consensus {
namespace {

constexpr LogBallot ballot{1, 0};
constexpr Instant noon{1h};

class LogWriterTest : public testing::Test {
 protected:
    WorldDisk disk_;
    std::vector<LogWrite> durable_;
    LogWriter writer_{{disk_, 500ms, [this](const LogWrite& write) { durable_.push_back(write); }}};
};

TEST_F(LogWriterTest, what_comes_about_during_a_write_goes_with_the_next) {
    writer_.promise(ballot);
    writer_.flush(noon);
    writer_.accept({1, ballot, "a"});
    writer_.flush(noon);
    writer_.accept({2, ballot, "b"});
    writer_.flush(noon);
    EXPECT_EQ(writer_.durable(), 0U);
    disk_.complete(false);
    EXPECT_EQ(writer_.durable(), 1U);
    EXPECT_FALSE(disk_.busy());
    writer_.flush(noon);
    disk_.complete(false);
    EXPECT_EQ(writer_.durable(), writer_.asked());
    ASSERT_EQ(durable_.size(), 2U);
    EXPECT_EQ(durable_[1].decrees.size(), 2U);
}

TEST_F(LogWriterTest, writes_again_what_failed_along_with_what_came_later) {
    writer_.promise(ballot);
    writer_.accept({1, ballot, "old"});
    writer_.accept({2, ballot, "kept"});
    writer_.flush(noon);
    writer_.accept({1, {2, 0}, "new"});
    disk_.complete(true);
    EXPECT_TRUE(durable_.empty());
    writer_.flush(noon + 100ms);
    EXPECT_FALSE(disk_.busy()) << "a disk that fails is not hammered";
    EXPECT_EQ(writer_.due(), noon + 500ms);
    writer_.flush(noon + 500ms);
    disk_.complete(false);
    EXPECT_EQ(writer_.durable(), writer_.asked());
    EXPECT_EQ(disk_.found().promised, ballot);
    EXPECT_EQ(disk_.found().decrees, (std::vector<LogDecree>{{1, {2, 0}, "new"}, {2, ballot, "kept"}}));
}

TEST_F(LogWriterTest, a_snapshot_replaces_the_entries_that_wait) {
    writer_.accept({1, ballot, "a"});
    writer_.accept({2, ballot, "b"});
    writer_.snapshot({1, "state"});
    writer_.flush(noon);
    disk_.complete(true);
    writer_.flush(noon + 1s);
    disk_.complete(false);
    EXPECT_EQ(disk_.found().snapshot, (LogSnapshot{1, "state"}));
    EXPECT_EQ(disk_.found().decrees, (std::vector<LogDecree>{{2, ballot, "b"}}));
}

TEST_F(LogWriterTest, how_far_the_log_is_committed_waits_for_company_but_not_for_ever) {
    writer_.commit(3);
    writer_.flush(noon);
    EXPECT_FALSE(disk_.busy());
    EXPECT_EQ(writer_.due(), noon + 500ms);
    writer_.flush(noon + 500ms);
    disk_.complete(false);
    EXPECT_EQ(disk_.found().committed, 3U);
    EXPECT_EQ(writer_.due(), Instant::max());
    writer_.commit(4);
    writer_.accept({5, ballot, "e"});
    writer_.flush(noon + 1s);
    disk_.complete(false);
    EXPECT_EQ(disk_.found().committed, 4U);
}

TEST_F(LogWriterTest, an_answer_that_comes_after_its_end_is_harmless) {
    {
        LogWriter gone({disk_, 500ms, [](const LogWrite&) { FAIL(); }});
        gone.promise(ballot);
        gone.flush(noon);
    }
    disk_.complete(false);
    EXPECT_EQ(disk_.found().promised, ballot);
}

}  // namespace
}  // namespace holdfast::consensus
