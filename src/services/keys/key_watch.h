#pragma once

#include <map>
#include <set>
#include <string>

#include "services/keys/key_book.h"

namespace holdfast::core {

/// Looks after the backends that nobody speaks for: those whose drone is silent or gone, and those that no drone has
/// told of yet. Once the store says that the key has run out, such a backend has ended (K4).
class KeyWatch {
 public:
    explicit KeyWatch(KeyBook& book) : book_(book) {}

    /// Looks at this backend's key at that time, unless somebody speaks for it by then.
    void expect(const std::string& backend, Instant at);
    /// The drone is silent or gone: what it was never told of is taken back, the rest is watched.
    void lost(Drone& drone);

    void advance();
    Instant next_due() const;

 private:
    KeyBook& book_;
    std::map<std::string, Instant> expected_;
    std::set<std::pair<Instant, std::string>> due_;
    Instant next_round_{};
    std::size_t looking_ = 0;

    void note_silent_drones();
    void look(const std::string& backend);
    void looked(const std::string& backend, const Answer<std::vector<VerifyAnswer>>& answer);
};

}  // namespace holdfast::core
