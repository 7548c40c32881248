#include "cli/leader_view.h"

#include <algorithm>
#include <utility>

namespace holdfast {

bool LeaderView::looked(std::optional<LeaderTerm> term) {
    if (known_ && term == term_) return false;
    known_ = true;
    if (term) newest_ = std::max(newest_, term->token);
    term_ = std::move(term);
    return true;
}

bool LeaderView::began(LeaderTerm term) {
    if (term.token <= newest_) return false;
    known_ = true;
    newest_ = term.token;
    term_ = std::move(term);
    return true;
}

bool LeaderView::ended(std::uint64_t token) {
    if (!term_ || term_->token != token) return false;
    term_.reset();
    return true;
}

}  // namespace holdfast
