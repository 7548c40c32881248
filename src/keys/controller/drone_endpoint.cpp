#include "keys/controller/drone_endpoint.h"

#include <algorithm>
#include <fmt/format.h>

#include "keys/limits.h"

namespace holdfast::keys::controller {
namespace {

lease::Reassertion reassertion_of(const Heartbeat& heartbeat, const BackendReport& report, std::string user) {
    return {
        .resource = resource_of(report.key),
        .token = report.token,
        .ttl = report.ttl,
        .holder = heartbeat.drone,
        .session = report.id,
        .reason = "key",
        .metadata = to_json({report.id, report.key.tag, heartbeat.drone, shown_life(heartbeat.life), std::move(user)})};
}

Backend backend_of(const Heartbeat& heartbeat, const BackendReport& report, Instant now) {
    Backend backend;
    backend.id = report.id;
    backend.key = report.key;
    backend.token = report.token;
    backend.drone = heartbeat.drone;
    backend.progress = report.progress;
    backend.since = backend.ended() ? now : now - report.progress.state_for;
    return backend;
}

}  // namespace

DroneEndpoint::DroneEndpoint(KeyState& book, KeyWatch& watch, std::string life)
    : book_(book), watch_(watch), life_(std::move(life)) {}

/// By starting a new incarnation, the drone says that no process of the old one is alive (K4), so the keys of that one
/// are released at once. A backend whose key another controller took is not known to belong to that incarnation; its
/// key expires.
void DroneEndpoint::end_life(Drone& drone) {
    for (const std::string& id : book_.backends.live_of(drone.id)) {
        const Backend* backend = book_.backends.find(id);
        if (backend->life != drone.life) {
            watch_.expect(id, book_.now);
            continue;
        }
        book_.give_back(*backend);
        book_.end(id, EndReason::drone_lost);
    }
}

/// A new incarnation that lists the current one as earlier has the state directory, and knows that no process of the
/// current one is alive. Any other belongs to a different drone with the same id, or to one that lost its directory, or
/// its message was delayed. Then the current incarnation stays valid while it is heard from; after that, its keys
/// expire.
std::optional<authority::Refused> DroneEndpoint::begin_life(Drone& drone, const Heartbeat& heartbeat) {
    if (drone.had_life(heartbeat.life)) return authority::Refused{Code::stale_drone, {}, {}};
    const auto& earlier = heartbeat.earlier_lives;
    const bool follows = std::find(earlier.begin(), earlier.end(), drone.life) != earlier.end();
    if (!follows && drone.healthy(book_.now))
        return authority::Refused{
            Code::drone_alive,
            fmt::format("another drone has the id {} and was heard from recently; this one is accepted once "
                        "the other has been silent for 45 s",
                        drone.id),
            limits::heartbeat_every};
    if (follows)
        end_life(drone);
    else
        watch_.lost(drone);
    drone.begin_life(heartbeat.life);
    dismiss(drone.id);
    return std::nullopt;
}

authority::Answer<Drone*> DroneEndpoint::registered(const Heartbeat& heartbeat) {
    Drone* drone = book_.drones.find(heartbeat.drone);
    if (drone == nullptr) {
        if (book_.drones.full()) return authority::Refused{Code::too_many_drones, {}, {}};
        drone = &book_.drones.add(heartbeat.drone, heartbeat.life);
        drone->drain = heartbeat.draining;  // ordered by our earlier incarnation or by another controller
    } else if (drone->life != heartbeat.life) {
        if (const auto refused = begin_life(*drone, heartbeat)) return *refused;
    }
    drone->had_lives(heartbeat.earlier_lives);
    drone->pool = heartbeat.pool;
    drone->capacity = heartbeat.capacity;
    drone->draining = heartbeat.draining;
    drone->address = heartbeat.address;
    drone->heard_at = book_.now;
    drone->hear_clock(heartbeat.clock_ms, book_.now);
    note_hung_up(*drone, false);
    return drone;
}

/// Returns false if the backend was new to this controller and has been added.
bool DroneEndpoint::take(const Heartbeat& heartbeat, const BackendReport& report) {
    const Backend* known = book_.backends.find(report.id);
    const bool is_new = known == nullptr;
    if (is_new) {
        if (book_.backends.full()) return true;
        known = &book_.backends.add(backend_of(heartbeat, report, book_.now));
        watch_.added(*known);
    }
    if (known->drone != heartbeat.drone || known->token != report.token || !known->key.same_key(report.key))
        return true;  // the id of another backend
    book_.backends.mark_reported(report.id, heartbeat.life);
    const bool moved = book_.backends.move(report.id, report.progress, book_.now);
    if (known->ended()) {
        book_.drones.find(heartbeat.drone)->orders.forget(report.id);
        // All its processes are dead, and the drone may not have been able to release the key itself.
        if (moved || is_new) book_.give_back(*known);
    }
    return !is_new;
}

/// If a full report omits a backend that the drone reported before, the drone has forgotten its end. A backend that it
/// was only ordered to start may be reported later.
void DroneEndpoint::end_unnamed(const Heartbeat& heartbeat) {
    std::set<std::string_view> named;
    for (const BackendReport& report : heartbeat.backends)
        named.insert(report.id);
    for (const std::string& id : book_.backends.live_of(heartbeat.drone)) {
        const Backend* backend = book_.backends.find(id);
        if (backend->reported && backend->life == heartbeat.life && !named.contains(id))
            book_.end(id, EndReason::internal);
    }
}

void DroneEndpoint::heartbeat(Heartbeat heartbeat, Callback<authority::Answer<HeartbeatAnswer>> reply) {
    const Drone* before = book_.drones.find(heartbeat.drone);
    const bool new_life = before == nullptr || before->life != heartbeat.life;
    const auto found = registered(heartbeat);
    if (const auto* refused = std::get_if<authority::Refused>(&found)) return reply(*refused);
    Drone& drone = *std::get<Drone*>(found);
    HeartbeatAnswer answer{.controller = life_, .drain = drone.drain};
    bool knew_all = true;
    for (const BackendReport& report : heartbeat.backends)
        knew_all = take(heartbeat, report) && knew_all;
    if (heartbeat.all && heartbeat.clock_ms >= drone.reported_at_ms) end_unnamed(heartbeat);
    drone.reported_at_ms = std::max(drone.reported_at_ms, heartbeat.clock_ms);
    answer.send_all = !heartbeat.all && (new_life || !knew_all);
    reassert(heartbeat, std::move(answer), std::move(reply));
}

/// Re-asserts only if the drone means this incarnation of the controller: a message that was in flight while a
/// controller restarted must not count for its successor.
void DroneEndpoint::reassert(const Heartbeat& heartbeat, HeartbeatAnswer answer,
                             Callback<authority::Answer<HeartbeatAnswer>> reply) {
    struct Gathering {
        HeartbeatAnswer answer;
        Callback<authority::Answer<HeartbeatAnswer>> reply;
        std::size_t missing = 1;

        void arrived() {
            if (--missing == 0) reply(std::move(answer));
        }
    };
    auto gathering = std::make_shared<Gathering>(Gathering{std::move(answer), std::move(reply)});
    for (const BackendReport& report : heartbeat.backends) {
        const bool holds = report.holds_for && *report.holds_for > Duration::zero();
        if (heartbeat.reassert_to != life_ || !holds || report.progress.state == BackendState::terminated) continue;
        const Backend* known = book_.backends.find(report.id);
        if (known == nullptr || known->drone != heartbeat.drone || known->token != report.token) continue;
        ++gathering->missing;
        book_.authority.reassert(reassertion_of(heartbeat, report, known->user),
                                 [gathering, id = report.id](const authority::Answer<authority::HeldLease>& held) {
                                     if (std::holds_alternative<authority::HeldLease>(held))
                                         gathering->answer.reasserted.push_back(id);
                                     gathering->arrived();
                                 });
    }
    gathering->arrived();
}

/// The deadlines of a start are instants on the drone's clock (K3).
OrdersAnswer DroneEndpoint::orders_for(Drone& drone) {
    const auto on_its_clock = [&](Instant instant) {
        return HolderInstant{std::chrono::milliseconds(drone.clock_ms_at(instant))};
    };
    OrdersAnswer answer{life_};
    for (QueuedOrder& queued : drone.orders.take(book_.now)) {
        const KeyTimeline& timeline = queued.timeline;
        if (auto* start = std::get_if<SpawnOrder>(&queued.order.what))
            start->deadlines = {on_its_clock(timeline.renew_at), on_its_clock(timeline.soft_terminate_at),
                                on_its_clock(timeline.hard_terminate_at)};
        answer.orders.push_back(std::move(queued.order));
    }
    return answer;
}

DroneEndpoint::Ticket DroneEndpoint::orders(const OrdersRequest& request,
                                            Callback<authority::Answer<OrdersAnswer>> reply) {
    Drone* drone = book_.drones.find(request.drone);
    if (drone == nullptr || drone->life != request.life) {
        reply(authority::Refused{Code::unknown_drone, {}, {}});
        return 0;
    }
    drone->heard_at = book_.now;
    drone->connection = request.connection;
    drone->hear_clock(request.clock_ms, book_.now);
    note_hung_up(*drone, false);
    if (request.controller.empty() || request.controller == life_) drone->orders.done(request.done);
    drone->orders.drop_expired(book_.now);
    dismiss(request.drone);
    if (drone->orders.size() > 0 || request.wait <= Duration::zero() || stopping_) {
        reply(orders_for(*drone));
        return 0;
    }
    const Instant until = book_.now + std::min(request.wait, limits::orders_wait);
    waiting_[request.drone] = {++last_ticket_, until, std::move(reply)};
    tickets_.emplace(last_ticket_, request.drone);
    timeouts_.emplace(until, request.drone);
    return last_ticket_;
}

/// Removes the request that waits for this drone's orders and returns its callback; empty if no request waits.
Callback<authority::Answer<OrdersAnswer>> DroneEndpoint::stop_waiting(const std::string& drone) {
    const auto found = waiting_.find(drone);
    if (found == waiting_.end()) return {};
    auto reply = std::move(found->second.reply);
    tickets_.erase(found->second.ticket);
    timeouts_.erase({found->second.until, drone});
    waiting_.erase(found);
    return reply;
}

void DroneEndpoint::cancel(Ticket ticket) {
    const auto found = tickets_.find(ticket);
    if (found == tickets_.end()) return;
    const std::string id = found->second;
    if (Drone* drone = book_.drones.find(id)) note_hung_up(*drone, true);
    dismiss(id);
}

void DroneEndpoint::connection_ended(const std::string& id, std::uint64_t connection) {
    Drone* drone = book_.drones.find(id);
    if (drone != nullptr && connection != 0 && drone->connection == connection) note_hung_up(*drone, true);
}

/// Notifies the watchers of its backends, whose addresses are now hidden or shown again.
void DroneEndpoint::note_hung_up(Drone& drone, bool hung_up) {
    if (std::exchange(drone.hung_up, hung_up) == hung_up) return;
    for (const std::string& backend : book_.backends.live_of(drone.id))
        book_.backends.tell(backend);
}

void DroneEndpoint::wake(const std::string& drone) {
    Drone* known = book_.drones.find(drone);
    if (known == nullptr) return;
    if (auto reply = stop_waiting(drone)) reply(orders_for(*known));
}

void DroneEndpoint::dismiss(const std::string& drone) {
    if (auto reply = stop_waiting(drone)) reply(OrdersAnswer{life_});
}

void DroneEndpoint::stop() {
    stopping_ = true;
    while (!waiting_.empty())
        dismiss(std::string(waiting_.begin()->first));
}

void DroneEndpoint::advance() {
    while (!timeouts_.empty() && timeouts_.begin()->first <= book_.now)
        dismiss(std::string(timeouts_.begin()->second));
}

Instant DroneEndpoint::next_due() const {
    return timeouts_.empty() ? Instant::max() : timeouts_.begin()->first;
}

}  // namespace holdfast::keys::controller
