#include "keys/controller/orders.h"

#include <algorithm>

#include "keys/controller/key_limits.h"

namespace holdfast::keys::controller {

bool Orders::full() const {
    return orders_.size() >= limits::orders_per_drone;
}

void Orders::start(std::uint64_t number, std::string backend, Order::Start start) {
    Order order;
    order.number = number;
    order.backend = std::move(backend);
    order.start = std::move(start);
    orders_.emplace(number, std::move(order));
}

void Orders::terminate(std::uint64_t number, const std::string& backend, Severity how) {
    const bool known = std::any_of(orders_.begin(), orders_.end(), [&](const auto& entry) {
        const Order& order = entry.second;
        return !order.start && order.backend == backend && order.how >= how;
    });
    if (known) return;
    std::erase_if(orders_, [&](const auto& entry) { return !entry.second.start && entry.second.backend == backend; });
    Order order;
    order.number = number;
    order.backend = backend;
    order.how = how;
    orders_.emplace(number, std::move(order));
}

void Orders::done(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers)
        orders_.erase(number);
}

void Orders::forget(const std::string& backend) {
    std::erase_if(orders_, [&](const auto& entry) { return entry.second.backend == backend; });
}

void Orders::drop_expired(Instant now) {
    std::erase_if(orders_,
                  [&](const auto& entry) { return entry.second.start && now >= entry.second.start->expires_at; });
}

const Order* Orders::start_of(const std::string& backend) const {
    for (const auto& [number, order] : orders_)
        if (order.start && order.backend == backend) return &order;
    return nullptr;
}

std::vector<Order> Orders::take(Instant now) {
    drop_expired(now);
    std::vector<Order> taken;
    std::size_t bytes = 0;
    for (auto& [number, order] : orders_) {
        bytes += order.start ? order.start->spawn.bytes() : 0;
        const bool fits = taken.size() < limits::orders_per_answer && bytes <= limits::order_bytes_per_answer;
        if (!fits && !taken.empty()) break;
        order.sent = true;
        taken.push_back(order);
    }
    return taken;
}

std::vector<std::string> Orders::unsent_starts() const {
    std::vector<std::string> backends;
    for (const auto& [number, order] : orders_)
        if (order.start && !order.sent) backends.push_back(order.backend);
    return backends;
}

}  // namespace holdfast::keys::controller
