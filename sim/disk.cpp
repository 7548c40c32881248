#include "sim/disk.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace holdfast::sim {

void Disk::write(Change change, Done done) {
    if (writes_.size() >= most) {
        events_.after(1ms, [done = std::move(done)] { done(Error{Code::too_many, "the disk has too much to do"}); });
        return;
    }
    writes_.push_back({std::move(change), std::move(done)});
    if (!busy_) begin();
}

void Disk::begin() {
    busy_ = true;
    const TrueInstant ready = events_.now() + dice_.between(200us, 20ms);
    events_.at(std::max(ready, stalled_until_), [this, life = life_] {
        if (life == life_) finish();
    });
}

void Disk::finish() {
    if (events_.now() < stalled_until_) return begin();
    Write write = std::move(writes_.front());
    writes_.pop_front();
    busy_ = false;
    const bool fails = events_.now() < failing_until_;
    if (!fails) write.change(durable_);
    if (!writes_.empty()) begin();
    write.done(fails ? Result<void>(Error{Code::storage_failed, "the disk refuses"}) : Result<void>());
}

void Disk::stall_for(Duration duration) {
    stalled_until_ = std::max(stalled_until_, events_.now() + duration);
}

void Disk::fail_for(Duration duration) {
    failing_until_ = std::max(failing_until_, events_.now() + duration);
}

void Disk::mend() {
    stalled_until_ = failing_until_ = events_.now();
    if (!busy_) return;
    ++life_;  // the write in progress was scheduled for the end of the stall
    begin();
}

void Disk::crash() {
    ++life_;
    busy_ = false;
    const bool takes_writes = events_.now() >= failing_until_;
    for (Write& write : writes_) {
        if (!takes_writes || dice_.chance(0.5)) break;
        write.change(durable_);
    }
    writes_.clear();
}

void Disk::put_back(OnDisk copy) {
    HOLDFAST_ASSERT(writes_.empty() && !kept_);
    kept_ = std::exchange(durable_, std::move(copy));
}

void Disk::give_back() {
    HOLDFAST_ASSERT(writes_.empty() && kept_);
    durable_ = std::move(*kept_);
    kept_.reset();
}

void write_down(consensus::LogFound& log, const consensus::LogWrite& write) {
    if (write.promised) log.promised = *write.promised;
    for (const consensus::LogDecree& decree : write.decrees) {
        const auto at = std::lower_bound(
            log.decrees.begin(), log.decrees.end(), decree.index,
            [](const consensus::LogDecree& one, consensus::LogIndex index) { return one.index < index; });
        if (at != log.decrees.end() && at->index == decree.index)
            *at = decree;
        else
            log.decrees.insert(at, decree);
    }
    if (write.committed) log.committed = *write.committed;
    if (!write.snapshot) return;
    log.snapshot = write.snapshot;
    log.committed = std::max(log.committed, write.snapshot->index);
    std::erase_if(log.decrees, [&](const consensus::LogDecree& one) { return one.index <= write.snapshot->index; });
}

}  // namespace holdfast::sim
