#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "keys/protocol.h"

namespace holdfast::keys::controller {

/// A process or process group that serves one key.
struct Backend {
    std::string id;
    Key key;
    lease::Token token = 0;
    std::string drone;
    std::string life;  ///< the drone's incarnation; empty if unknown
    std::string user;  ///< the user it was started for
    BackendProgress progress{};
    Instant since{};        ///< when it entered this state
    bool reported = false;  ///< true once its drone has reported it to this controller
    /// True if a backend with a higher token is known for the same key. The key of this one must then have expired or
    /// been released before (K4).
    bool superseded = false;

    bool ended() const { return progress.state == BackendState::terminated; }
    /// At most one backend of a key is shown as alive: a superseded one is dead, even if its end has not been reported
    /// yet.
    BackendState shown_state() const { return superseded ? BackendState::terminated : progress.state; }
};

/// The backends that a controller knows, including those that ended recently.
class Backends {
 public:
    const Backend* find(const std::string& id) const;
    bool full() const;

    /// REQUIRES: not full, and no backend has this id.
    const Backend& add(Backend backend);
    /// Moves a backend forward (K5). A report for the current state fills in the fields that are still missing. Returns
    /// true if anything changed.
    bool move(const std::string& id, const BackendProgress& to, Instant now);
    /// Records that its drone, in this incarnation, has reported the backend.
    void mark_reported(const std::string& id, const std::string& life);

    /// The backends of a drone that have not ended.
    std::vector<std::string> live_of(const std::string& drone) const;
    std::size_t live_count(const std::string& drone) const;
    /// The backends of the same key that have not ended and have a lower token.
    std::vector<std::string> superseded_by(const Backend& backend) const;
    const std::array<std::size_t, backend_state_count>& counts() const { return counts_; }

    struct Filter {
        std::string name_space, name, drone;  ///< empty: any
        std::optional<BackendState> state{};
    };
    struct Page {
        std::vector<const Backend*> backends;
        std::string next;
    };
    /// Sorted by id. Examines a bounded number of backends, so a page may be short and still have a next one.
    Page list(const Filter& filter, const std::string& after, std::size_t limit) const;

    /// Forgets backends that ended long ago, and the oldest ended ones if there are too many.
    void tidy(Instant now);
    /// When the next ended backend is to be forgotten; Instant::max() if none is.
    Instant next_tidy() const;

    /// The watcher is called after each change of this backend, until unwatch(). It may call watch() and unwatch().
    using Watcher = std::function<void(const Backend&)>;
    std::uint64_t watch(const std::string& id, Watcher watcher);
    void unwatch(const std::string& id, std::uint64_t watch);
    /// Calls the watchers of this backend.
    void tell(const std::string& id);

 private:
    std::map<std::string, Backend> all_;
    std::map<std::string, std::set<std::string>> live_;  // by drone
    std::map<std::string, std::map<lease::Token, std::string>>
        live_of_key_;                                  // by resource; several if earlier are lost
    std::set<std::pair<Instant, std::string>> ended_;  // by time of their end
    std::array<std::size_t, backend_state_count> counts_{};
    std::map<std::string, std::map<std::uint64_t, Watcher>> watchers_;
    std::uint64_t last_watch_ = 0;

    std::size_t& count_of(const Backend& backend) { return counts_[static_cast<std::size_t>(backend.progress.state)]; }
    void file(const Backend& backend);
    void mark_superseded(const Backend& added);
};

}  // namespace holdfast::keys::controller
