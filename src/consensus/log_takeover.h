#pragma once

#include <map>
#include <optional>
#include <set>

#include "consensus/log_messages.h"

namespace holdfast::core {

/// The state that a new leader has learnt from the nodes that promised to follow it (L1): for each index the entry with
/// the highest ballot. If an entry was chosen there, a majority accepted it, so every majority includes a node that
/// reports it, and any entry with a higher ballot at that index is the same.
class LogTakeover {
 public:
    explicit LogTakeover(LogIndex from) : from_(from) {}

    LogIndex from() const { return from_; }
    bool promised(NodeIndex node) const { return promised_by_.contains(node); }
    std::size_t promises() const { return promised_by_.size(); }

    void own_promise(NodeIndex node) { promised_by_.insert(node); }
    /// Counts repliers, not replies (Q4).
    void add(NodeIndex node, const LogPromise& promise);

    LogIndex committed() const { return committed_; }
    LogIndex last() const { return newest_.empty() ? 0 : newest_.rbegin()->first; }
    const std::optional<LogSnapshot>& snapshot() const { return snapshot_; }
    const LogDecree* newest(LogIndex index) const;

 private:
    LogIndex from_;
    std::set<NodeIndex> promised_by_;
    std::map<LogIndex, LogDecree> newest_;
    std::optional<LogSnapshot> snapshot_;
    LogIndex committed_ = 0;
};

}  // namespace holdfast::core
