#include "store/etcd/seen_writes.h"

namespace holdfast::store::etcd {

using cas::EngineTime;

const SeenWrite* SeenWrites::find(std::string_view key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? nullptr : &found->second.seen;
}

EngineTime SeenWrites::tell(std::string_view key, SeenWrite seen, bool own) {
    const EngineTime since = seen.since;
    auto found = keys_.find(key);
    if (found == keys_.end()) {
        if (full()) return since;
        found = keys_.try_emplace(std::string(key)).first;
        found->second.seen.revision = -1;
    }
    found->second.review = review_;
    SeenWrite& known = found->second.seen;
    if (known.revision == seen.revision && !own) return known.since;
    if (known.revision <= seen.revision) put(found, std::move(seen));
    return since;
}

void SeenWrites::tell_absent(std::string_view key, std::int64_t revision, EngineTime now) {
    forget_deletions(now);
    const auto found = keys_.find(key);
    if (found == keys_.end() || found->second.seen.revision > revision || !found->second.seen.there) return;
    SeenWrite gone;
    gone.revision = revision;
    gone.there = false;
    gone.since = now;
    put(found, std::move(gone));
    deletions_.emplace_back(now, found->first);
}

void SeenWrites::forget_deletions(EngineTime now) {
    while (!deletions_.empty() && deletions_.front().first + limits_.deletions_for <= now) {
        const auto found = keys_.find(deletions_.front().second);
        if (found != keys_.end() && !found->second.seen.there && found->second.seen.since == deletions_.front().first)
            remove(found);
        deletions_.pop_front();
    }
}

std::vector<std::string> SeenWrites::due_before(EngineTime moment, std::size_t most) const {
    std::vector<std::string> keys;
    for (auto at = due_.begin(); at != due_.end() && at->first < moment && keys.size() < most; ++at)
        keys.push_back(*at->second);
    return keys;
}

void SeenWrites::end_review() {
    for (auto at = keys_.begin(); at != keys_.end();) {
        const auto next = std::next(at);
        if (at->second.review != review_) remove(at);
        at = next;
    }
}

void SeenWrites::clear() {
    due_.clear();
    deletions_.clear();
    keys_.clear();
}

void SeenWrites::put(Keys::iterator at, SeenWrite seen) {
    due_.erase({at->second.seen.due, &at->first});
    at->second.seen = std::move(seen);
    if (at->second.seen.due != EngineTime::max()) due_.emplace(at->second.seen.due, &at->first);
}

void SeenWrites::remove(Keys::iterator at) {
    due_.erase({at->second.seen.due, &at->first});
    keys_.erase(at);
}

}  // namespace holdfast::store::etcd
