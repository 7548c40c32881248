#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast {

/// One holder's leading of a group. The token tells terms apart, and rises (G3).
struct LeaderTerm {
    std::string leader;
    std::uint64_t token = 0;

    bool operator==(const LeaderTerm&) const = default;
};

/// Who leads a group, put together from looks and events, which may cross on their way: an event that is older than
/// what is known changes nothing. Each function returns true if it did.
class LeaderView {
 public:
    /// The server was asked, and it is so; nothing: nobody leads.
    bool looked(std::optional<LeaderTerm> term);
    bool began(LeaderTerm term);
    bool ended(std::uint64_t token);

    const std::optional<LeaderTerm>& term() const { return term_; }

 private:
    bool known_ = false;
    std::uint64_t newest_ = 0;  // of all terms heard of
    std::optional<LeaderTerm> term_;
};

}  // namespace holdfast
