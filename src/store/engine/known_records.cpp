#include "store/engine/known_records.h"

namespace holdfast::core {

const KeptRecord* KnownRecords::find(std::string_view resource) {
    const auto found = records_.find(resource);
    if (found == records_.end()) return nullptr;
    used_.splice(used_.begin(), used_, found->second.used);
    return &found->second.record;
}

void KnownRecords::put(std::string_view resource, KeptRecord record, Place place) {
    const auto [found, is_new] = records_.try_emplace(std::string(resource));
    Known& known = found->second;
    if (is_new)
        known.used = used_.insert(used_.begin(), &found->first);
    else
        leave(found->first, known);
    used_.splice(used_.begin(), used_, known.used);
    known.record = std::move(record);
    known.place = place;
    if (place.ours) leases_ += known.record.travelling.record.leases.size();
    if (place.due != Instant::max()) due_.emplace(place.due, found->first);
    if (records_.size() > most_) drop(*used_.back());
}

void KnownRecords::drop(std::string_view resource) {
    const auto found = records_.find(resource);
    if (found == records_.end()) return;
    leave(found->first, found->second);
    used_.erase(found->second.used);
    records_.erase(found);
}

void KnownRecords::drop_unless(std::string_view resource, WriteId write) {
    const auto found = records_.find(resource);
    if (found == records_.end() || found->second.record.write == write || found->second.place.replaced == write) return;
    drop(resource);
}

const std::string* KnownRecords::take_due(Instant now) {
    if (due_.empty() || due_.begin()->first > now) return nullptr;
    const auto found = records_.find(due_.begin()->second);
    due_.erase(due_.begin());
    found->second.place.due = Instant::max();
    return &found->first;
}

void KnownRecords::leave(const std::string& resource, Known& known) {
    if (known.place.due != Instant::max()) due_.erase({known.place.due, resource});
    if (known.place.ours) leases_ -= known.record.travelling.record.leases.size();
    known.place = {};
}

}  // namespace holdfast::core
