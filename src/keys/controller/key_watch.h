#pragma once

#include <map>
#include <set>
#include <string>

#include "keys/controller/key_state.h"

namespace holdfast::core {

/// Looks after the backends that nobody speaks for: those whose drone is late, silent or gone, those that no drone has
/// told of yet, and those whose key another backend has got. Once the store says that the key has run out, such a
/// backend has ended (K4).
class KeyWatch {
 public:
    explicit KeyWatch(KeyState& book) : book_(book) {}

    /// Looks at this backend's key at that time, unless somebody speaks for it by then.
    void expect(const std::string& backend, Instant at);
    /// This backend has just become known. An earlier one of its key that is not known to have ended is looked at.
    void added(const Backend& backend);
    /// The drone is silent or gone: what it was never told of is taken back, the rest is watched.
    void lost(Drone& drone);

    void advance();
    Instant next_due() const;

 private:
    KeyState& book_;
    std::map<std::string, Instant> expected_;
    std::set<std::pair<Instant, std::string>> due_;
    Instant next_round_{};
    std::size_t looking_ = 0;

    void note_silent_drones();
    bool is_late(const Drone& drone) const;
    bool is_spoken_for(const Backend& backend) const;
    void look(const std::string& backend);
    void looked(const std::string& backend, const Answer<std::vector<VerifyAnswer>>& answer);
};

}  // namespace holdfast::core
