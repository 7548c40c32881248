#include "cli/mcp/mcp_protocol.h"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "base/random.h"
#include "cli/mcp/mcp_words.h"

namespace holdfast::cli::mcp {
namespace {

namespace json = boost::json;

class McpProtocolTest : public testing::Test {
 protected:
    McpProtocol protocol{{"1.2.3", "instructions", mcp_tool_list()}};

    void initialize(const std::string& version) {
        protocol.take(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version +
                      "\"}}");
    }
    json::value answer(std::string_view line) {
        const McpReaction reaction = protocol.take(line);
        return reaction.answers.size() == 1 ? reaction.answers[0] : json::value(reaction.answers);
    }
    std::int64_t error(std::string_view line) { return answer(line).at("error").at("code").as_int64(); }
};

TEST_F(McpProtocolTest, gives_ids_back_as_they_came) {
    for (const char* id : {"1", "-7", "18446744073709551615", "\"\"", "\"a\\nb\""}) {
        const auto said = answer(R"({"jsonrpc":"2.0","method":"ping","id":)" + std::string(id) + "}");
        EXPECT_EQ(json::serialize(said.at("id")), id);
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
    EXPECT_EQ(reaction.calls[0].arguments.at("limit"), 5);
    const auto said = protocol.answer(reaction.calls[0], {"text", {{"more", false}}, true});
    EXPECT_EQ(said.at("id"), "c");
    EXPECT_TRUE(said.at("result").at("isError").as_bool());
    EXPECT_FALSE(said.at("result").as_object().contains("structuredContent"));
}

TEST_F(McpProtocolTest, passes_cancellations_on) {
    const auto reaction =
        protocol.take(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}})");
    ASSERT_EQ(reaction.cancelled.size(), 1U);
    EXPECT_EQ(reaction.cancelled[0], "x");
    EXPECT_TRUE(reaction.answers.empty());
}

TEST_F(McpProtocolTest, has_no_methods_before_a_version_is_agreed) {
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), -32602);
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})"), -32602);
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}})"), -32602);
    initialize("2025-11-25");
    EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})").at("result").at("tools").as_array().size(),
              5U);
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}})"), -32602);
    EXPECT_EQ(error(R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})"), -32601);
}

TEST_F(McpProtocolTest, takes_batches_of_limited_size_and_depth) {
    initialize("2024-11-05");
    std::string batch;
    for (int i = 0; i < 65; ++i)
        batch += std::string(i == 0 ? "[" : ",") + R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    EXPECT_EQ(error(batch + "]"), -32600);
    const auto mixed = protocol.take(R"([1,{"jsonrpc":"2.0","id":1,"method":"ping"},[]])");
    EXPECT_TRUE(mixed.batch);
    EXPECT_EQ(mixed.answers.size(), 3U);
    EXPECT_EQ(error(std::string(40, '[') + std::string(40, ']')), -32700);
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
        for (const json::value& said : reaction.answers)
            ASSERT_EQ(said.at("jsonrpc"), "2.0") << line;
    }
}

TEST(McpToolList, has_schemas_that_allow_nothing_else) {
    for (const json::value& tool : mcp_tool_list()) {
        const json::object& schema = tool.at("inputSchema").as_object();
        EXPECT_EQ(schema.at("type"), "object");
        EXPECT_EQ(schema.at("additionalProperties"), false);
        EXPECT_FALSE(tool.at("description").as_string().empty());
    }
}

}  // namespace
}  // namespace holdfast::cli::mcp
