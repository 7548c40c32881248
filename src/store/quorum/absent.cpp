#include "store/quorum/absent.h"

#include <algorithm>
#include <iterator>

namespace holdfast::core {

AbsentWaiters::AbsentWaiters(Record& record, const Mail& mail, Instant now) {
    if (record.waiters.empty()) return;  // as most are
    const auto first = std::stable_partition(record.waiters.begin(), record.waiters.end(), [&](const Waiter& waiter) {
        return !mail.is_gone(origin_of(waiter.id), now);
    });
    record.absent.assign(std::make_move_iterator(first), std::make_move_iterator(record.waiters.end()));
    record.waiters.erase(first, record.waiters.end());
}

void AbsentWaiters::put_back(Record& record) {
    for (Waiter& waiter : record.absent) {
        const auto place = std::find_if(record.waiters.begin(), record.waiters.end(),
                                        [&](const Waiter& other) { return older(waiter.rank(), other.rank()); });
        record.waiters.insert(place, std::move(waiter));
    }
    record.absent.clear();
}

Shown without_absent(Shown sight, const Mail& mail, Instant now) {
    for (Seen::Entry& entry : sight.entries)
        std::erase_if(entry.record.record.waiters,
                      [&](const Waiter& waiter) { return mail.is_gone(origin_of(waiter.id), now); });
    return sight;
}

}  // namespace holdfast::core
