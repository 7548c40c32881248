#include "store/quorum/ballot_table.h"

#include <algorithm>

namespace holdfast::store::quorum {

BallotTable::BallotTable(HashKey key, Keep keep) : keep_(keep), entries_(make_text_map<BallotEntry>(key)) {}

BallotEntry* BallotTable::find(std::string_view resource) {
    const auto found = entries_.find(resource);
    return found == entries_.end() ? nullptr : &found->second;
}

BallotEntry* BallotTable::add(std::string_view resource, Instant now) {
    if (entries_.size() >= max_entries) return nullptr;
    const auto added = entries_.try_emplace(std::string(resource)).first;
    added->second.promised = forgotten_;
    added->second.touched = now;
    file(*added, now + keep_.promised);
    return &added->second;
}

void BallotTable::forget_up_to(Ballot ballot) {
    forgotten_ = std::max(forgotten_, ballot);
}

Instant BallotTable::next_due() const {
    Instant due = Instant::max();
    if (!promises_.empty()) due = std::min(due, promises_.front().at);
    if (!registers_.empty()) due = std::min(due, registers_.front().at);
    return due;
}

}  // namespace holdfast::store::quorum
