#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace holdfast::cli::mcp {

/// Reads the arguments of a tool, according to its input schema. The first mismatch is recorded as text that a model
/// can act on; values read after that are meaningless.
class McpArguments {
 public:
    /// REQUIRES: an object, which outlives this.
    explicit McpArguments(const JsonValue& arguments) : arguments_(arguments) {}

    /// Each is optional; a missing one is empty.
    std::string text(std::string_view name);
    std::optional<bool> flag(std::string_view name);
    std::optional<std::chrono::milliseconds> milliseconds(std::string_view name, std::chrono::milliseconds max);
    std::optional<std::int64_t> number(std::string_view name, std::int64_t min, std::int64_t max);
    /// Without duplicates, in order.
    std::vector<std::string> texts(std::string_view name, std::size_t max);
    const JsonValue::List& array(std::string_view name, std::size_t max);

    /// The problem, with precedence for an argument that no call above has read. Empty: none.
    std::string problem() const;
    void complain(std::string what);

 private:
    const JsonValue* find(std::string_view name);

    const JsonValue& arguments_;
    std::set<std::string, std::less<>> known_;
    std::string problem_;
};

}  // namespace holdfast::cli::mcp
