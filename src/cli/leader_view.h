#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::cli {

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
    bool observed(std::optional<LeaderTerm> term) {
        if (known_ && term == term_) return false;
        known_ = true;
        if (term) newest_ = std::max(newest_, term->token);
        term_ = std::move(term);
        return true;
    }
    bool began(LeaderTerm term) {
        if (term.token <= newest_) return false;
        known_ = true;
        newest_ = term.token;
        term_ = std::move(term);
        return true;
    }
    bool ended(std::uint64_t token) {
        if (!term_ || term_->token != token) return false;
        term_.reset();
        return true;
    }

    const std::optional<LeaderTerm>& term() const { return term_; }

 private:
    bool known_ = false;
    std::uint64_t newest_ = 0;  ///< the highest token seen
    std::optional<LeaderTerm> term_;
};

}  // namespace holdfast::cli
