#include "keys/drone/controller_talk.h"

#include <algorithm>
#include <utility>

#include "base/code.h"

namespace holdfast::keys::drone {
namespace {

/// After a failed call.
constexpr Duration retry_pause = 1s;
constexpr Duration heartbeat_min = 100ms;
constexpr Duration max_heartbeat = 30s;

}  // namespace

bool ControllerTalk::heartbeat_due(HolderInstant now, bool news) const {
    if (heartbeat_under_way_ || now < not_before_) return false;
    return now >= heartbeat_at_ || (news && reached_);
}

void ControllerTalk::meet(const std::string& life) {
    if (life == life_) return;
    life_ = life;
    done_.clear();  // another incarnation has its own order numbers
    heard_.clear();
}

bool ControllerTalk::heartbeat_answered(const HeartbeatAsk& ask, const HeartbeatAnswer& answer, HolderInstant now) {
    const bool was_reached = std::exchange(reached_, true);
    heartbeat_under_way_ = false;
    failure_.reset();
    meet(answer.controller);
    for (std::size_t i = 0; i < ask.versions.size(); ++i) {
        std::uint64_t& heard = heard_[ask.message.backends[i].id];
        heard = std::max(heard, ask.versions[i]);
    }
    drain_ = answer.drain;
    send_all_ = answer.send_all;
    heartbeat_at_ = now + std::clamp<Duration>(answer.heartbeat_in, heartbeat_min, max_heartbeat);
    if (send_all_) heartbeat_at_ = now;
    if (send_all_ && ask.message.all) not_before_ = now + retry_pause;  // it just had a full report: back off
    return !was_reached;
}

bool ControllerTalk::heartbeat_failed(const Error& error, HolderInstant now) {
    heartbeat_under_way_ = false;
    reached_ = false;
    heartbeat_at_ = not_before_ = now + retry_pause;
    return std::exchange(failure_, error.code) != error.code;
}

bool ControllerTalk::has_heard(const std::string& backend, std::uint64_t version) const {
    const auto found = heard_.find(backend);
    return found != heard_.end() && found->second >= version;
}

void ControllerTalk::forget(const std::string& backend, bool heard) {
    heard_.erase(backend);
    if (!heard) send_all_ = true;  // a full report omits it, and so reports that it has ended
}

OrdersRequest ControllerTalk::orders_sent(HolderInstant now) {
    orders_under_way_ = true;
    return {.clock_ms = clock_ms(now), .controller = life_, .done = done_, .wait = orders_wait};
}

void ControllerTalk::orders_answered(const OrdersRequest& request, const OrdersAnswer& answer, HolderInstant now) {
    orders_under_way_ = false;
    orders_at_ = now;
    if (answer.controller != life_) return hurry(now);  // it does not know us yet; the next heartbeat registers us
    std::erase_if(done_, [&](std::uint64_t number) {
        return std::find(request.done.begin(), request.done.end(), number) != request.done.end();
    });
    for (const Order& order : answer.orders)
        if (std::find(done_.begin(), done_.end(), order.number) == done_.end()) done_.push_back(order.number);
}

void ControllerTalk::orders_failed(const Error& error, HolderInstant now) {
    orders_under_way_ = false;
    orders_at_ = now + retry_pause;
    if (error.code == Code::unknown_drone) hurry(now);
}

}  // namespace holdfast::keys::drone
