#include "client/sessions/owned_table.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace holdfast::client::sessions {

namespace {

constexpr std::size_t slots_min = 64;

std::size_t place_of(std::string_view session) {
    return std::hash<std::string_view>{}(session);
}

}  // namespace

void OwnedUntil::hold_until(HolderInstant to, HolderInstant now) noexcept {
    if (until_.move(to, now)) return;
    turn_.fetch_add(1, std::memory_order_acq_rel);  // first: a poll of the last turn must not see the new end
    until_.begin_another(to);
}

/// Open addressing, at most half full, so that a search always meets an empty slot.
struct OwnedTable::Slots {
    explicit Slots(std::size_t size) : places(size) {}

    void insert(OwnedUntil* session) {
        std::size_t at = place_of(session->session());
        while (places[at & (places.size() - 1)].load(std::memory_order_relaxed) != nullptr)
            ++at;
        places[at & (places.size() - 1)].store(session, std::memory_order_release);
        ++used;
    }

    std::vector<std::atomic<OwnedUntil*>> places;
    std::size_t used = 0;
};

OwnedTable::OwnedTable() : slots_(new Slots(slots_min)) {}

OwnedTable::~OwnedTable() {
    delete slots_.load();
}

OwnedUntil* OwnedTable::find(std::string_view session) const noexcept {
    const Slots& slots = *slots_.load(std::memory_order_seq_cst);
    const std::size_t mask = slots.places.size() - 1;
    for (std::size_t at = place_of(session);; ++at) {
        OwnedUntil* const found = slots.places[at & mask].load(std::memory_order_acquire);
        if (found == nullptr || found->session() == session) return found;
    }
}

std::shared_ptr<OwnedUntil> OwnedTable::add(const std::string& session) {
    if (const auto found = sessions_.find(session); found != sessions_.end()) return found->second;
    auto made = std::make_shared<OwnedUntil>(session);
    sessions_.emplace(session, made);
    Slots& slots = *slots_.load();
    // A removed entry of the same name may still be in the slots, and would be found first.
    if (removed_ > 0 || (slots.used + 1) * 2 > slots.places.size())
        rebuild();
    else
        slots.insert(made.get());
    free_retired();
    return made;
}

std::shared_ptr<OwnedUntil> OwnedTable::get(const std::string& session) const {
    const auto found = sessions_.find(session);
    return found == sessions_.end() ? nullptr : found->second;
}

void OwnedTable::remove(const std::string& session) {
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) return;
    found->second->finish();
    unused_.push_back(std::move(found->second));
    sessions_.erase(found);
    if (++removed_ * 4 > slots_.load()->places.size()) rebuild();
    free_retired();
}

void OwnedTable::rebuild() {
    auto fresh = std::make_unique<Slots>(std::max(slots_min, std::bit_ceil(sessions_.size() * 4)));
    for (const auto& [session, one] : sessions_)
        fresh->insert(one.get());
    retired_.emplace_back(slots_.exchange(fresh.release(), std::memory_order_seq_cst));
    removed_ = 0;
}

/// A reader that enters after the exchange sees the new slots; so if there are no readers now, none can see the old
/// ones.
void OwnedTable::free_retired() {
    if (removed_ > 0 || (retired_.empty() && unused_.empty())) return;
    if (readers_.load(std::memory_order_seq_cst) != 0) return;
    retired_.clear();
    unused_.clear();
}

}  // namespace holdfast::client::sessions
