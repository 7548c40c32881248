#pragma once

#include <holdfast/export.h>
#include <holdfast/outcome.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

/// What an instance believes about a session (O2).
enum class Ownership {
    unknown,    ///< nobody is known to have it
    owned,      ///< this instance has it
    other,      ///< another instance has it
    uncertain,  ///< a renewal failed; it is still this instance's until the local deadline, and is being retried
};
HOLDFAST_API const char* to_string(Ownership ownership);

/// The defaults are those of O1. Whoever shares a Redis must agree on them.
struct OwnershipTimings {
    std::chrono::milliseconds lease_ttl{30'000};
    std::chrono::milliseconds renew_every{10'000};
    std::chrono::milliseconds node_ttl{30'000};
    std::chrono::milliseconds heartbeat_every{10'000};
    std::chrono::milliseconds refresh_every{10'000};  ///< the list of live instances
    /// How often to try for a session that this instance is preferred for and another still has.
    std::chrono::milliseconds try_every{1'000};
    /// How long a free session is left to its preferred owner. Zero: as long as refresh_every.
    std::chrono::milliseconds chance{0};
    std::chrono::milliseconds timeout{3'000};  ///< for one round trip
    /// How long after the start of a Redis nothing new is taken, since it may have forgotten what it granted. None:
    /// lease_ttl. Holdfast forgets nothing and is not waited for.
    std::optional<std::chrono::milliseconds> restart_wait{};
};

/// One session went from one state to another.
struct OwnershipChange {
    std::string session{};
    Ownership from = Ownership::unknown;
    Ownership to = Ownership::unknown;
    std::string owner{};                         ///< from then on; empty: nobody, or not known
    std::chrono::system_clock::time_point at{};  ///< when it was noticed, for display only
};

/// What weighs instances to find the preferred owner of a session (O3). Whoever shares a Redis must agree on it: two
/// that do not take each session from each other again and again.
enum class PreferenceHash {
    xxh64,  ///< XXH64 of `{instance}/{session}`
    fnv1a,  ///< 64-bit FNV-1a of `{instance}{session}`, as programs in Go do with hash/fnv
};

struct LeaseManagerOptions {
    /// `redis://[:PASSWORD@]HOST:PORT[/DATABASE]`, a Redis or Holdfast's RESP door. Empty: HOLDFAST_REDIS, or
    /// redis://127.0.0.1:7401.
    std::string redis{};
    OwnershipTimings timings{};
    PreferenceHash hash = PreferenceHash::xxh64;
    /// Session ids need not be UUIDs, only 1 to 256 bytes without blanks and control characters.
    bool any_session_id = false;
    /// Sessions looked after at one time, at most.
    std::size_t sessions_max = 100'000;
    /// Empty: a fresh one. One that is given must have the form of O1 and must never have been used before.
    std::string instance_id{};
    /// Called when a session changes its state. On the manager's threads: it must be quick, must not throw, and must
    /// not destroy the manager.
    std::function<void(const OwnershipChange&)> on_change{};
    /// Called with why the store cannot be used, and with nothing when it can again. Likewise.
    std::function<void(const std::optional<Failure>&)> on_connection{};
};

/// What is known of one session.
struct SessionInfo {
    std::string session{};
    Ownership state = Ownership::unknown;
    std::string owner{};                    ///< by the last answer of the store; empty: nobody, or not known
    std::string preferred{};                ///< over the live instances; empty: none is known yet
    std::chrono::nanoseconds remaining{0};  ///< until is_owned() turns false
    int polls = 0;                          ///< in hand
    bool handing_over = false;              ///< to its preferred owner, once the polls in hand have ended
    /// Since when this instance owns it, and when that was last renewed, by the wall clock and for display only;
    /// nothing if it does not own it.
    std::optional<std::chrono::system_clock::time_point> acquired_at{};
    std::optional<std::chrono::system_clock::time_point> renewed_at{};
};

/// What came of trying for a session.
struct [[nodiscard]] Taken {
    bool owned = false;
    std::optional<Failure> why{};  ///< busy, refused or unreachable, if it is not owned

    explicit operator bool() const { return owned; }
};

/// A poll in hand: while it lives, its session is not handed over, however much another is preferred. It does not keep
/// the lease from ending: look at held() between the pieces of the work. Move-only.
class [[nodiscard]] HOLDFAST_API Poll {
 public:
    Poll() noexcept;  ///< none
    ~Poll();
    Poll(Poll&&) noexcept;
    Poll& operator=(Poll&&) noexcept;

    /// True if the poll was allowed to begin.
    explicit operator bool() const noexcept { return state_ != nullptr; }
    /// True while it may go on. False for good once the session was lost, even if it came back. As is_owned(), less the
    /// lookup.
    [[nodiscard]] bool held() const noexcept;
    /// Until held() turns false.
    std::chrono::nanoseconds remaining() const noexcept;

    struct HOLDFAST_INTERNAL State;
    explicit Poll(std::unique_ptr<State> state) noexcept;

 private:
    std::unique_ptr<State> state_;
};

/// One of several instances that share sessions, so that each is polled by one instance at a time (O1–O3). They meet on
/// a Redis, or on Holdfast's RESP door, with the keys, values and scripts that other programs of this kind use there.
///
/// Each session has a preferred owner among the live instances. An instance takes what it is preferred for, and what
/// was left free; it hands over what another is preferred for. It renews what it owns, and ownership ends by itself at
/// a local deadline, before another may take the session, even if this process was stopped, suspended or cut off (T3).
///
/// All functions may be called from any thread.
class HOLDFAST_API LeaseManager {
 public:
    explicit LeaseManager(LeaseManagerOptions options = {});
    /// As stop(), without patience for polls.
    ~LeaseManager();
    LeaseManager(const LeaseManager&) = delete;
    LeaseManager& operator=(const LeaseManager&) = delete;

    /// Begins to work in the background; a store that is away is waited for. Nothing, or why not: an address, an
    /// instance id or timings that make no sense (refused), no thread or descriptor left. Once.
    [[nodiscard]] std::optional<Failure> start();

    /// Stops taking sessions and beginning polls. What has no poll in hand is handed over at once, the rest when its
    /// polls end. Does not wait.
    void retire();
    /// retire(), waits so long for polls in hand, and ends. True if everything was handed over and the store said so;
    /// what was not ends by itself within its TTL.
    bool stop(std::chrono::milliseconds patience = std::chrono::seconds{5});

    /// Looks after these sessions from now on: takes each when it should, with no further call. Nothing, or why not: an
    /// id that is none, or too many; then none of them.
    [[nodiscard]] std::optional<Failure> add(const std::vector<std::string>& sessions);
    /// Tries for a session now, and waits for the answer. Not owned is also a free session that another instance is
    /// preferred for and has had no chance to take. Once owned it is renewed until release(). `stop` breaks the wait
    /// off: `cancelled`, and a session that was not the manager's business before is let go of.
    Taken try_acquire(const std::string& session, const std::stop_token& stop = {});
    /// Gives a session up, whether it was added or acquired; once the polls in hand have ended. Does not wait.
    void release(const std::string& session);

    /// True while this instance owns the session. Looks nothing up elsewhere: no lock, no system call; a hash of the
    /// id, one probe of a table, one reading of the clock, 50 to 100 ns. Turns false on its own at the local deadline.
    [[nodiscard]] bool is_owned(std::string_view session) const noexcept;

    /// Begins a poll, if the session is owned and not being handed over. Poll only under one.
    Poll begin_poll(const std::string& session);

    const std::string& instance_id() const&;
    std::string instance_id() const&&;
    std::vector<std::string> owned_sessions() const;
    /// As read last; at most refresh_every old while the store answers.
    std::vector<std::string> live_nodes() const;
    /// By rendezvous hash over the live instances; empty if none is known yet.
    std::string preferred_owner(const std::string& session) const;
    SessionInfo info(const std::string& session) const;
    /// Of all sessions that are looked after, in order.
    std::vector<SessionInfo> sessions() const;

    struct HOLDFAST_INTERNAL Core;

 private:
    std::shared_ptr<Core> core_;
};

}  // namespace holdfast
