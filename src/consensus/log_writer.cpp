#include "consensus/log_writer.h"

#include <utility>

namespace holdfast::consensus {

void LogWriter::promise(LogBallot ballot) {
    changes_.promised = ballot;
    changes_.urgent = true;
    ++asked_;
}

void LogWriter::accept(LogDecree decree) {
    const LogIndex index = decree.index;
    changes_.decrees.insert_or_assign(index, std::move(decree));
    changes_.urgent = true;
    ++asked_;
}

void LogWriter::snapshot(LogSnapshot snapshot) {
    changes_.decrees.erase(changes_.decrees.begin(), changes_.decrees.upper_bound(snapshot.index));
    changes_.snapshot = std::move(snapshot);
    changes_.urgent = true;
    ++asked_;
}

void LogWriter::commit(LogIndex index) {
    changes_.committed = index;
}

void LogWriter::flush(Instant now) {
    now_ = now;
    if (under_way_ || (not_before_ && now < *not_before_)) return;
    if (changes_.committed && !commit_by_) commit_by_ = now + parts_.retry_after;
    if (!changes_.urgent && !(commit_by_ && *commit_by_ <= now)) return;
    not_before_.reset();
    commit_by_.reset();
    asked_under_way_ = asked_;
    under_way_ = take_changes();
    parts_.disk.write(*under_way_, alive_.guard([this](const Result<void>& outcome) { finished(outcome); }));
}

Instant LogWriter::due() const {
    if (under_way_) return Instant::max();
    if (not_before_) return *not_before_;
    return commit_by_.value_or(Instant::max());
}

LogWrite LogWriter::take_changes() {
    Changes changes = std::exchange(changes_, {});
    LogWrite write{changes.promised, {}, changes.committed, std::move(changes.snapshot)};
    for (auto& [index, decree] : changes.decrees)
        write.decrees.push_back(std::move(decree));
    return write;
}

void LogWriter::finished(const Result<void>& outcome) {
    HOLDFAST_ASSERT(under_way_.has_value());
    LogWrite write = std::move(*under_way_);
    under_way_.reset();
    if (outcome) {
        durable_ = asked_under_way_;
        parts_.on_durable(write);
        return;
    }
    not_before_ = now_ + parts_.retry_after;
    take_back(std::move(write));
    if (parts_.on_failed) parts_.on_failed(outcome.error());
}

/// Merges a failed write back into the changes; changes made since are newer and win.
void LogWriter::take_back(LogWrite write) {
    changes_.urgent = true;
    if (!changes_.promised) changes_.promised = write.promised;
    if (!changes_.committed) changes_.committed = write.committed;
    if (!changes_.snapshot) changes_.snapshot = std::move(write.snapshot);
    const LogIndex covered = changes_.snapshot ? changes_.snapshot->index : 0;
    for (LogDecree& decree : write.decrees)
        if (const LogIndex index = decree.index; index > covered)
            changes_.decrees.try_emplace(index, std::move(decree));
}

}  // namespace holdfast::consensus
