#include "keys/drone/drone_core.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "base/code.h"

namespace holdfast::keys::drone {
namespace {

/// The maximum number of ended backends kept for controllers that do not answer.
constexpr std::size_t max_unheard = 1'000;
/// How long a stopping drone waits for its last reports to be answered.
constexpr Duration linger = 5s;

BackendReport report_of(const Backend& backend, const std::string& host, HolderInstant now) {
    const SpawnOrder& order = backend.order();
    BackendReport report{.id = order.backend, .key = order.key, .token = order.token, .ttl = order.ttl};
    report.progress = {.state = backend.state(), .reason = backend.reason(), .exit_code = backend.exit_code()};
    report.progress.message = backend.message();
    report.progress.state_for = std::max<Duration>(now - backend.state_since().value_or(now), Duration::zero());
    if (backend.port() != 0) report.progress.address = address_of(host, backend.port());
    const Duration left = backend.deadlines().hard() - now;
    // A barred key is left out: a server that lost its memory would restore it from this field without the bar.
    if (backend.may_be_renewed() && left > Duration::zero()) report.holds_for = left;
    return report;
}

int rank_of(const Backend& backend) {
    return backend.is_terminated() ? 2 : backend.gone() ? 1 : 0;
}

/// By then the key has expired, and a repeated order is past its deadline.
HolderInstant key_end(const Backend& backend) {
    return backend.deadlines().hard() + backend.order().ttl;
}

}  // namespace

DroneCore::DroneCore(Settings settings, HolderInstant now)
    : settings_(std::move(settings)), talks_(settings_.controllers, ControllerTalk{now}) {}

std::vector<Effect> DroneCore::step(HolderInstant now) {
    for (auto& [id, backend] : backends_)
        take_needs(id, backend, now);
    renew_due(now);
    drop_ended();
    if (stopping_ && running() == 0) linger_until_ = std::min(linger_until_, now + linger);
    for (std::size_t controller = 0; controller < talks_.size(); ++controller)
        talk_to(controller, now);
    return std::exchange(effects_, {});
}

void DroneCore::take_needs(const std::string& id, Backend& backend, HolderInstant now) {
    const Backend::Needs needs = backend.step(now);
    const lease::HolderDeadlines& deadlines = backend.deadlines();
    if (needs.launch) effects_.push_back(Launch{backend.order(), {deadlines.soft(), deadlines.hard()}});
    if (needs.deadlines) effects_.push_back(MoveDeadlines{id, *needs.deadlines});
    if (needs.stop_by) {
        note(fmt::format("stopping backend {}: {}", id, to_string(*backend.reason())));
        effects_.push_back(StopBackend{id, *needs.stop_by});
    }
    if (needs.probe) effects_.push_back(Probe{id, backend.port(), backend.order().spawn.ready});
    if (!needs.ended) return;
    note(fmt::format("backend {} has ended ({}){}{}", id, to_string(*backend.reason()),
                     backend.message().empty() ? "" : ": ", backend.message()));
}

void DroneCore::renew_due(HolderInstant now) {
    if (renewal_under_way_) return;
    RenewAsk ask{.clock = now};
    Duration shortest = 15s;
    for (auto& [id, backend] : backends_) {
        if (now < backend.renewal_at()) continue;
        backend.renewing();
        ask.backends.push_back(id);
        ask.leases.push_back(lease_of(backend.order().key, backend.order().token));
        shortest = std::min(shortest, backend.deadlines().soft() - now);
    }
    if (ask.leases.empty()) return;
    ask.timeout = std::clamp<Duration>(shortest / 3, 200ms, 5s);  // so that a lost reply leaves time for a retry
    renewal_under_way_ = true;
    effects_.push_back(SendRenewal{std::move(ask)});
}

void DroneCore::talk_to(std::size_t controller, HolderInstant now) {
    ControllerTalk& talk = talks_[controller];
    const bool reassert = wants_reassertion(controller);
    if (talk.heartbeat_due(now, reassert || has_news_for(talk))) {
        effects_.push_back(SendHeartbeat{heartbeat_for(controller, now)});
        talk.heartbeat_sent();
    }
    if (now < talk.next_orders()) return;
    OrdersAsk ask{controller, talk.orders_sent(now)};
    ask.message.drone = settings_.self.drone;
    ask.message.life = settings_.self.life;
    effects_.push_back(SendOrders{std::move(ask)});
}

HeartbeatAsk DroneCore::heartbeat_for(std::size_t controller, HolderInstant now) const {
    const ControllerTalk& talk = talks_[controller];
    HeartbeatAsk ask{controller, settings_.self};
    Heartbeat& message = ask.message;
    message.clock_ms = clock_ms(now);
    message.draining = draining();
    if (wants_reassertion(controller) && !talk.life().empty()) message.reassert_to = talk.life();
    message.all = talk.wants_all() || message.reassert_to;
    // Backends that may be running come first, so that a full report contains every one of them: a backend missing from
    // it is taken for dead.
    for (const int rank : {0, 1, 2})
        for (const auto& [id, backend] : backends_) {
            if (rank_of(backend) != rank || message.backends.size() >= ControllerTalk::max_reports) continue;
            const bool wanted = !talk.has_heard(id, backend.version()) || (message.all && !backend.is_terminated());
            if (!wanted) continue;
            message.backends.push_back(report_of(backend, message.address, now));
            ask.versions.push_back(backend.version());
        }
    return ask;
}

bool DroneCore::has_news_for(const ControllerTalk& talk) const {
    return std::any_of(backends_.begin(), backends_.end(),
                       [&](const auto& entry) { return !talk.has_heard(entry.first, entry.second.version()); });
}

bool DroneCore::wants_reassertion(std::size_t controller) const {
    return std::any_of(reassertions_.begin(), reassertions_.end(), [&](const auto& entry) {
        const Backend* backend = find(entry.first);
        return entry.second.controller == controller && backend != nullptr && backend->may_be_renewed();
    });
}

/// An ended backend is kept until every controller that has ever answered has heard of its end, within a limit.
void DroneCore::drop_ended() {
    std::size_t terminated = backends_.size() - running();
    for (auto at = backends_.begin(); at != backends_.end();) {
        const auto& [id, backend] = *at;
        const bool drop = backend.is_terminated() && (everyone_knows(id, backend) || terminated > max_unheard);
        if (!drop) {
            ++at;
            continue;
        }
        --terminated;
        for (ControllerTalk& talk : talks_)
            talk.forget(id, talk.life().empty() || talk.has_heard(id, backend.version()));
        ended_.add(id, key_end(backend));
        reassertions_.erase(id);
        at = backends_.erase(at);
    }
}

bool DroneCore::everyone_knows(const std::string& id, const Backend& backend) const {
    return std::all_of(talks_.begin(), talks_.end(), [&](const ControllerTalk& talk) {
        return talk.life().empty() || talk.has_heard(id, backend.version());
    });
}

HolderInstant DroneCore::next_due() const {
    HolderInstant next = linger_until_;
    for (const auto& [id, backend] : backends_) {
        next = std::min(next, backend.next_due());
        if (!renewal_under_way_) next = std::min(next, backend.renewal_at());
    }
    for (const ControllerTalk& talk : talks_)
        next = std::min({next, talk.next_heartbeat(), talk.next_orders()});
    return next;
}

bool DroneCore::draining() const {
    return stopping_ ||
           std::any_of(talks_.begin(), talks_.end(), [](const ControllerTalk& talk) { return talk.drain(); });
}

void DroneCore::stop(Severity how, HolderInstant now) {
    stopping_ = true;
    for (auto& [id, backend] : backends_)
        backend.terminate(how, now);
    for (ControllerTalk& talk : talks_)
        talk.hurry(now);
}

bool DroneCore::finished(HolderInstant now) const {
    if (!stopping_ || running() > 0) return false;
    if (now >= linger_until_) return true;
    return std::all_of(talks_.begin(), talks_.end(),
                       [&](const ControllerTalk& talk) { return !has_news_for(talk) || !talk.is_reached(); });
}

const Backend* DroneCore::find(const std::string& backend) const {
    const auto found = backends_.find(backend);
    return found == backends_.end() ? nullptr : &found->second;
}

std::size_t DroneCore::running() const {
    return static_cast<std::size_t>(std::count_if(backends_.begin(), backends_.end(),
                                                  [](const auto& entry) { return !entry.second.is_terminated(); }));
}

namespace {

/// A key is renewed at half its TTL (T4).
lease::HolderDeadlines deadlines_of(const client::Timing& timing, HolderInstant sent_at, HolderInstant now) {
    lease::Timeline timeline = timing.timeline;
    timeline.renew_in = timing.ttl / 2;
    return lease::HolderDeadlines{
        lease::TimedAnswer{.sent_at = sent_at, .arrived_at = now, .timeline = timeline, .ttl = timing.ttl}};
}

/// The lease is still valid but will not be renewed: it ends on its timeline (R7).
bool runs_out(const ErrorCode& code) {
    static const std::set<Code> codes{Code::renewal_barred, Code::banned, Code::name_refused, Code::over_quota,
                                      Code::lease_idle};
    return code.known() && codes.contains(*code.known());
}

bool is_lost(const ErrorCode& code) {
    static const std::set<Code> codes{Code::lease_expired, Code::lease_released, Code::lease_revoked, Code::not_holder,
                                      Code::stale_epoch};
    return code.known() && codes.contains(*code.known());
}

}  // namespace

void DroneCore::on_heartbeat(const HeartbeatAsk& ask, const Result<HeartbeatAnswer>& answer, HolderInstant now) {
    ControllerTalk& talk = talks_[ask.controller];
    if (answer) {
        // A restarted controller may have lost its memory: the sooner it is asked to renew, the sooner it restores the
        // keys (S1).
        if (!talk.life().empty() && talk.life() != answer->controller)
            for (auto& [id, backend] : backends_)
                backend.renew_at_once(now);
        if (talk.heartbeat_answered(ask, *answer, now)) note("registered with controller " + answer->controller);
        settle_reassertions(ask, *answer, now);
        return;
    }
    if (talk.heartbeat_failed(answer.error(), now)) warn("not registered: " + answer.error().message);
    if (answer.error().code != Code::stale_drone || usurped_) return;
    usurped_ = true;
    warn("another drone has registered with this one's id; everything here is stopped: " + answer.error().message);
    stop(Severity::hard, now);
}

void DroneCore::settle_reassertions(const HeartbeatAsk& ask, const HeartbeatAnswer& answer, HolderInstant now) {
    // A different incarnation than the one named restored nothing; the next heartbeat names it.
    if (ask.message.reassert_to != answer.controller) return;
    const std::set<std::string> taken{answer.reasserted.begin(), answer.reasserted.end()};
    for (const BackendReport& report : ask.message.backends) {
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
    if (!answer) return talk.orders_failed(answer.error(), now);
    const bool known = answer->controller == talk.life();
    talk.orders_answered(ask.message, *answer, now);
    if (!known) return;  // they are sent again once the drone is registered there
    for (const Order& order : answer->orders)
        carry_out(order, now);
}

void DroneCore::carry_out(const Order& order, HolderInstant now) {
    if (const auto* unclear = std::get_if<UnclearOrder>(&order.what))
        return warn("ignored a malformed order: " + unclear->why);
    if (const auto* spawning = std::get_if<SpawnOrder>(&order.what)) return spawn(*spawning, now);
    const auto& ending = std::get<TerminateOrder>(order.what);
    const auto found = backends_.find(ending.backend);
    if (found != backends_.end()) found->second.terminate(ending.how, now);
}

/// Orders are delivered at least once and carried out once. That a backend was refused must be remembered as well: its
/// key is released once the controller hears of that, so a repeated order must not start it. Without room to remember
/// it the order is ignored: nobody renews the key, and the controller sees it expire.
void DroneCore::spawn(const SpawnOrder& order, HolderInstant now) {
    if (backends_.contains(order.backend) || ended_.contains(order.backend)) return;
    ended_.drop_old(now);
    if (known() >= settings_.max_known)
        return warn(fmt::format("ignored the order to start backend {}: {} others have ended too recently",
                                order.backend, ended_.size()));
    const bool full = running() >= settings_.self.capacity;
    Backend& backend = backends_.emplace(order.backend, Backend{order, now}).first->second;
    if (stopping_) return backend.refuse(EndReason::terminated, "the drone is stopping");
    if (full) return backend.refuse(EndReason::internal, "the drone is full");
    note(fmt::format("backend {} for key {} with token {}", order.backend, order.key.name, order.token));
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

void DroneCore::on_reply(const std::string& id, const client::RenewReply& reply, const RenewAsk& ask,
                         std::size_t controller, HolderInstant now) {
    Backend& backend = backends_.at(id);
    if (const auto* error = std::get_if<Error>(&reply)) return on_refusal(id, backend, *error, controller, now);
    reassertions_.erase(id);
    backend.renewed(deadlines_of(std::get<client::Renewed>(reply).timing, ask.clock, now), now);
}

void DroneCore::on_refusal(const std::string& id, Backend& backend, const Error& error, std::size_t controller,
                           HolderInstant now) {
    if (is_lost(error.code)) {
        warn("the key of backend " + id + " is lost: " + error.message);
        return backend.lost(now);
    }
    backend.not_renewed(now);
    if (error.code == Code::renewal_barred) backend.barred();
    const bool forgotten = error.code == Code::unknown_lease;
    if (forgotten || error.code == Code::recovering)
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

}  // namespace holdfast::keys::drone
