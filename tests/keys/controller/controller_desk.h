#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "authority/desk.h"
#include "keys/controller/controller.h"

namespace holdfast::keys::controller {

/// REQUIRES: the order starts a backend.
inline const SpawnOrder& start_in(const Order& order) {
    return std::get<SpawnOrder>(order.what);
}

/// A controller, or several on one store, with time in the test's hand, and drones that say what the test tells them.
struct ControllerDesk : authority::Desk {
    explicit ControllerDesk(std::size_t controllers = 1, lease::Policy policy = {})
        : authority::Desk(std::move(policy)) {
        for (std::size_t i = 0; i < controllers; ++i)
            all.push_back(
                std::make_unique<Controller>(Controller::Parts{authority, "controller-" + std::to_string(i), 17 + i}));
        pass(0s);
    }

    Controller& controller(std::size_t number = 0) { return *all[number]; }

    void pass(Duration time) {
        at(now + time);
        for (auto& each : all)
            each->advance(now);
    }

    Heartbeat word_of(const std::string& drone, const std::string& life = "life-1") const {
        Heartbeat heartbeat;
        heartbeat.drone = drone;
        heartbeat.life = life;
        heartbeat.pool = "default";
        heartbeat.capacity = 100;
        heartbeat.clock_ms = clock_ms();
        heartbeat.address = "10.0.0.7";
        return heartbeat;
    }
    /// Drones whose clocks differ from the server's by some hours.
    std::uint64_t clock_ms() const {
        return static_cast<std::uint64_t>(to_ms(now.time_since_epoch())) + clock_ahead_ms;
    }

    authority::Answer<HeartbeatAnswer> say(Heartbeat heartbeat, std::size_t to = 0) {
        std::optional<authority::Answer<HeartbeatAnswer>> got;
        all[to]->endpoint().heartbeat(std::move(heartbeat),
                                      [&](authority::Answer<HeartbeatAnswer> answer) { got = std::move(answer); });
        return got.value();
    }
    HeartbeatAnswer drone_is_there(const std::string& drone, const std::string& life = "life-1", std::size_t to = 0) {
        return std::get<HeartbeatAnswer>(say(word_of(drone, life), to));
    }
    /// A life that knows that the one before it is over.
    HeartbeatAnswer drone_begins_again(const std::string& drone, const std::string& life, const std::string& earlier) {
        Heartbeat heartbeat = word_of(drone, life);
        heartbeat.earlier_lives = {earlier};
        return std::get<HeartbeatAnswer>(say(std::move(heartbeat)));
    }
    void report(const std::string& drone, const Connected& backend, BackendProgress progress, std::size_t to = 0,
                const std::string& life = "life-1") {
        Heartbeat heartbeat = word_of(drone, life);
        heartbeat.backends.push_back(report_of(backend, std::move(progress)));
        say(std::move(heartbeat), to);
    }
    static BackendReport report_of(const Connected& connected, BackendProgress progress) {
        const Backend& backend = connected.backend;
        return {backend.id, backend.key, backend.token, std::move(progress), 60s, 40s};
    }

    static ConnectRequest to_key(const std::string& name, const std::string& tag = "") {
        ConnectRequest request;
        request.key = {"default", name, tag};
        return request;
    }
    static ConnectRequest to_start(const std::string& name, const std::string& tag = "") {
        ConnectRequest request = to_key(name, tag);
        request.spawn.emplace();
        request.spawn->spawn.command = "room-server";
        return request;
    }
    authority::Answer<Connected> ask(ConnectRequest request, std::size_t of = 0) {
        std::optional<authority::Answer<Connected>> got;
        all[of]->connects().connect(std::move(request),
                                    [&](authority::Answer<Connected> answer) { got = std::move(answer); });
        return got.value();
    }
    /// Nothing if it was refused.
    std::optional<Connected> connect(ConnectRequest request, std::size_t of = 0) {
        const auto answer = ask(std::move(request), of);
        if (const auto* connected = std::get_if<Connected>(&answer)) return *connected;
        return std::nullopt;
    }
    Code refusal(ConnectRequest request, std::size_t of = 0) {
        return std::get<authority::Refused>(ask(std::move(request), of)).code;
    }

    OrdersRequest for_orders(const std::string& drone, std::vector<std::uint64_t> done = {}) const {
        OrdersRequest request;
        request.drone = drone;
        request.life = "life-1";
        request.clock_ms = clock_ms();
        request.done = std::move(done);
        return request;
    }
    std::vector<Order> orders(const std::string& drone, std::vector<std::uint64_t> done = {}, std::size_t of = 0) {
        std::vector<Order> got;
        all[of]->endpoint().orders(for_orders(drone, std::move(done)), [&](authority::Answer<OrdersAnswer> answer) {
            got = std::get<OrdersAnswer>(std::move(answer)).orders;
        });
        return got;
    }

    BackendProgress state_of(const std::string& id, std::size_t of = 0) {
        return all[of]->backend(id).value().backend.progress;
    }
    bool renew(const Connected& of) {
        bool renewed = false;
        authority::RenewRequest request;
        request.holder = of.backend.drone;
        request.leases = {{{resource_of(of.backend.key), of.backend.token}, {}}};
        authority.renew(std::move(request), [&](const std::vector<authority::RenewAnswer>& answers) {
            renewed = std::holds_alternative<authority::RenewedLease>(answers.front().result);
        });
        return renewed;
    }
    bool is_held(const Connected& of) {
        return verify(resource_of(of.backend.key), of.backend.token).verified.state == lease::LeaseState::active;
    }

    static constexpr std::uint64_t clock_ahead_ms = 5 * 3'600'000;
    std::vector<std::unique_ptr<Controller>> all;
};

}  // namespace holdfast::keys::controller
