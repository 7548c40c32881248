#include "store/cas/waiter_poller.h"

#include <algorithm>
#include <iterator>

#include "lease/conflicts.h"
#include "lease/resource.h"

namespace holdfast::store::cas {
namespace {

bool is_in(const std::vector<std::uint64_t>& ids, std::uint64_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// Calls `visit` with the names of all trees that the file or tree may lie in, from the inside out.
template <class Visit>
void for_each_tree_around(const lease::FilePath& file, Visit visit) {
    for (std::size_t end = file.path.rfind('/'); end != std::string_view::npos;
         end = end == 0 ? std::string_view::npos : file.path.rfind('/', end - 1))
        visit(std::string(file.scope) + std::string(file.path.substr(0, end)) + "/**");
}

}  // namespace

/// Reads one record. An agent is notified in any case: an older one may have come before it, and then it may have to
/// die (G5).
class WaiterPoller::Recheck final : public Update {
 public:
    Recheck(WaiterPoller& turns, std::string resource, Instant now)
        : turns_(turns), resource_(std::move(resource)), now_(now) {}

    Effect apply(lease::Record& record, const lease::Neighbours& neighbours, Instant now) override {
        now_ = now;
        found_ = {};
        const auto ours = turns_.watched_.find(resource_);
        if (ours == turns_.watched_.end()) return Effect::none;
        found_.looked_for = ours->second.waiters;
        settle(record, now);
        found_.next_change = next_change(record);
        const auto due = lease::due_waiters(record, neighbours, now);
        for (const lease::Waiter& waiter : record.waiters) {
            if (!is_in(ours->second.waiters, waiter.id)) continue;
            found_.waiting.push_back(waiter.id);
            if (waiter.agent || is_in(due, waiter.id)) found_.turn.push_back(waiter.id);
        }
        return Effect::none;
    }

    void done(Result<void> outcome) override {
        const auto ours = turns_.watched_.find(resource_);
        const std::unique_ptr<Recheck> self = std::move(ours->second.recheck);
        if (outcome)
            turns_.on_found(resource_, found_, now_);
        else
            turns_.schedule(ours, now_, Instant::max());
    }

 private:
    WaiterPoller& turns_;
    std::string resource_;
    Found found_;
    Instant now_;  ///< of the last read
};

WaiterPoller::WaiterPoller(Parts parts)
    : parts_(std::move(parts)), random_(parts_.seed), watched_(make_text_map<Watched>(parts_.hash_key)) {}

WaiterPoller::~WaiterPoller() = default;

void WaiterPoller::watch(std::string_view resource, const std::vector<std::uint64_t>& waiters, Instant now) {
    const auto found = watched_.find(resource);
    if (found == watched_.end()) {
        const auto added = watched_.try_emplace(std::string(resource)).first;
        added->second.waiters = waiters;
        if (lease::file_path(resource)) files_.insert(added->first);
        schedule(added, now, Instant::max());
        return;
    }
    for (const std::uint64_t id : waiters)
        if (!is_in(found->second.waiters, id)) found->second.waiters.push_back(id);
}

void WaiterPoller::read_now(std::string_view resource, Instant now) {
    const auto look = [&](std::string_view name) {
        const auto found = watched_.find(name);
        if (found != watched_.end()) read_now(found, now);
    };
    look(resource);
    const auto file = files_.empty() ? std::nullopt : lease::file_path(resource);
    if (!file) return;
    for_each_tree_around(*file, look);
    if (!file->tree) return;
    const std::string below = std::string(file->scope) + std::string(file->path) + "/";
    for (auto it = files_.lower_bound(below); it != files_.end() && it->starts_with(below); ++it)
        look(*it);
}

void WaiterPoller::read_now(WatchedPlace place, Instant now) {
    if (place->second.recheck)
        place->second.again = true;
    else
        schedule(place, now, now);
}

void WaiterPoller::schedule(WatchedPlace place, Instant now, Instant at_latest) {
    constexpr Duration about = 1s;
    const auto jitter = static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>((about / 2).count())));
    auto& [resource, watched] = *place;
    if (watched.due != Instant::max()) due_.erase({watched.due, resource});
    watched.due = std::min({watched.due, now + about * 3 / 4 + Duration{jitter}, at_latest});
    due_.emplace(watched.due, resource);
}

bool WaiterPoller::advance(Instant now, std::size_t steps) {
    while (!due_.empty() && due_.begin()->first <= now) {
        if (steps-- == 0) return true;
        const std::string resource = due_.begin()->second;
        due_.erase(due_.begin());
        Watched& watched = watched_.find(resource)->second;
        watched.due = Instant::max();
        watched.recheck = std::make_unique<Recheck>(*this, resource, now);
        parts_.update(resource, *watched.recheck);
    }
    return false;
}

/// Our waiters that are not in the queue were served or gave up: they are either no longer asked for, or are notified
/// here.
void WaiterPoller::on_found(const std::string& resource, const Found& found, Instant now) {
    const auto ours = watched_.find(resource);
    if (ours == watched_.end()) return;
    std::vector<std::uint64_t> told = found.turn;
    const auto gone = [&](std::uint64_t id) { return is_in(found.looked_for, id) && !is_in(found.waiting, id); };
    std::copy_if(found.looked_for.begin(), found.looked_for.end(), std::back_inserter(told), gone);
    if (!told.empty()) parts_.listener.on_due(resource, told);
    std::erase_if(ours->second.waiters, gone);  // later waiters stay
    if (ours->second.waiters.empty()) {
        files_.erase(resource);
        watched_.erase(ours);
        return;
    }
    const bool again = std::exchange(ours->second.again, false);
    schedule(ours, now, again ? now : parts_.at_changes ? found.next_change : Instant::max());
}

}  // namespace holdfast::store::cas
