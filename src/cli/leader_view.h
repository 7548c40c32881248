#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast {

/// One term of a group's leader. The token identifies the term, and rises (G3).
struct LeaderTerm {
    std::string leader;
    std::uint64_t token = 0;

    bool operator==(const LeaderTerm&) const = default;
};

/// The leader of a group, from reads and events, which may arrive out of order: an event older than the known state
/// changes nothing. Each function returns true if the view changed.
class LeaderView {
 public:
    /// The result of a read from the server; nothing: there is no leader.
    bool looked(std::optional<LeaderTerm> term);
    bool began(LeaderTerm term);
    bool ended(std::uint64_t token);

    const std::optional<LeaderTerm>& term() const { return term_; }

 private:
    bool known_ = false;
    std::uint64_t newest_ = 0;  // the highest token seen
    std::optional<LeaderTerm> term_;
};

}  // namespace holdfast
