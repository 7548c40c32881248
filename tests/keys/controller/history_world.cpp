#include "keys/controller/history_world.h"

#include <algorithm>

#include "keys/limits.h"

namespace holdfast::keys::controller {

struct HistoryWorld::Running {
    Key key;
    lease::Token token = 0;
    std::int64_t hard_ms = 0;  // on the drone's clock: its guardian kills it then, whatever the drone does
    std::int64_t renew_ms = 0;
    bool ended = false;
    BackendProgress progress;
};

struct HistoryWorld::DroneModel {
    std::string id, life;
    std::vector<std::string> earlier_lives;
    double rate = 1;
    std::int64_t ahead_ms = 0;
    Instant silent_until{};
    std::map<std::string, Running> backends;
    std::map<std::string, std::set<std::uint64_t>> done;  // by the controller's life

    std::int64_t clock_ms(Instant now) const {
        return ahead_ms + static_cast<std::int64_t>(rate * static_cast<double>(to_ms(now.time_since_epoch())));
    }
    bool runs(const Running& backend, Instant now) const { return !backend.ended && clock_ms(now) < backend.hard_ms; }
};

HistoryWorld::HistoryWorld(std::uint64_t seed) : random_(seed) {
    controllers_.resize(2);
    for (std::size_t i = 0; i < controllers_.size(); ++i)
        restart_controller(i);
    for (int i = 0; i < 4; ++i) {
        DroneModel drone;
        drone.id = "d" + std::to_string(i % 3);  // two have one id, which is a mistake, and no more than that
        drone.rate = 0.99 + 0.01 * static_cast<double>(random_.below(3));
        drone.ahead_ms = static_cast<std::int64_t>(random_.below(10)) * 3'600'000;
        drones_.push_back(drone);
        restart(drones_.back());
    }
}

HistoryWorld::~HistoryWorld() = default;

void HistoryWorld::fail(const std::string& what) {
    if (violation_.empty()) violation_ = what + " at " + std::to_string(to_ms(desk_.now.time_since_epoch())) + " ms";
}

/// Mostly soon, sometimes late, twice or never.
void HistoryWorld::send(const std::function<void()>& message) {
    if (!calm_ && chance(15)) {
        ++seen_.lost;
        return;
    }
    const auto delay = [&] {
        const std::uint64_t max_ms = calm_ || chance(85) ? 200 : 30'000;
        return std::chrono::milliseconds(1 + random_.below(max_ms));
    };
    network_.emplace(desk_.now + delay(), message);
    if (calm_ || !chance(10)) return;
    ++seen_.doubled;
    network_.emplace(desk_.now + delay(), message);
}

void HistoryWorld::to(Instant time) {
    desk_.at(time);
    for (auto& controller : controllers_)
        controller->advance(time);
}

void HistoryWorld::run_for(Duration time) {
    const Instant until = desk_.now + time;
    while (desk_.now < until && violation_.empty()) {
        const Instant next = desk_.now + std::chrono::milliseconds(1 + random_.below(1000));
        while (!network_.empty() && network_.begin()->first <= next) {
            const auto message = network_.begin()->second;
            to(network_.begin()->first);
            network_.erase(network_.begin());
            message();
        }
        to(next);
        something_happens();
        check_states();
    }
}

void HistoryWorld::calm_down() {
    calm_ = true;
    for (DroneModel& drone : drones_)
        drone.silent_until = Instant{};
    run_for(3min);
    if (violation_.empty()) check_the_end();
}

void HistoryWorld::something_happens() {
    if (!calm_ && chance(60)) connect();
    for (DroneModel& drone : drones_) {
        if (!calm_ && random_.below(600) == 0) restart(drone);
        if (!calm_ && random_.below(150) == 0)
            drone.silent_until = desk_.now + std::chrono::seconds(random_.below(120));
        for (auto& [id, backend] : drone.backends) {
            if (!backend.ended && desk_.now > Instant{} && !drone.runs(backend, desk_.now)) {
                ++seen_.ends_by_deadline;
                backend.progress.reason = EndReason::key_lost;
                end(drone, id);
            }
            if (drone.runs(backend, desk_.now) && !calm_ && random_.below(200) == 0) end(drone, id);
        }
        if (desk_.now < drone.silent_until) continue;
        if (chance(30)) speak(drone);
        if (chance(40)) ask_for_orders(drone);
        for (auto& [id, backend] : drone.backends)
            if (drone.runs(backend, desk_.now) && drone.clock_ms(desk_.now) >= backend.renew_ms && chance(30))
                renew(drone, id);
    }
    if (!calm_ && chance(3)) terminate_something();
    if (!calm_ && chance(2)) meddle();
    if (!calm_ && random_.below(400) == 0) restart_controller(random_.below(controllers_.size()));
}

void HistoryWorld::connect() {
    ConnectRequest request;
    request.key = {"default", "room-" + std::to_string(random_.below(5)), chance(90) ? "" : "other"};
    if (chance(80)) {
        request.spawn.emplace();
        request.spawn->spawn.command = "room-server";
    }
    Controller& controller = *controllers_[random_.below(controllers_.size())];
    controller.connects().connect(std::move(request), [this](const authority::Answer<Connected>& answer) {
        const auto* connected = std::get_if<Connected>(&answer);
        if (connected == nullptr) return;
        if (connected->spawned && !ordered_.insert(connected->backend.id).second) fail("a backend was ordered twice");
        if (!connected->spawned) ++seen_.found;
    });
}

void HistoryWorld::terminate_something() {
    Controller& controller = *controllers_[random_.below(controllers_.size())];
    Backends::Filter filter;
    filter.state = chance(50) ? BackendState::scheduled : BackendState::ready;
    const BackendPage page = controller.backends(filter, "", 1000);
    if (page.backends.empty()) return;
    ++seen_.terminated;
    controller.terminate(page.backends[random_.below(page.backends.size())].backend.id, Severity::soft);
}

/// All that the drone knows, to one of the controllers.
void HistoryWorld::speak(DroneModel& drone) {
    Heartbeat heartbeat;
    heartbeat.drone = drone.id;
    heartbeat.life = drone.life;
    heartbeat.earlier_lives = drone.earlier_lives;
    heartbeat.pool = "default";
    heartbeat.capacity = 20;
    heartbeat.clock_ms = static_cast<std::uint64_t>(drone.clock_ms(desk_.now));
    heartbeat.all = true;
    for (const auto& [id, backend] : drone.backends)
        heartbeat.backends.push_back({id, backend.key, backend.token, backend.progress, 60s, {}});
    const std::size_t which = random_.below(controllers_.size());
    send([this, &drone, heartbeat, which] {
        controllers_[which]->endpoint().heartbeat(
            heartbeat, [this, &drone, heartbeat](const authority::Answer<HeartbeatAnswer>& answer) {
                const auto* refused = std::get_if<authority::Refused>(&answer);
                if (refused == nullptr || drone.life != heartbeat.life) return;
                ++seen_.refused;
                if (refused->code == Code::stale_drone) restart(drone);
            });
    });
}

void HistoryWorld::ask_for_orders(DroneModel& drone) {
    const std::size_t which = random_.below(controllers_.size());
    OrdersRequest request;
    request.drone = drone.id;
    request.life = drone.life;
    request.clock_ms = static_cast<std::uint64_t>(drone.clock_ms(desk_.now));
    request.wait = chance(50) ? Duration{7s} : Duration::zero();
    request.controller = controllers_[which]->life();
    const auto& done = drone.done[request.controller];
    request.done.assign(done.begin(), done.end());
    send([this, &drone, request, which] {
        Controller& controller = *controllers_[which];
        controller.endpoint().orders(
            request, [this, &drone, request, from = controller.life()](authority::Answer<OrdersAnswer> answer) {
                if (std::holds_alternative<authority::Refused>(answer)) return;
                const OrdersAnswer told = std::get<OrdersAnswer>(std::move(answer));
                send([this, &drone, told, from, life = request.life] {
                    if (drone.life != life) return;
                    for (const Order& order : told.orders) {
                        carry_out(drone, order);
                        drone.done[from].insert(order.number);
                    }
                });
            });
    });
}

void HistoryWorld::carry_out(DroneModel& drone, const Order& order) {
    const auto* end_it = std::get_if<TerminateOrder>(&order.what);
    const auto* start_it = std::get_if<SpawnOrder>(&order.what);
    delivered_.insert(end_it != nullptr ? end_it->backend : start_it->backend);
    if (end_it != nullptr) return end(drone, end_it->backend);
    if (!drone.backends.contains(start_it->backend)) start(drone, *start_it);
}

/// The moment at which two could run: every other one of this key must be dead by its own drone's clock.
void HistoryWorld::start(DroneModel& drone, const SpawnOrder& what) {
    const KeyDeadlines& deadlines = what.deadlines;
    if (deadlines.renew >= deadlines.soft || deadlines.soft >= deadlines.hard) fail("deadlines out of order");
    Running backend{
        what.key, what.token, to_ms(deadlines.hard.time_since_epoch()), to_ms(deadlines.renew.time_since_epoch()),
        false,    {}};
    const bool too_late = drone.clock_ms(desk_.now) >= backend.hard_ms;
    backend.ended = too_late;
    backend.progress.state = too_late ? BackendState::terminated : BackendState::ready;
    if (too_late) {
        ++seen_.dropped;
    } else {
        ++seen_.starts;
        for (const DroneModel& other : drones_)
            for (const auto& [id, running] : other.backends)
                if (running.key.same_key(what.key) && other.runs(running, desk_.now))
                    fail(id + " runs while " + what.backend + " is started for the same key");
        lease::Token& last = last_token_[what.key.name];
        if (what.token <= last) fail("the token of " + what.key.name + " did not rise");
        last = std::max(last, what.token);
    }
    drone.backends.emplace(what.backend, std::move(backend));
}

/// Counted from when it was sent, by the drone's clock (T3).
void HistoryWorld::renew(DroneModel& drone, const std::string& id) {
    authority::RenewRequest request;
    request.holder = drone.id;
    request.leases = {{{resource_of(drone.backends.at(id).key), drone.backends.at(id).token}, {}}};
    const std::int64_t sent_ms = drone.clock_ms(desk_.now);
    send([this, &drone, request, id, life = drone.life, sent_ms] {
        desk_.authority.renew(request, [this, &drone, id, life,
                                        sent_ms](const std::vector<authority::RenewAnswer>& answers) {
            const auto* renewed = std::get_if<authority::RenewedLease>(&answers.front().result);
            const Duration hard_in = renewed != nullptr ? renewed->held.timeline.hard_terminate_in : Duration::zero();
            send([this, &drone, id, life, sent_ms, hard_in] {
                if (drone.life != life) return;
                Running& backend = drone.backends.at(id);
                if (!drone.runs(backend, desk_.now)) return;
                if (hard_in == Duration::zero()) return end(drone, id);
                ++seen_.renewals;
                backend.hard_ms = std::max(backend.hard_ms, sent_ms + to_ms(hard_in));
                backend.renew_ms = backend.hard_ms - 20'000;
            });
        });
    });
}

/// It is dead, and that is told: its key is given back with the report (K6).
void HistoryWorld::end(DroneModel& drone, const std::string& id) {
    const auto found = drone.backends.find(id);
    if (found == drone.backends.end() || found->second.ended) return;
    found->second.ended = true;
    found->second.progress.state = BackendState::terminated;
}

/// Somebody who is neither drone nor controller wants a key to be free, and names all that can be seen of it.
void HistoryWorld::meddle() {
    const DroneModel& drone = drones_[random_.below(drones_.size())];
    if (drone.backends.empty()) return;
    const auto which =
        std::next(drone.backends.begin(), static_cast<std::ptrdiff_t>(random_.below(drone.backends.size())));
    const lease::LeaseName name{resource_of(which->second.key), which->second.token};
    ++seen_.meddled;
    if (chance(30)) return controllers_[0]->revoke(name, [](const authority::Answer<authority::HeldLease>&) {}, {});
    if (chance(50)) return desk_.authority.revoke(name, [](const authority::Answer<lease::Lease>&) {});
    authority::ReleaseRequest request{{}, name, drone.id};
    request.session = which->first;
    desk_.authority.release(std::move(request), [](const authority::Answer<authority::ReleaseAnswer>&) {});
}

/// K4: nothing of the earlier life is alive when the next one begins.
void HistoryWorld::restart(DroneModel& drone) {
    ++seen_.restarts;
    if (!drone.life.empty()) drone.earlier_lives.push_back(drone.life);
    if (drone.earlier_lives.size() > limits::earlier_lives) drone.earlier_lives.erase(drone.earlier_lives.begin());
    drone.life = "life-" + std::to_string(++lives_);
    drone.backends.clear();
    drone.done.clear();
}

void HistoryWorld::restart_controller(std::size_t which) {
    if (controllers_[which]) ++seen_.controller_restarts;
    controllers_[which] = std::make_unique<Controller>(
        Controller::Parts{desk_.authority, "controller-" + std::to_string(++lives_), random_.next()});
    controllers_[which]->advance(desk_.now);
}

void HistoryWorld::check_states() {
    for (const auto& controller : controllers_) {
        std::set<std::string> ready;
        for (const BackendView& view : controller->backends({}, "", 1000).backends) {
            const bool is_ready = view.backend.progress.state == BackendState::ready;
            if (is_ready && !ready.insert(resource_of(view.backend.key)).second)
                fail("two backends of " + view.backend.key.name + " are shown as ready");
            int& last = state_[{controller->life(), view.backend.id}];
            const int is = static_cast<int>(view.backend.progress.state);
            if (is < last) fail(view.backend.id + " went back in its states");
            last = is;
        }
    }
}

/// Every order was delivered, or its key has run out or was given back: nothing hangs.
void HistoryWorld::check_the_end() {
    for (const auto& controller : controllers_)
        for (const BackendView& view : controller->backends({}, "", 1000).backends) {
            const Backend& backend = view.backend;
            const bool runs = std::any_of(drones_.begin(), drones_.end(), [&](const DroneModel& drone) {
                const auto found = drone.backends.find(backend.id);
                return found != drone.backends.end() && drone.runs(found->second, desk_.now);
            });
            if (runs && backend.ended()) fail(backend.id + " runs and is told to have ended");
            if (!runs && !backend.ended()) fail(backend.id + " has ended and nobody knows");
            if (!backend.ended() && !delivered_.contains(backend.id)) fail("the order for " + backend.id + " is lost");
        }
}

}  // namespace holdfast::keys::controller
