#include "agreed/local_log.h"

#include <algorithm>
#include <utility>

#include "consensus/replicated_log.h"

namespace holdfast::agreed {

using consensus::LogIndex;
using consensus::ReplicatedLog;

namespace {

Error unavailable(std::string why) {
    return {Code::unavailable, std::move(why)};
}

}  // namespace

LocalLog::LocalLog(Parts parts)
    : machine_(parts.machine),
      disk_(std::move(parts.disk)),
      ballot_(parts.found.promised),
      entries_before_snapshot_(parts.entries_before_snapshot),
      writer_({*disk_, retry_after, [this](const consensus::LogWrite& write) { on_durable(write); },
               [this](const Error& error) { on_failed(error); }}) {
    if (const auto& snapshot = parts.found.snapshot) {
        static_cast<void>(machine_.install(snapshot->state));  // the machine remembers an error
        applied_ = folded_ = snapshot->index;
    }
    for (const consensus::LogDecree& decree : parts.found.decrees)
        apply(decree.index, decree.value);
    last_ = applied_;
}

/// Entries that were answered because the disk does not take them still wait for it.
Result<void> LocalLog::check_room(std::size_t bytes) const {
    if (auto room = submissions_.check_room(bytes); !room) return unavailable(room.error().message);
    const bool fits = last_ - applied_ < ReplicatedLog::max_submissions &&
                      bytes_waiting_ + bytes <= ReplicatedLog::max_submission_bytes;
    if (fits) return {};
    return unavailable("too many changes wait for the disk; try again in a while");
}

void LocalLog::append(std::string entry, Callback<Result<void>> done) {
    if (auto room = check_room(entry.size()); !room) return done(std::move(room));
    bytes_waiting_ += entry.size();
    consensus::LogSubmissions::Done answer = [done = std::move(done)](const Result<LogIndex>& at) mutable {
        if (at) return done({});
        done(at.error().code == Code::storage_failed ? at.error() : unavailable(at.error().message));
    };
    submissions_.queue({{std::move(answer), 0, 0}, now_ + give_up_after, std::move(entry)});
    ++last_;
    writer_.accept({last_, ballot_, submissions_.place(last_)});
    writer_.commit(last_);
    writer_.flush(now_);
}

void LocalLog::advance(Instant now) {
    now_ = now;
    submissions_.give_up(now);
    settle();
}

Instant LocalLog::next_due() const {
    return std::min(submissions_.due(), writer_.due());
}

void LocalLog::stop() {
    disk_->stop();
}

/// An entry without content is one that a leader filled a gap with.
void LocalLog::apply(LogIndex index, const std::string& entry) {
    if (!entry.empty()) machine_.apply(index, entry);
    applied_ = index;
    bytes_since_snapshot_ += entry.size();
}

void LocalLog::on_durable(const consensus::LogWrite& write) {
    for (const consensus::LogDecree& decree : write.decrees) {
        apply(decree.index, decree.value);
        bytes_waiting_ -= decree.value.size();
    }
    submissions_.applied_to(applied_);
    fold();
    settle();
    machine_.applied();
}

void LocalLog::on_failed(const Error& error) {
    submissions_.disk_failed(error);
    settle();
}

void LocalLog::fold() {
    const bool is_long =
        applied_ - folded_ >= entries_before_snapshot_ || bytes_since_snapshot_ >= ReplicatedLog::bytes_before_snapshot;
    if (!is_long) return;
    writer_.snapshot({applied_, machine_.snapshot()});
    folded_ = applied_;
    bytes_since_snapshot_ = 0;
}

/// Writes what is pending, then answers. A callback may append, which writes too but leaves the answers to this loop.
void LocalLog::settle() {
    writer_.flush(now_);
    if (std::exchange(answering_, true)) return;
    while (auto answer = submissions_.take_answer())
        answer->asker.done(std::move(answer->outcome));
    answering_ = false;
}

}  // namespace holdfast::agreed
