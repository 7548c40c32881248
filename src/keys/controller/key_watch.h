#pragma once

#include <map>
#include <set>
#include <string>

#include "keys/controller/key_state.h"

namespace holdfast::keys::controller {

/// Watches the keys of backends without a reporting drone: those whose drone is late, silent or gone, those that no
/// drone has reported yet, and those whose key another backend has taken. Once the store says that its key has expired,
/// such a backend has ended (K4).
class KeyWatch {
 public:
    explicit KeyWatch(KeyState& book) : book_(book) {}

    /// Reads this backend's key from the store at that time, unless its drone reports it before then.
    void expect(const std::string& backend, Instant at);
    /// A backend has become known. Checks the earlier backends of its key that are not known to have ended.
    void added(const Backend& backend);
    /// The drone is silent or gone: takes back the starts that were never sent to it and watches the rest.
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
    void looked(const std::string& backend, const authority::Answer<std::vector<authority::VerifyAnswer>>& answer);
};

}  // namespace holdfast::keys::controller
