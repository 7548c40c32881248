#include <algorithm>
#include <set>

#include "base/code.h"
#include "client/deadlines.h"
#include "keys/drone/drone_core.h"

namespace holdfast::drone {
namespace {

using core::Code;

/// Counted from when the renewal was sent (T3). A key is renewed at half its TTL (T4).
KeyDeadlines deadlines_from(const Timing& timing, HolderInstant sent_at) {
    const Deadlines found = deadlines_of({sent_at, timing.timeline, timing.ttl});
    return {std::min(sent_at + timing.ttl / 2, found.soft), found.soft, found.hard};
}

/// The lease still runs, but not for ever: it ends on its timeline (R7).
bool runs_out(std::string_view code) {
    static const std::set<Code> codes{Code::renewal_barred, Code::banned, Code::name_refused, Code::over_quota,
                                      Code::lease_idle};
    const auto known = core::code_in(code);
    return known && codes.contains(*known);
}

bool is_lost(std::string_view code) {
    static const std::set<Code> codes{Code::lease_expired, Code::lease_released, Code::lease_revoked, Code::not_holder,
                                      Code::stale_epoch};
    const auto known = core::code_in(code);
    return known && codes.contains(*known);
}

}  // namespace

void DroneCore::on_heartbeat(const HeartbeatAsk& ask, const Result<HeartbeatAnswer>& answer, HolderInstant now) {
    ControllerTalk& talk = talks_[ask.controller];
    if (answer) {
        // One that began anew may have lost its memory: the sooner it is asked, the sooner it takes the keys back (S1).
        if (!talk.life().empty() && talk.life() != answer->controller)
            for (auto& [id, backend] : backends_)
                backend.renew_at_once(now);
        if (talk.heartbeat_answered(ask, *answer, now)) note("registered with controller " + answer->controller);
        settle_reassertions(ask, *answer, now);
        return;
    }
    if (talk.heartbeat_failed(answer.error(), now)) warn("not registered: " + answer.error().message);
    if (core::code_in(answer.error().code) != core::Code::stale_drone || usurped_) return;
    usurped_ = true;
    warn("another drone has registered with this one's id; everything here is stopped: " + answer.error().message);
    stop(How::hard, now);
}

void DroneCore::settle_reassertions(const HeartbeatAsk& ask, const HeartbeatAnswer& answer, HolderInstant now) {
    // Another life than the one that was named took nothing back; it is asked by its own name next.
    if (!ask.reassert || *ask.reassert != answer.controller) return;
    const std::set<std::string> taken{answer.reasserted.begin(), answer.reasserted.end()};
    for (const BackendReport& report : ask.backends) {
        const auto found = reassertions_.find(report.id);
        if (found == reassertions_.end() || found->second.controller != ask.controller) continue;
        const bool unknown = found->second.unknown;
        reassertions_.erase(found);
        const auto backend = backends_.find(report.id);
        if (backend == backends_.end()) continue;
        if (taken.contains(report.id)) {
            backend->second.renew_at_once(now);
        } else if (unknown) {
            warn("the key of backend " + report.id + " is lost: no server knows it any more");
            backend->second.lost(now);
        }
    }
}

void DroneCore::on_orders(const OrdersAsk& ask, const Result<OrdersAnswer>& answer, HolderInstant now) {
    ControllerTalk& talk = talks_[ask.controller];
    if (!answer) return talk.orders_failed(ask, answer.error(), now);
    const bool known = answer->controller == talk.life();
    talk.orders_answered(ask, *answer, now);
    if (!known) return;  // they come again once it knows who we are
    for (const Order& order : answer->orders)
        carry_out(order, now);
}

void DroneCore::carry_out(const Order& order, HolderInstant now) {
    if (const auto* unclear = std::get_if<UnclearOrder>(&order.what))
        return warn("an order is unclear: " + unclear->why);
    if (const auto* spawning = std::get_if<SpawnOrder>(&order.what)) return spawn(*spawning, now);
    const auto& ending = std::get<TerminateOrder>(order.what);
    const auto found = backends_.find(ending.backend);
    if (found != backends_.end()) found->second.terminate(ending.how, now);
}

/// At least once delivered, once carried out.
void DroneCore::spawn(const SpawnOrder& order, HolderInstant now) {
    if (backends_.contains(order.backend) || ended_.contains(order.backend)) return;
    const bool full = running() >= settings_.capacity || !ended_.has_room(now);
    Backend& backend = backends_.emplace(order.backend, Backend{order, now}).first->second;
    if (stopping_) return backend.refuse(EndReason::terminated, "the drone is stopping");
    if (full) return backend.refuse(EndReason::internal, "the drone is full");
    note("backend " + order.backend + " for key " + order.key.name + " with token " + std::to_string(order.token));
}

void DroneCore::on_renewal(const RenewAsk& ask, const RenewAnswer& answer, HolderInstant now) {
    renewal_under_way_ = false;
    if (!answer.replies) warn("keys could not be renewed: " + answer.replies.error().message);
    for (std::size_t i = 0; i < ask.backends.size(); ++i) {
        const auto found = backends_.find(ask.backends[i]);
        if (found == backends_.end()) continue;
        if (answer.replies && i < answer.replies->size())
            on_reply(ask.backends[i], (*answer.replies)[i], ask, answer.controller, now);
        else
            found->second.not_renewed(now);
    }
}

void DroneCore::on_reply(const std::string& id, const RenewReply& reply, const RenewAsk& ask, std::size_t controller,
                         HolderInstant now) {
    Backend& backend = backends_.at(id);
    if (const auto* error = std::get_if<Error>(&reply)) return on_refusal(id, backend, *error, controller, now);
    reassertions_.erase(id);
    backend.renewed(deadlines_from(std::get<Timing>(reply), ask.clock));
}

void DroneCore::on_refusal(const std::string& id, Backend& backend, const Error& error, std::size_t controller,
                           HolderInstant now) {
    if (is_lost(error.code)) {
        warn("the key of backend " + id + " is lost: " + error.message);
        return backend.lost(now);
    }
    backend.not_renewed(now);
    if (core::code_in(error.code) == core::Code::renewal_barred) backend.barred();
    const bool forgotten = core::code_in(error.code) == core::Code::unknown_lease;
    if (forgotten || core::code_in(error.code) == core::Code::recovering)
        reassertions_.insert_or_assign(id, Reassertion{controller, forgotten});
    else if (runs_out(error.code))
        warn("the key of backend " + id + " runs out: " + error.message);
}

void DroneCore::on_starting(const std::string& backend, std::uint16_t port) {
    if (const auto found = backends_.find(backend); found != backends_.end()) found->second.starting(port);
}

void DroneCore::on_running(const std::string& backend, HolderInstant now) {
    if (const auto found = backends_.find(backend); found != backends_.end()) found->second.running(now);
}

void DroneCore::on_not_started(const std::string& backend, std::string message) {
    if (const auto found = backends_.find(backend); found != backends_.end())
        found->second.not_started(std::move(message));
}

void DroneCore::on_ended(const std::string& backend, const Ending& ending) {
    if (const auto found = backends_.find(backend); found != backends_.end()) found->second.ended(ending);
}

void DroneCore::on_probe(const std::string& backend, bool answered, HolderInstant now) {
    if (const auto found = backends_.find(backend); found != backends_.end()) found->second.probed(answered, now);
}

std::vector<std::uint16_t> DroneCore::watched_ports() const {
    std::vector<std::uint16_t> ports;
    for (const auto& [id, backend] : backends_)
        if (backend.watched_for_idleness()) ports.push_back(backend.port());
    return ports;
}

void DroneCore::on_connections(const std::vector<std::uint16_t>& busy, HolderInstant now) {
    for (auto& [id, backend] : backends_)
        if (std::find(busy.begin(), busy.end(), backend.port()) != busy.end()) backend.connections(true, now);
}

}  // namespace holdfast::drone
