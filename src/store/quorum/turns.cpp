#include "store/quorum/turns.h"

#include <algorithm>
#include <iterator>

#include "lease/standing.h"

namespace holdfast::core {
namespace {

bool is_in(const std::vector<std::uint64_t>& ids, std::uint64_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

/// Reads one record. An agent hears of it in any case: an older one may have come before it, and then it may have to
/// die (G5).
class Turns::Recheck final : public Update {
 public:
    Recheck(Turns& turns, std::string resource, Instant now)
        : turns_(turns), resource_(std::move(resource)), now_(now) {}

    Effect apply(Record& record, const Neighbours& neighbours, Instant now) override {
        now_ = now;
        found_ = {};
        const auto ours = turns_.watched_.find(resource_);
        if (ours == turns_.watched_.end()) return Effect::none;
        found_.looked_for = ours->second.waiters;
        settle(record, now);
        const auto due = due_waiters(record, neighbours, now);
        for (const Waiter& waiter : record.waiters) {
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
            turns_.schedule(resource_, now_);
    }

 private:
    Turns& turns_;
    std::string resource_;
    Found found_;
    Instant now_;  ///< of the last look
};

Turns::Turns(StoreListener& listener, Attempts& attempts, HashKey hash_key, std::uint64_t seed)
    : listener_(listener), attempts_(attempts), random_(seed), watched_(make_text_map<Watched>(hash_key)) {}

Turns::~Turns() = default;

void Turns::watch(std::string_view resource, const std::vector<std::uint64_t>& waiters, Instant now) {
    const auto found = watched_.find(resource);
    if (found == watched_.end()) {
        const auto added = watched_.try_emplace(std::string(resource)).first;
        added->second.waiters = waiters;
        schedule(added->first, now);
        return;
    }
    for (const std::uint64_t id : waiters)
        if (!is_in(found->second.waiters, id)) found->second.waiters.push_back(id);
}

void Turns::schedule(const std::string& resource, Instant now) {
    constexpr Duration about = 1s;
    const auto jitter = static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>((about / 2).count())));
    due_.emplace(now + about * 3 / 4 + Duration{jitter}, resource);
}

bool Turns::advance(Instant now, std::size_t steps) {
    while (!due_.empty() && due_.begin()->first <= now) {
        if (steps-- == 0) return true;
        std::string resource = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        Watched& watched = watched_.find(resource)->second;
        watched.recheck = std::make_unique<Recheck>(*this, resource, now);
        attempts_.update(resource, *watched.recheck);
    }
    return false;
}

/// Those of ours that are not in the queue were served, or gave up: nobody asks for them any more, or else they learn
/// of it here.
void Turns::on_found(const std::string& resource, const Found& found, Instant now) {
    const auto ours = watched_.find(resource);
    if (ours == watched_.end()) return;
    std::vector<std::uint64_t> told = found.turn;
    const auto gone = [&](std::uint64_t id) { return is_in(found.looked_for, id) && !is_in(found.waiting, id); };
    std::copy_if(found.looked_for.begin(), found.looked_for.end(), std::back_inserter(told), gone);
    if (!told.empty()) listener_.on_due(resource, told);
    std::erase_if(ours->second.waiters, gone);  // who has come since stays
    if (ours->second.waiters.empty())
        watched_.erase(ours);
    else
        schedule(resource, now);
}

}  // namespace holdfast::core
