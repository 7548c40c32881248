#include "keys/controller/orders.h"

#include <algorithm>

namespace holdfast::keys::controller {

bool Orders::full() const {
    return orders_.size() >= limits::orders_per_drone;
}

void Orders::start(std::uint64_t number, SpawnOrder start, const lease::Lease& key) {
    orders_.emplace(number, QueuedOrder{{number, std::move(start)}, key.expires_at, key_timeline_of(key)});
}

void Orders::terminate(std::uint64_t number, const std::string& backend, Severity how) {
    const auto ends_it = [&](const QueuedOrder& queued) {
        const auto* end = std::get_if<TerminateOrder>(&queued.order.what);
        return end != nullptr && end->backend == backend ? end : nullptr;
    };
    const bool known = std::any_of(orders_.begin(), orders_.end(), [&](const auto& entry) {
        const auto* end = ends_it(entry.second);
        return end != nullptr && end->how >= how;
    });
    if (known) return;
    std::erase_if(orders_, [&](const auto& entry) { return ends_it(entry.second) != nullptr; });
    orders_.emplace(number, QueuedOrder{{number, TerminateOrder{backend, how}}});
}

void Orders::done(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers)
        orders_.erase(number);
}

void Orders::forget(const std::string& backend) {
    std::erase_if(orders_, [&](const auto& entry) { return entry.second.backend() == backend; });
}

void Orders::drop_expired(Instant now) {
    std::erase_if(orders_,
                  [&](const auto& entry) { return entry.second.start() != nullptr && now >= entry.second.expires_at; });
}

const QueuedOrder* Orders::start_of(const std::string& backend) const {
    for (const auto& [number, queued] : orders_)
        if (queued.start() != nullptr && queued.backend() == backend) return &queued;
    return nullptr;
}

std::vector<QueuedOrder> Orders::take(Instant now) {
    drop_expired(now);
    std::vector<QueuedOrder> taken;
    std::size_t bytes = 0;
    for (auto& [number, queued] : orders_) {
        bytes += queued.start() != nullptr ? queued.start()->spawn.bytes() : 0;
        const bool fits = taken.size() < limits::orders_per_answer && bytes <= limits::order_bytes_per_answer;
        if (!fits && !taken.empty()) break;
        queued.sent = true;
        taken.push_back(queued);
    }
    return taken;
}

std::vector<std::string> Orders::unsent_starts() const {
    std::vector<std::string> backends;
    for (const auto& [number, queued] : orders_)
        if (queued.start() != nullptr && !queued.sent) backends.push_back(queued.backend());
    return backends;
}

}  // namespace holdfast::keys::controller
