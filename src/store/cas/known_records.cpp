#include "store/cas/known_records.h"

#include <algorithm>

namespace holdfast::store::cas {

bool AnsweredLeases::any_vanished(const StoredRecord& shown, EngineTime now) const {
    const lease::Record& record = shown.relative.record;
    constexpr Duration margin = 1s;  // fronts of an engine without a clock differ by less about when a lease ends
    const bool has_traces =
        now - known_at < lease::limits::ended_kept - margin && record.ended.size() < lease::limits::ended_per_record;
    return has_traces && std::any_of(leases.begin(), leases.end(), [&](const One& one) {
               return one.ends - now > margin + one.ttl / 10 && record.find(one.token) == nullptr &&
                      record.find_ended(one.token) == nullptr && record.find_reserved(one.token) == nullptr;
           });
}

void AnsweredLeases::keep_only(const AnsweredLeases& those) {
    std::erase_if(leases, [&](const One& one) {
        return std::none_of(those.leases.begin(), those.leases.end(),
                            [&](const One& other) { return other.token == one.token; });
    });
}

const StoredRecord* KnownRecords::find(std::string_view resource) {
    const auto found = records_.find(resource);
    if (found == records_.end()) return nullptr;
    used_.splice(used_.begin(), used_, found->second.used);
    return &found->second.record;
}

void KnownRecords::put(std::string_view resource, StoredRecord record, Place place) {
    const auto [found, is_new] = records_.try_emplace(std::string(resource));
    Known& known = found->second;
    if (is_new)
        known.used = used_.insert(used_.begin(), &found->first);
    else
        leave(found->first, known);
    used_.splice(used_.begin(), used_, known.used);
    known.record = std::move(record);
    known.place = place;
    if (!place.ours) known.answered.clear();
    if (place.ours) leases_ += known.record.relative.record.leases.size();
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

void KnownRecords::clear() {
    records_.clear();
    used_.clear();
    due_.clear();
    leases_ = 0;
}

void KnownRecords::drop_unless(std::string_view resource, WriteId write) {
    const auto found = records_.find(resource);
    if (found == records_.end() || found->second.record.write == write || found->second.place.replaced == write) return;
    drop(resource);
}

void KnownRecords::note_answered(std::string_view resource, const std::vector<lease::Token>& tokens) {
    const auto found = records_.find(resource);
    if (found == records_.end() || !found->second.place.ours || tokens.empty()) return;
    std::vector<lease::Token>& answered = found->second.answered;
    answered.insert(answered.end(), tokens.begin(), tokens.end());
    std::sort(answered.begin(), answered.end());
    answered.erase(std::unique(answered.begin(), answered.end()), answered.end());
    const lease::Record& record = found->second.record.relative.record;
    std::erase_if(answered, [&](lease::Token token) { return record.find(token) == nullptr; });
}

void KnownRecords::keep_answered(std::string_view resource, const lease::Record& becomes) {
    const auto found = records_.find(resource);
    if (found == records_.end()) return;
    std::erase_if(found->second.answered, [&](lease::Token token) { return becomes.find(token) == nullptr; });
}

AnsweredLeases KnownRecords::answered(std::string_view resource) const {
    const auto found = records_.find(resource);
    if (found == records_.end()) return {};
    const StoredRecord& record = found->second.record;
    AnsweredLeases answered{{}, record.written_at};
    for (const lease::Token token : found->second.answered)
        if (const lease::Lease* lease = record.relative.record.find(token))
            answered.leases.push_back({token, lease->ttl, record.written_at + lease->expires_at.time_since_epoch()});
    return answered;
}

std::vector<std::string> KnownRecords::last_answered(std::size_t most) const {
    std::vector<const Records::value_type*> found;
    for (const auto& one : records_)
        if (!one.second.answered.empty()) found.push_back(&one);
    const std::size_t count = std::min(most, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), found.end(),
                      [](const auto* a, const auto* b) {
                          const auto rank = [](const auto* one) {
                              return std::pair(one->second.record.written_at, std::string_view(one->first));
                          };
                          return rank(a) > rank(b);
                      });
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i)
        names.push_back(found[i]->first);
    return names;
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
    if (known.place.ours) leases_ -= known.record.relative.record.leases.size();
    known.place = {};
}

}  // namespace holdfast::store::cas
