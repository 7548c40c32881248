#include "client/sessions/lease_commands.h"

#include <gtest/gtest.h>

#include "codec/resp/resp_command.h"

namespace holdfast::client::sessions {
namespace {

std::string bytes(std::initializer_list<std::string_view> words) {
    std::string out;
    codec::resp::write_command(out, words);
    return out;
}

TEST(LeaseCommands, are_to_the_byte_what_others_send) {
    const LeaseCommands commands{"host-1-0000000a", 30s, 30s};
    const auto written = [&](Ask ask) {
        std::string out;
        commands.write(out, {ask, "s", {}});
        return out;
    };
    EXPECT_EQ(written(Ask::acquire), bytes({"SET", "poll:lease:s", "host-1-0000000a", "NX", "PX", "30000"}));
    EXPECT_EQ(written(Ask::renew),
              bytes({"EVALSHA", renew_script_sha, "1", "poll:lease:s", "host-1-0000000a", "30000"}));
    EXPECT_EQ(written(Ask::release), bytes({"EVALSHA", release_script_sha, "1", "poll:lease:s", "host-1-0000000a"}));
    EXPECT_EQ(written(Ask::read), bytes({"GET", "poll:lease:s"}));
    std::string out;
    commands.write_heartbeat(out);
    EXPECT_EQ(out, bytes({"SET", "poll:node:host-1-0000000a", "1", "EX", "30"}));
    out.clear();
    commands.write_in_full(out, {Ask::release, "s", {}});
    EXPECT_EQ(out, bytes({"EVAL", release_script, "1", "poll:lease:s", "host-1-0000000a"}));
}

TEST(LeaseCommands, say_how_long_ago_a_store_may_have_forgotten_at_least) {
    const auto age = [](const std::string& text) {
        return LeaseCommands::read_memory_age({.type = codec::resp::Value::Type::text, .text = text});
    };
    EXPECT_EQ(age("# Server\r\nredis_version:7.0.15\r\nuptime_in_seconds:9\r\nuptime_in_days:0\r\n"), Duration{8s});
    EXPECT_EQ(age("uptime_in_seconds:1\r\n"), Duration{0s});
    EXPECT_GE(age("uptime_in_seconds:18446744073709551615\r\n"), Duration{24h});
    EXPECT_EQ(age("uptime_in_seconds:soon\r\n"), Duration{0s}) << "not known: as if it had been a moment ago";
    EXPECT_EQ(age("mocked_uptime_in_seconds:99\r\n"), Duration{0s});
    EXPECT_EQ(LeaseCommands::read_memory_age({.type = codec::resp::Value::Type::error, .text = "ERR"}), Duration{0s});
    EXPECT_EQ(age("redis_version:7\r\nholdfast_version:0.1\r\nuptime_in_seconds:0\r\n"), std::nullopt);
}

TEST(LeaseCommands, take_an_error_for_no_answer) {
    const codec::resp::Value error{.type = codec::resp::Value::Type::error, .text = "OOM"};
    for (const Ask ask : {Ask::acquire, Ask::renew, Ask::release, Ask::read})
        EXPECT_EQ(LeaseCommands::read({ask, "s", {}}, error).kind, LeaseAnswer::Kind::unanswered);
    EXPECT_EQ(LeaseCommands::read({Ask::acquire, "s", {}}, {}).kind, LeaseAnswer::Kind::no);
    EXPECT_EQ(LeaseCommands::read({Ask::read, "s", {}}, {}).kind, LeaseAnswer::Kind::owner);
}

}  // namespace
}  // namespace holdfast::client::sessions
