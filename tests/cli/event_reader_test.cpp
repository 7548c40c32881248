#include <gtest/gtest.h>

#include "cli/event_follower.h"

namespace holdfast::cli {
namespace {

TEST(EventReader, puts_an_event_together) {
    EventReader reader;
    EXPECT_FALSE(reader.line("id: 1f-7"));
    EXPECT_FALSE(reader.line("event: granted"));
    EXPECT_FALSE(reader.line("data: {\"a\":1}"));
    EXPECT_EQ(reader.last_id(), "") << "not before the event is whole";
    const auto event = reader.line("");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->type, "granted");
    EXPECT_EQ(event->data, "{\"a\":1}");
    EXPECT_EQ(reader.last_id(), "1f-7");
}

TEST(EventReader, passes_over_comments_and_empty_lines) {
    EventReader reader;
    EXPECT_FALSE(reader.line(": keep alive"));
    EXPECT_FALSE(reader.line(""));
    EXPECT_FALSE(reader.line("data"));
    EXPECT_FALSE(reader.line(""));
}

TEST(EventReader, keeps_the_last_id_over_an_event_without_one) {
    EventReader reader;
    for (const char* line : {"id: 5", "event: granted", "data: x", ""})
        (void)reader.line(line);
    EXPECT_FALSE(reader.line("event: renewed"));
    EXPECT_FALSE(reader.line("data: y"));
    EXPECT_TRUE(reader.line(""));
    EXPECT_EQ(reader.last_id(), "5");
}

TEST(EventReader, forgets_half_an_event_when_the_connection_breaks) {
    EventReader reader;
    EXPECT_FALSE(reader.line("id: 9"));
    EXPECT_FALSE(reader.line("data: half"));
    reader.restart();
    EXPECT_FALSE(reader.line("data:whole\r"));
    const auto event = reader.line("\r");
    ASSERT_TRUE(event);
    EXPECT_EQ(event->data, "whole");
    EXPECT_EQ(reader.last_id(), "");
}

TEST(EventReader, joins_several_data_lines) {
    EventReader reader;
    EXPECT_FALSE(reader.line("data: one"));
    EXPECT_FALSE(reader.line("data: two"));
    EXPECT_EQ(reader.line("")->data, "one\ntwo");
}

}  // namespace
}  // namespace holdfast::cli
