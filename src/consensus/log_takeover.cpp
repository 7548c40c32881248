#include "consensus/log_takeover.h"

#include <algorithm>

namespace holdfast::core {

void LogTakeover::add(NodeIndex node, const LogPromise& promise) {
    if (!promised_by_.insert(node).second) return;
    committed_ = std::max(committed_, promise.committed);
    if (promise.snapshot && (!snapshot_ || snapshot_->index < promise.snapshot->index)) snapshot_ = promise.snapshot;
    for (const LogDecree& decree : promise.decrees) {
        const auto [at, fresh] = newest_.try_emplace(decree.index, decree);
        if (!fresh && at->second.ballot < decree.ballot) at->second = decree;
    }
}

const LogDecree* LogTakeover::newest(LogIndex index) const {
    const auto found = newest_.find(index);
    return found != newest_.end() ? &found->second : nullptr;
}

}  // namespace holdfast::core
