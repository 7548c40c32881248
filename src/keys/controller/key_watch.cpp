#include "keys/controller/key_watch.h"

#include "keys/limits.h"

namespace holdfast::keys::controller {
namespace {

constexpr Duration round_every = 1s;
constexpr Duration pause_after_failure = 5s;

}  // namespace

void KeyWatch::expect(const std::string& backend, Instant at) {
    const auto [place, added] = expected_.emplace(backend, at);
    if (!added) {
        due_.erase({place->second, backend});
        place->second = at;
    }
    due_.emplace(at, backend);
}

void KeyWatch::added(const Backend& backend) {
    for (const std::string& earlier : book_.backends.superseded_by(backend))
        expect(earlier, book_.now);
    if (backend.superseded) expect(backend.id, book_.now);
}

bool KeyWatch::is_late(const Drone& drone) const {
    return drone.late(book_.now);
}

/// Its drone has reported it and is heard from, so the drone will report its end as well.
bool KeyWatch::is_spoken_for(const Backend& backend) const {
    const Drone* drone = book_.drones.find(backend.drone);
    const bool heard = drone != nullptr && drone->life == backend.life && !is_late(*drone);
    return backend.reported && heard && !backend.superseded;
}

void KeyWatch::lost(Drone& drone) {
    drone.silence_noted = true;
    for (const std::string& backend : drone.orders.unsent_starts())
        book_.take_back(backend, EndReason::drone_lost);
    for (const std::string& backend : book_.backends.live_of(drone.id))
        expect(backend, book_.now);
}

void KeyWatch::note_silent_drones() {
    for (auto& [id, drone] : book_.drones.all()) {
        const bool silent = !drone.healthy(book_.now);
        if (silent && !drone.silence_noted) lost(drone);
        drone.silence_noted = silent;
        const bool late = is_late(drone);
        if (late && !drone.lateness_noted)
            for (const std::string& backend : book_.backends.live_of(id))
                expect(backend, book_.now);
        drone.lateness_noted = late;
    }
}

void KeyWatch::advance() {
    if (book_.now >= next_round_) {
        next_round_ = book_.now + round_every;
        note_silent_drones();
    }
    while (!due_.empty() && due_.begin()->first <= book_.now && looking_ < limits::key_looks) {
        const std::string backend = due_.begin()->second;
        due_.erase(due_.begin());
        expected_.erase(backend);
        look(backend);
    }
}

Instant KeyWatch::next_due() const {
    const Instant look_at = due_.empty() || looking_ >= limits::key_looks ? Instant::max() : due_.begin()->first;
    return book_.drones.all().empty() ? look_at : std::min(look_at, next_round_);
}

void KeyWatch::look(const std::string& id) {
    const Backend* backend = book_.backends.find(id);
    if (backend == nullptr || backend->ended()) return;
    if (is_spoken_for(*backend)) return;
    ++looking_;
    book_.authority.verify(
        {{resource_of(backend->key), backend->token}},
        book_.guarded([this, id](const authority::Answer<std::vector<authority::VerifyAnswer>>& answer) {
            --looking_;
            looked(id, answer);
        }));
}

void KeyWatch::looked(const std::string& id, const authority::Answer<std::vector<authority::VerifyAnswer>>& answer) {
    const Backend* backend = book_.backends.find(id);
    if (backend == nullptr || backend->ended()) return;
    if (std::holds_alternative<authority::Refused>(answer)) return expect(id, book_.now + pause_after_failure);
    const authority::VerifyAnswer& verified = std::get<std::vector<authority::VerifyAnswer>>(answer).front();
    if (verified.timeline) return expect(id, book_.now + verified.timeline->expires_in);
    if (is_spoken_for(*backend)) return;  // its drone reported it in the meantime
    // A server that has lost its memory knows no key until its drone re-asserts it (S1).
    const Duration recovering = book_.authority.recovering_for();
    const lease::LeaseState state = verified.verified.state;
    if (state == lease::LeaseState::unknown && recovering > Duration::zero()) return expect(id, book_.now + recovering);
    const bool heard = book_.is_heard(*backend);
    // Released, so its drone has reported the end and the reason, but perhaps not to this node yet.
    if (state == lease::LeaseState::released && backend->reported && heard)
        return expect(id, book_.now + pause_after_failure);
    book_.end(id, heard ? EndReason::key_lost : EndReason::drone_lost);
}

}  // namespace holdfast::keys::controller
