#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "keys/controller/key.h"

namespace holdfast::core {

/// How far a backend has come. States only move forward (K5).
enum class BackendState : std::uint8_t {
    scheduled,  ///< its key is taken, its drone has not said anything of it yet
    loading,
    starting,
    waiting,  ///< runs, and is not ready yet
    ready,
    terminating,
    hard_terminating,
    terminated,
};
inline constexpr std::size_t backend_state_count = static_cast<std::size_t>(BackendState::terminated) + 1;
std::string_view to_string(BackendState state);
std::optional<BackendState> parse_backend_state(std::string_view text);

/// Why a backend ends or has ended.
enum class EndReason : std::uint8_t {
    exited,
    terminated,
    key_lost,
    drone_lost,
    start_timed_out,
    idle,
    lifetime,
    internal,
};
std::string_view to_string(EndReason reason);
std::optional<EndReason> parse_end_reason(std::string_view text);

/// How far a backend has come, as its drone says or as must be concluded.
struct BackendProgress {
    BackendState state = BackendState::scheduled;
    std::optional<EndReason> reason{};
    std::optional<std::int64_t> exit_code{};
    std::string address{};  ///< HOST:PORT; empty if it has none yet
    std::string message{};  ///< what a person should know of its end
    Duration state_for{};   ///< how long it had been in this state when that was said
};

/// One process, or group of them, under one key.
struct Backend {
    std::string id;
    Key key;
    Token token = 0;
    std::string drone;
    std::string life;  ///< of the drone; empty if not known
    std::string user;  ///< for whom it was started
    BackendProgress progress{};
    Instant since{};        ///< in this state
    bool reported = false;  ///< by its drone, to this controller
    /// A later one of the same key is known, so the key of this one had run out or was given back by then (K4).
    bool superseded = false;

    bool ended() const { return progress.state == BackendState::terminated; }
    /// No two of one key are shown as alive: one that another has followed is dead, though nobody has told why yet.
    BackendState shown_state() const { return superseded ? BackendState::terminated : progress.state; }
};

/// The backends that a controller knows of, those that ended lately included.
class Backends {
 public:
    const Backend* find(const std::string& id) const;
    bool full() const;

    /// REQUIRES: not full, and no backend has this id.
    const Backend& add(Backend backend);
    /// Only forward (K5); what is said of the state that it is in is added. Returns true if anything changed.
    bool move(const std::string& id, const BackendProgress& to, Instant now);
    /// Its drone has told of it, and in which life.
    void mark_reported(const std::string& id, const std::string& life);

    /// Those of a drone that have not ended.
    std::vector<std::string> live_of(const std::string& drone) const;
    std::size_t live_count(const std::string& drone) const;
    /// Those of the same key that have not ended and were started earlier.
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
    /// By id. Looks at a bounded number, so a page may be short and still have a next one.
    Page list(const Filter& filter, const std::string& after, std::size_t limit) const;

    /// Forgets those that ended long ago, and the oldest of too many.
    void tidy(Instant now);
    /// When tidy() has something to do; Instant::max() if never.
    Instant next_tidy() const;

    /// The watcher is called after each change of this backend, until unwatch(). It may watch and unwatch.
    using Watcher = std::function<void(const Backend&)>;
    std::uint64_t watch(const std::string& id, Watcher watcher);
    void unwatch(const std::string& id, std::uint64_t watch);
    /// Calls those who watch it.
    void tell(const std::string& id);

 private:
    std::map<std::string, Backend> all_;
    std::map<std::string, std::set<std::string>> live_;                // by drone
    std::map<std::string, std::map<Token, std::string>> live_of_key_;  // by resource; one, but for those that are lost
    std::set<std::pair<Instant, std::string>> ended_;                  // by when
    std::array<std::size_t, backend_state_count> counts_{};
    std::map<std::string, std::map<std::uint64_t, Watcher>> watchers_;
    std::uint64_t last_watch_ = 0;

    std::size_t& count_of(const Backend& backend) { return counts_[static_cast<std::size_t>(backend.progress.state)]; }
    void file(const Backend& backend);
    void mark_superseded(const Backend& added);
};

}  // namespace holdfast::core
