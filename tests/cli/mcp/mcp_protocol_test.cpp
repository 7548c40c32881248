#include "cli/mcp/mcp_protocol.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "cli/mcp/mcp_words.h"

namespace holdfast::cli::mcp {
namespace {

class McpProtocolTest : public testing::Test {
 protected:
    McpProtocol protocol{{"1.2.3", "instructions", mcp_tool_list()}};

    void initialize(const std::string& version) {
        protocol.take(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version +
                      "\"}}");
    }
    JsonValue answer(std::string_view line) {
        const McpReaction reaction = protocol.take(line);
        return reaction.answers.size() == 1 ? reaction.answers[0] : JsonValue(reaction.answers);
    }
    std::string error(std::string_view line) { return answer(line)["error"]["code"].text; }
};

TEST_F(McpProtocolTest, gives_ids_back_as_they_came) {
    for (const char* id : {"1", "-7", "18446744073709551615", "\"\"", "\"a\\nb\""}) {
        const auto said = answer(R"({"jsonrpc":"2.0","method":"ping","id":)" + std::string(id) + "}");
        EXPECT_EQ(to_text(said["id"]), id);
    }
}

TEST_F(McpProtocolTest, hands_calls_over_with_the_version_they_are_in) {
    initialize("2025-03-26");
    const auto reaction = protocol.take(
        R"({"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"list_intents","arguments":{"limit":5}}})");
    ASSERT_EQ(reaction.calls.size(), 1U);
    EXPECT_TRUE(reaction.answers.empty());
    EXPECT_EQ(reaction.calls[0].tool, "list_intents");
    EXPECT_EQ(reaction.calls[0].version, "2025-03-26");
    EXPECT_EQ(reaction.calls[0].arguments["limit"].number, 5U);
    const auto said = protocol.answer(reaction.calls[0], {"text", JsonValue::object({{"more", false}}), true});
    EXPECT_EQ(said["id"].text, "c");
    EXPECT_TRUE(said["result"]["isError"].truth);
    EXPECT_EQ(said["result"].find("structuredContent"), nullptr);
}

TEST_F(McpProtocolTest, passes_cancellations_on) {
    const auto reaction =
        protocol.take(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}})");
    ASSERT_EQ(reaction.cancelled.size(), 1U);
    EXPECT_EQ(reaction.cancelled[0].text, "x");
    EXPECT_TRUE(reaction.answers.empty());
}

TEST_F(McpProtocolTest, has_no_methods_before_a_version_is_agreed) {
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), "-32602");
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})"), "-32602");
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}})"), "-32602");
    initialize("2025-11-25");
    EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")["result"]["tools"].items.size(), 5U);
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}})"), "-32602");
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})"), "-32601");
}

TEST_F(McpProtocolTest, takes_batches_of_limited_size_and_depth) {
    initialize("2024-11-05");
    std::string batch;
    for (int i = 0; i < 65; ++i)
        batch += std::string(i == 0 ? "[" : ",") + R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    EXPECT_EQ(error(batch + "]"), "-32600");
    const auto mixed = protocol.take(R"([1,{"jsonrpc":"2.0","id":1,"method":"ping"},[]])");
    EXPECT_TRUE(mixed.batch);
    EXPECT_EQ(mixed.answers.size(), 3U);
    EXPECT_EQ(error(std::string(40, '[') + std::string(40, ']')), "-32700");
}

TEST_F(McpProtocolTest, survives_random_damage_to_messages) {
    initialize("2025-03-26");
    const std::string good =
        R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_intents",)"
        R"("arguments":{"limit":5},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}])";
    Random random{42};
    for (int round = 0; round < 20'000; ++round) {
        std::string line = good;
        for (std::uint64_t i = 0; i <= random.below(4); ++i)
            line[random.below(line.size())] = static_cast<char>(random.below(256));
        if (random.below(4) == 0) line.resize(random.below(line.size()));
        const McpReaction reaction = protocol.take(line);
        for (const JsonValue& said : reaction.answers)
            ASSERT_EQ(said["jsonrpc"].text, "2.0") << line;
    }
}

TEST(McpToolList, has_schemas_that_allow_nothing_else) {
    for (const JsonValue& tool : mcp_tool_list()) {
        const JsonValue& schema = tool["inputSchema"];
        EXPECT_EQ(schema["type"].text, "object");
        ASSERT_NE(schema.find("additionalProperties"), nullptr);
        EXPECT_FALSE(schema["additionalProperties"].truth);
        EXPECT_FALSE(tool["description"].text.empty());
    }
}

}  // namespace
}  // namespace holdfast::cli::mcp
