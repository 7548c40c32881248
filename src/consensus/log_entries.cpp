#include "consensus/log_entries.h"

#include <algorithm>

namespace holdfast::consensus {

LogEntries::LogEntries(LogFound found)
    : promised_(found.promised), snapshot_(std::move(found.snapshot)), committed_(found.committed) {
    durable_base_ = base();
    for (LogDecree& decree : found.decrees) {
        HOLDFAST_ASSERT(decree.index == last() + 1);
        promised_ = std::max(promised_, decree.ballot);
        entries_.push_back({decree.ballot, std::move(decree.value), true});
    }
    committed_ = std::max(committed_, base());
    HOLDFAST_ASSERT(committed_ <= last());
    held_to_ = committed_;
    find_marks();
}

const LogEntries::Entry& LogEntries::at(LogIndex index) const {
    HOLDFAST_ASSERT(base() < index && index <= last());
    return entries_[index - base() - 1];
}

std::vector<LogDecree> LogEntries::from(LogIndex from) const {
    std::vector<LogDecree> decrees;
    for (LogIndex index = from; index <= last(); ++index)
        decrees.push_back({index, at(index).ballot, at(index).value});
    return decrees;
}

void LogEntries::promise(LogBallot ballot) {
    HOLDFAST_ASSERT(promised_ < ballot);
    promised_ = ballot;
    held_to_ = committed_;
    durable_to_ = std::min(durable_to_, held_to_);
}

void LogEntries::accept(std::string value) {
    ++held_to_;
    if (held_to_ > last()) entries_.emplace_back();
    entry(held_to_) = {promised_, std::move(value), false};
}

void LogEntries::commit(LogIndex index) {
    HOLDFAST_ASSERT(index <= held_to_);
    committed_ = std::max(committed_, index);
}

void LogEntries::install(LogSnapshot snapshot) {
    if (snapshot.index <= base()) return;
    // Entries already on disk count as durable without waiting for the snapshot.
    if (snapshot.index <= durable_to_) durable_base_ = snapshot.index;
    const auto covered = std::min<std::size_t>(snapshot.index - base(), entries_.size());
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(covered));
    snapshot_ = std::move(snapshot);
    committed_ = std::max(committed_, base());
    held_to_ = std::max(held_to_, committed_);
    find_marks();
}

void LogEntries::written(const LogWrite& write) {
    if (write.snapshot) durable_base_ = std::max(durable_base_, write.snapshot->index);
    for (const LogDecree& decree : write.decrees)
        if (base() < decree.index && decree.index <= last() && at(decree.index).ballot == decree.ballot)
            entry(decree.index).durable = true;
    find_marks();
}

void LogEntries::find_marks() {
    while (held_to_ < last() && at(held_to_ + 1).ballot == promised_)
        ++held_to_;
    if (durable_base_ < base()) return;
    durable_to_ = std::max(durable_to_, base());
    while (durable_to_ < held_to_ && at(durable_to_ + 1).durable)
        ++durable_to_;
}

}  // namespace holdfast::consensus
