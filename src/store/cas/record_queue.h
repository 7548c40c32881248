#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/hash.h"
#include "base/random.h"
#include "lease/resource.h"
#include "store/store.h"

namespace holdfast::store::cas {

/// The work on one record, as far as it does not depend on the protocol. It exists from the first update until nothing
/// is left to do.
struct QueuedWork {
    std::string resource;
    std::uint64_t serial = 0;
    bool may_overlap = false;
    std::vector<Pending> waiting;  ///< for the round after this one
    std::vector<Pending> batch;    ///< applied together, in this order

    std::uint64_t awaited = 0;  ///< the number of the request whose answers count; zero: none
    Instant timer = Instant::max();
    Backoff backoff{{.first = 1ms, .max = 50ms}};
};

/// The updates under way in a store that others write to at the same time: one round at a time for each record, with
/// the updates that arrived during the one before. Knows no protocol: its owner drives the rounds. Outcomes are queued
/// until notify() is called, so that no callback runs in the middle of a step.
///
/// `Work` is a QueuedWork with the state of the protocol.
template <class Work>
class RecordQueue {
 public:
    static constexpr std::size_t max_updates = 200'000;  ///< unanswered

    RecordQueue(HashKey hash_key, std::uint64_t seed)
        : random_(seed), works_(make_text_map<std::unique_ptr<Work>>(hash_key)) {}

    // ---- works ----

    Work* find(std::string_view resource) const {
        const auto found = works_.find(resource);
        return found == works_.end() ? nullptr : found->second.get();
    }
    Work& open(std::string_view resource);
    /// REQUIRES: it has no updates.
    void close(Work& work) {
        leave(work);
        works_.erase(works_.find(work.resource));
    }
    std::size_t size() const { return works_.size(); }
    /// From the oldest on: never by address, so that a run can be replayed.
    std::vector<Work*> all() const;

    // ---- updates ----

    bool is_full() const { return updates_ >= max_updates; }
    void add(Work& work, Pending pending) {
        work.waiting.push_back(pending);
        ++updates_;
    }
    void take_waiting(Work& work);
    /// Answers the batch.
    void finish(Work& work, const Result<void>& outcome) {
        finish_if(work, outcome, [](const Pending&) { return true; });
    }
    /// Answers the updates of the batch that meet the condition. Returns their number.
    template <class Condition>
    std::size_t finish_if(Work& work, const Result<void>& outcome, Condition condition);
    /// Answers an update that was not added.
    void refuse(Update& update, Error why) { finished_.push_back({&update, std::move(why)}); }
    /// Calls done() of the finished updates. The callbacks may add others.
    void notify();

    // ---- requests and timers ----

    /// From now on the answers to this request count, and no others. REQUIRES: the number is used once, and not zero.
    void await(Work& work, std::uint64_t number, Instant until) {
        leave(work);
        work.awaited = number;
        by_number_.emplace(number, &work);
        set_timer(work, until);
    }
    Work* awaiting(std::uint64_t number) const {
        const auto found = by_number_.find(number);
        return found == by_number_.end() ? nullptr : found->second;
    }
    /// Answers still on their way no longer reach the work, and no timer ends.
    void leave(Work& work);

    void set_timer(Work& work, Instant at);
    /// Leaves the work for a random time, which is longer after each failure in a row, and at most until `latest`.
    void pause(Work& work, Instant now, Instant latest = Instant::max());
    /// The work whose timer has ended first; null if none has.
    Work* due(Instant now) const { return next_due() <= now ? timers_.begin()->second : nullptr; }
    Instant next_due() const { return timers_.empty() ? Instant::max() : timers_.begin()->first; }

 private:
    struct Finished {
        Update* update;
        Result<void> outcome;
    };
    /// Orders by time, then by age.
    struct Earlier {
        bool operator()(const std::pair<Instant, Work*>& a, const std::pair<Instant, Work*>& b) const {
            return a.first != b.first ? a.first < b.first : a.second->serial < b.second->serial;
        }
    };

    Random random_;
    std::uint64_t last_serial_ = 0;
    TextMap<std::unique_ptr<Work>> works_;
    std::unordered_map<std::uint64_t, Work*> by_number_;
    std::set<std::pair<Instant, Work*>, Earlier> timers_;
    std::deque<Finished> finished_;
    std::size_t updates_ = 0;
};

// ---- implementation ----

template <class Work>
Work& RecordQueue<Work>::open(std::string_view resource) {
    if (Work* const found = find(resource)) return *found;
    auto work = std::make_unique<Work>();
    work->resource = resource;
    work->serial = ++last_serial_;
    work->may_overlap = lease::file_path(resource).has_value();
    return *works_.emplace(std::string(resource), std::move(work)).first->second;
}

template <class Work>
std::vector<Work*> RecordQueue<Work>::all() const {
    std::vector<Work*> works;
    for (const auto& [resource, work] : works_)
        works.push_back(work.get());
    std::sort(works.begin(), works.end(), [](const Work* a, const Work* b) { return a->serial < b->serial; });
    return works;
}

template <class Work>
void RecordQueue<Work>::take_waiting(Work& work) {
    if (work.batch.empty()) return work.batch.swap(work.waiting);  // the common case; keeps the memory of both
    work.batch.insert(work.batch.end(), work.waiting.begin(), work.waiting.end());
    work.waiting.clear();
}

template <class Work>
template <class Condition>
std::size_t RecordQueue<Work>::finish_if(Work& work, const Result<void>& outcome, Condition condition) {
    const std::size_t count = std::erase_if(work.batch, [&](const Pending& pending) {
        if (!condition(pending)) return false;
        finished_.push_back({pending.update, outcome});
        return true;
    });
    updates_ -= count;
    return count;
}

template <class Work>
void RecordQueue<Work>::notify() {
    while (!finished_.empty()) {
        Finished finished = std::move(finished_.front());
        finished_.pop_front();
        finished.update->done(std::move(finished.outcome));
    }
}

template <class Work>
void RecordQueue<Work>::leave(Work& work) {
    if (work.awaited != 0) by_number_.erase(work.awaited);
    work.awaited = 0;
    set_timer(work, Instant::max());
}

template <class Work>
void RecordQueue<Work>::set_timer(Work& work, Instant at) {
    if (work.timer == at) return;
    if (work.timer != Instant::max()) timers_.erase({work.timer, &work});
    work.timer = at;
    if (at != Instant::max()) timers_.insert({at, &work});
}

template <class Work>
void RecordQueue<Work>::pause(Work& work, Instant now, Instant latest) {
    constexpr Duration shortest = 500us;
    leave(work);
    const auto spread = static_cast<std::uint64_t>((work.backoff.next() - shortest).count());
    set_timer(work, std::min(latest, now + shortest + Duration{static_cast<Duration::rep>(random_.below(spread))}));
}

}  // namespace holdfast::store::cas
