#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "authority/desk.h"
#include "base/random.h"
#include "keys/controller/controller.h"

namespace holdfast::keys::controller {

/// Controllers, drones and clients over a network that loses, delays, doubles and reorders, in simulated time. Drones
/// have clocks that are hours off and up to 1 % fast or slow; they and the controllers restart, and drones fall silent.
///
/// What must hold is checked at every step; the first thing that does not is kept.
class HistoryWorld {
 public:
    explicit HistoryWorld(std::uint64_t seed);
    ~HistoryWorld();

    /// Lets things happen at random.
    void run_for(Duration time);
    /// From now on nothing is lost, nothing restarts and nobody connects: what is under way comes to its end.
    void calm_down();

    const std::string& violation() const { return violation_; }

    struct Seen {
        long starts = 0, ends_by_deadline = 0, restarts = 0, controller_restarts = 0, lost = 0, doubled = 0,
             dropped = 0, found = 0, renewals = 0, terminated = 0, refused = 0, meddled = 0;
    };
    const Seen& seen() const { return seen_; }

 private:
    struct Running;
    struct DroneModel;

    Random random_;
    authority::Desk desk_;
    std::vector<std::unique_ptr<Controller>> controllers_;
    std::vector<DroneModel> drones_;
    std::multimap<Instant, std::function<void()>> network_;
    bool calm_ = false;
    int lives_ = 0;
    Seen seen_;
    std::string violation_;
    std::map<std::string, lease::Token> last_token_;            // of what was started, by key
    std::map<std::pair<std::string, std::string>, int> state_;  // of a backend, as a controller's life tells it
    std::set<std::string> ordered_, delivered_;

    bool chance(unsigned percent) { return random_.below(100) < percent; }
    void fail(const std::string& what);
    void send(const std::function<void()>& message);
    void to(Instant time);
    void something_happens();
    void connect();
    void terminate_something();
    void meddle();
    void speak(DroneModel& drone);
    void ask_for_orders(DroneModel& drone);
    void renew(DroneModel& drone, const std::string& backend);
    void carry_out(DroneModel& drone, const Order& order);
    void start(DroneModel& drone, const SpawnOrder& what);
    void end(DroneModel& drone, const std::string& backend);
    void restart(DroneModel& drone);
    void restart_controller(std::size_t which);
    void check_states();
    void check_the_end();
};

}  // namespace holdfast::keys::controller
