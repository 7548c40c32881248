#include "base/code.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>

namespace holdfast {
namespace {

std::string api_docs() {
    const char* source = std::getenv("HOLDFAST_SOURCE");
    std::ifstream file(std::string(source != nullptr ? source : ".") + "/docs/http-api.md");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(Codes, have_distinct_names_and_say_what_to_do) {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < code_count; ++i) {
        EXPECT_TRUE(names.insert(name_of(static_cast<Code>(i))).second);
        EXPECT_GT(advice_of(static_cast<Code>(i)).size(), 10U);
    }
}

TEST(Codes, are_all_listed_in_the_docs) {
    const std::string docs = api_docs();
    ASSERT_FALSE(docs.empty());
    for (std::size_t i = 0; i < code_count; ++i) {
        const std::string quoted = "`" + std::string(name_of(static_cast<Code>(i))) + "`";
        EXPECT_NE(docs.find(quoted), std::string::npos) << quoted << " is missing in docs/http-api.md";
    }
}

}  // namespace
}  // namespace holdfast
