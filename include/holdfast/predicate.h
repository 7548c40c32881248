#pragma once

#include <holdfast/export.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

/// What a holder intends to do with a resource (G2). A plain lock is `mutates`.
enum class Predicate { provides, consumes, mutates, deletes, depends_on, renames };
HOLDFAST_API const char* to_string(Predicate predicate);  ///< `DEPENDS_ON`
/// Returns nothing if no predicate has this name.
HOLDFAST_API std::optional<Predicate> predicate_of(std::string_view name);

/// A predicate as it is sent: by its name. Constructed from the enum, or from text that the server checks.
class PredicateName {
 public:
    PredicateName(Predicate predicate) : text_(to_string(predicate)) {}
    PredicateName(std::string name) : text_(std::move(name)) {}
    PredicateName(std::string_view name) : text_(name) {}
    PredicateName(const char* name) : text_(name) {}

    const std::string& text() const& noexcept { return text_; }
    std::string text() && { return std::move(text_); }
    operator std::string() const { return text_; }

    bool operator==(const PredicateName&) const = default;

 private:
    std::string text_;
};

}  // namespace holdfast
