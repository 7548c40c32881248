#include "keys/controller/backends.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::keys::controller {
namespace {

bool fits(const Backends::Filter& filter, const Backend& backend) {
    return (filter.name.empty() || backend.key.name == filter.name) &&
           (filter.name_space.empty() || backend.key.name_space == filter.name_space) &&
           (filter.drone.empty() || backend.drone == filter.drone) &&
           (!filter.state || backend.shown_state() == *filter.state);
}

}  // namespace

const Backend* Backends::find(const std::string& id) const {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : &found->second;
}

bool Backends::full() const {
    return all_.size() >= limits::backends;
}

const Backend& Backends::add(Backend backend) {
    const auto [place, added] = all_.emplace(backend.id, std::move(backend));
    HOLDFAST_ASSERT(added);
    ++count_of(place->second);
    file(place->second);
    mark_superseded(place->second);
    return place->second;
}

void Backends::file(const Backend& backend) {
    const std::string resource = resource_of(backend.key);
    if (!backend.ended()) {
        live_[backend.drone].insert(backend.id);
        live_of_key_[resource].emplace(backend.token, backend.id);
        return;
    }
    if (const auto of_key = live_of_key_.find(resource); of_key != live_of_key_.end()) {
        const auto own = of_key->second.find(backend.token);
        if (own != of_key->second.end() && own->second == backend.id) of_key->second.erase(own);
        if (of_key->second.empty()) live_of_key_.erase(of_key);
    }
    const auto of_drone = live_.find(backend.drone);
    if (of_drone != live_.end() && of_drone->second.erase(backend.id) > 0 && of_drone->second.empty())
        live_.erase(of_drone);
    ended_.emplace(backend.since, backend.id);
}

bool Backends::move(const std::string& id, const BackendProgress& to, Instant now) {
    const auto found = all_.find(id);
    if (found == all_.end()) return false;
    Backend& backend = found->second;
    BackendProgress& is = backend.progress;
    if (to.state < is.state) return false;
    const bool forward = to.state > is.state;
    const bool more =
        (is.address.empty() && !to.address.empty()) || (!is.reason && to.reason) || (!is.exit_code && to.exit_code);
    if (!forward && !more) return false;
    --count_of(backend);
    is.state = to.state;
    if (!is.reason) is.reason = to.reason;  // the first cause is the cause
    if (!is.exit_code) is.exit_code = to.exit_code;
    if (is.address.empty()) is.address = to.address;
    if (is.message.empty()) is.message = to.message;
    if (forward) backend.since = backend.ended() ? now : now - to.state_for;
    ++count_of(backend);
    if (forward) file(backend);
    tell(id);
    return true;
}

void Backends::mark_reported(const std::string& id, const std::string& life) {
    const auto found = all_.find(id);
    if (found == all_.end()) return;
    found->second.reported = true;
    found->second.life = life;
}

std::vector<std::string> Backends::live_of(const std::string& drone) const {
    const auto found = live_.find(drone);
    if (found == live_.end()) return {};
    return {found->second.begin(), found->second.end()};
}

std::size_t Backends::live_count(const std::string& drone) const {
    const auto found = live_.find(drone);
    return found == live_.end() ? 0 : found->second.size();
}

/// Of the backends of one key that are not known to have ended, only the one with the highest token can be alive.
void Backends::mark_superseded(const Backend& added) {
    const auto found = live_of_key_.find(resource_of(added.key));
    if (found == live_of_key_.end()) return;
    const lease::Token latest = std::max(added.token, found->second.rbegin()->first);
    for (const auto& [token, id] : found->second)
        if (token < latest) all_.at(id).superseded = true;
}

std::vector<std::string> Backends::superseded_by(const Backend& backend) const {
    std::vector<std::string> earlier;
    const auto found = live_of_key_.find(resource_of(backend.key));
    if (found == live_of_key_.end()) return earlier;
    for (const auto& [token, id] : found->second)
        if (token < backend.token) earlier.push_back(id);
    return earlier;
}

Backends::Page Backends::list(const Filter& filter, const std::string& after, std::size_t limit) const {
    Page page;
    std::size_t looked_at = 0;
    for (auto place = all_.upper_bound(after); place != all_.end(); ++place) {
        if (page.backends.size() == limit || looked_at == limits::backends_per_page_looked_at) {
            page.next = std::prev(place)->first;
            break;
        }
        ++looked_at;
        if (fits(filter, place->second)) page.backends.push_back(&place->second);
    }
    return page;
}

void Backends::tidy(Instant now) {
    while (!ended_.empty() &&
           (now >= ended_.begin()->first + limits::backend_kept || ended_.size() > limits::ended_backends)) {
        const std::string id = ended_.begin()->second;
        ended_.erase(ended_.begin());
        --count_of(all_.at(id));
        all_.erase(id);
        watchers_.erase(id);
    }
}

Instant Backends::next_tidy() const {
    return ended_.empty() ? Instant::max() : ended_.begin()->first + limits::backend_kept;
}

std::uint64_t Backends::watch(const std::string& id, Watcher watcher) {
    watchers_[id].emplace(++last_watch_, std::move(watcher));
    return last_watch_;
}

void Backends::unwatch(const std::string& id, std::uint64_t watch) {
    const auto found = watchers_.find(id);
    if (found == watchers_.end()) return;
    found->second.erase(watch);
    if (found->second.empty()) watchers_.erase(found);
}

/// Iterates over numbers and copies each watcher, since a watcher may remove itself and others.
void Backends::tell(const std::string& id) {
    const auto watched = watchers_.find(id);
    if (watched == watchers_.end()) return;
    std::vector<std::uint64_t> numbers;
    for (const auto& entry : watched->second)
        numbers.push_back(entry.first);
    const Backend backend = all_.at(id);
    for (const std::uint64_t number : numbers) {
        const auto still = watchers_.find(id);
        if (still == watchers_.end()) return;
        const auto one = still->second.find(number);
        if (one == still->second.end()) continue;
        const Watcher watcher = one->second;
        watcher(backend);
    }
}

}  // namespace holdfast::keys::controller
