#include "consensus/log_submissions.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "consensus/replicated_log.h"

namespace holdfast::consensus {
namespace {

Error unavailable(const char* why) {
    return {Code::unavailable, why};
}

Error not_yet_stored(const Error& why) {
    return {Code::storage_failed, why.message + "; the change is not in force, and will be once the disk takes it"};
}

}  // namespace

Result<void> LogSubmissions::check_room(std::size_t bytes) const {
    if (bytes > ReplicatedLog::max_value_bytes)
        return Error{Code::too_large, fmt::format("an entry of the log has at most {} bytes, this one {}",
                                                  std::size_t{ReplicatedLog::max_value_bytes}, bytes)};
    const std::size_t waiting = queued_.size() + placed_.size() + forwarded_.size();
    if (waiting >= ReplicatedLog::max_submissions || bytes_ + bytes > ReplicatedLog::max_submission_bytes)
        return Error{Code::too_many, "too many changes wait to be appended to the log; try again in a while"};
    return {};
}

void LogSubmissions::queue(Waiting waiting) {
    bytes_ += waiting.value.size();
    queued_.push_back(std::move(waiting));
}

std::string LogSubmissions::place(LogIndex index) {
    Waiting first = std::move(queued_.front());
    queued_.pop_front();
    forget_bytes(first);
    std::string value = std::exchange(first.value, {});
    placed_.emplace(index, std::move(first));
    return value;
}

std::uint64_t LogSubmissions::forward(Waiting waiting) {
    forwarded_.emplace(next_number_, Forwarded{std::move(waiting)});
    return next_number_++;
}

void LogSubmissions::forwarded_is_at(std::uint64_t number, LogIndex index) {
    const auto found = forwarded_.find(number);
    if (found == forwarded_.end()) return;
    found->second.index = index;
    if (index != 0) return;
    answer(std::move(found->second.waiting.asker), unavailable("the leader of the log did not take the change"), true);
    forwarded_.erase(found);
}

void LogSubmissions::applied_to(LogIndex index) {
    while (!placed_.empty() && placed_.begin()->first <= index) {
        answer(std::move(placed_.begin()->second.asker), placed_.begin()->first);
        placed_.erase(placed_.begin());
    }
    for (auto at = forwarded_.begin(); at != forwarded_.end();) {
        Forwarded& one = at->second;
        if (one.index == 0 || one.index > index) {
            ++at;
            continue;
        }
        answer(std::move(one.waiting.asker), one.index);
        at = forwarded_.erase(at);
    }
}

void LogSubmissions::give_up(Instant now) {
    while (!queued_.empty() && queued_.front().give_up_at <= now) {
        forget_bytes(queued_.front());
        answer(std::move(queued_.front().asker), unavailable("the log could not take the change in time"), true);
        queued_.pop_front();
    }
    while (!placed_.empty() && placed_.begin()->second.give_up_at <= now) {
        answer(std::move(placed_.begin()->second.asker),
               unavailable("no majority has stored the change in time; it may still take effect"));
        placed_.erase(placed_.begin());
    }
    while (!forwarded_.empty() && forwarded_.begin()->second.waiting.give_up_at <= now) {
        answer(std::move(forwarded_.begin()->second.waiting.asker),
               unavailable("the leader of the log did not answer in time; the change may still take effect"));
        forwarded_.erase(forwarded_.begin());
    }
}

void LogSubmissions::lost_leadership() {
    for (auto& [index, waiting] : std::exchange(placed_, {}))
        answer(std::move(waiting.asker),
               unavailable("the leader of the log has changed; the change may still take effect"));
    for (Waiting& waiting : std::exchange(queued_, {}))
        answer(std::move(waiting.asker), unavailable("the leader of the log has changed; try again"), true);
    bytes_ = 0;
}

Error disks_of_others_fail() {
    return {Code::storage_failed, "the disks of a majority of the members refuse to write"};
}

void LogSubmissions::disk_failed(const Error& why) {
    for (auto& [index, waiting] : std::exchange(placed_, {}))
        answer(std::move(waiting.asker), not_yet_stored(why));
}

void LogSubmissions::disks_fail_elsewhere() {
    for (auto& [number, forwarded] : std::exchange(forwarded_, {}))
        answer(std::move(forwarded.waiting.asker), not_yet_stored(disks_of_others_fail()));
}

Instant LogSubmissions::due() const {
    Instant due = Instant::max();
    if (!queued_.empty()) due = std::min(due, queued_.front().give_up_at);
    if (!placed_.empty()) due = std::min(due, placed_.begin()->second.give_up_at);
    if (!forwarded_.empty()) due = std::min(due, forwarded_.begin()->second.waiting.give_up_at);
    return due;
}

std::optional<LogSubmissions::Answer> LogSubmissions::take_answer() {
    if (answers_.empty()) return std::nullopt;
    Answer first = std::move(answers_.front());
    answers_.pop_front();
    return first;
}

void LogSubmissions::answer(Asker asker, Result<LogIndex> outcome, bool certainly_not) {
    answers_.push_back({std::move(asker), std::move(outcome), certainly_not});
}

}  // namespace holdfast::consensus
