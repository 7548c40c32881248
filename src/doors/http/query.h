#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace holdfast::doors::http {

/// The parameters of the query string, read as strictly as JsonFields: unknown and repeated ones are errors.
class Query {
 public:
    /// Reads `a=b&c=d`; `+` is a blank, as in forms. Error `invalid_argument` for a bad escape or a repeated name.
    static Result<Query> parse(std::string_view text);

    std::optional<std::string> text(std::string_view name, std::size_t max_bytes);
    std::optional<std::uint64_t> whole(std::string_view name, std::uint64_t least, std::uint64_t most);
    std::optional<bool> boolean(std::string_view name);

    void check(const Result<void>& result);

    /// Reports an unknown parameter first, then the first mistake.
    std::optional<Error> error() const;

 private:
    std::vector<std::pair<std::string, std::string>> parameters_;
    std::vector<std::string_view> known_;
    std::optional<Error> mistake_;

    const std::string* find(std::string_view name) const;
    const std::string* any(std::string_view name);
    void refuse(std::string message);
};

}  // namespace holdfast::doors::http
