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
    unknown,    ///< no known owner
    owned,      ///< this instance owns it
    other,      ///< another instance owns it
    uncertain,  ///< a renewal failed; this instance still owns it until the local deadline, and retries
};
HOLDFAST_API const char* to_string(Ownership ownership);

/// The defaults are those of O1. All instances that share a Redis must use the same values.
struct OwnershipTimings {
    std::chrono::milliseconds lease_ttl{30'000};
    std::chrono::milliseconds renew_every{10'000};
    std::chrono::milliseconds node_ttl{30'000};
    std::chrono::milliseconds heartbeat_every{10'000};
    std::chrono::milliseconds refresh_every{10'000};  ///< interval of reading the list of live instances
    /// Interval of attempts to acquire a session that this instance is preferred for and another still owns.
    std::chrono::milliseconds try_every{1'000};
    /// How long other instances leave a free session to its preferred owner. Zero: refresh_every.
    std::chrono::milliseconds chance{0};
    std::chrono::milliseconds timeout{3'000};  ///< for one round trip
    /// For this long after the start of a Redis no new session is acquired, since Redis may have lost its grants. None:
    /// lease_ttl. There is no such wait for Holdfast, which recovers by itself (S1).
    std::optional<std::chrono::milliseconds> restart_wait{};
};

/// A change of one session's state.
struct OwnershipChange {
    std::string session{};
    Ownership from = Ownership::unknown;
    Ownership to = Ownership::unknown;
    std::string owner{};                         ///< the new owner; empty: none, or not known
    std::chrono::system_clock::time_point at{};  ///< when it was noticed, for display only
};

/// The hash that ranks instances to find the preferred owner of a session (O3). All instances that share a Redis must
/// use the same one: otherwise they take sessions from each other again and again.
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
    /// The limit on managed sessions.
    std::size_t sessions_max = 100'000;
    /// Empty: a generated id. A given id must have the form of O1 and must never have been used before.
    std::string instance_id{};
    /// Called when a session changes its state. On the manager's threads: it must be quick, must not throw, and must
    /// not destroy the manager.
    std::function<void(const OwnershipChange&)> on_change{};
    /// Called with the failure when the store becomes unusable, and with nothing when it is usable again. The rules of
    /// on_change apply.
    std::function<void(const std::optional<Failure>&)> on_connection{};
};

/// The manager's view of one session.
struct SessionInfo {
    std::string session{};
    Ownership state = Ownership::unknown;
    std::string owner{};                    ///< from the store's last answer; empty: none, or not known
    std::string preferred{};                ///< among the live instances; empty: no live instance is known yet
    std::chrono::nanoseconds remaining{0};  ///< until is_owned() turns false
    int polls = 0;                          ///< in progress
    bool handing_over = false;              ///< to its preferred owner, once the polls in progress have ended
    /// When this instance acquired the session and last renewed it, by the wall clock and for display only; nothing if
    /// it does not own the session.
    std::optional<std::chrono::system_clock::time_point> acquired_at{};
    std::optional<std::chrono::system_clock::time_point> renewed_at{};
};

/// The result of try_acquire().
struct [[nodiscard]] Taken {
    bool owned = false;
    std::optional<Failure> why{};  ///< busy, refused or unreachable, if it is not owned

    explicit operator bool() const { return owned; }
};

/// A poll in progress: while this object lives, its session is not handed over, even if another instance is preferred.
/// It does not keep the lease from ending: check held() between the pieces of the work. Move-only.
class [[nodiscard]] HOLDFAST_API Poll {
 public:
    Poll() noexcept;  ///< no poll
    ~Poll();
    Poll(Poll&&) noexcept;
    Poll& operator=(Poll&&) noexcept;

    /// True if the poll was allowed to begin.
    explicit operator bool() const noexcept { return state_ != nullptr; }
    /// True while the poll may continue. Once the session was lost it stays false, even if the session is acquired
    /// again. As is_owned(), without the lookup.
    [[nodiscard]] bool held() const noexcept;
    /// The time until held() turns false.
    std::chrono::nanoseconds remaining() const noexcept;

    struct HOLDFAST_INTERNAL State;
    explicit Poll(std::unique_ptr<State> state) noexcept;

 private:
    std::unique_ptr<State> state_;
};

/// One of several instances that share sessions, so that each is polled by one instance at a time (O1–O3). They
/// coordinate through a Redis or Holdfast's RESP door, with the same keys, values and scripts as other programs of this
/// kind.
///
/// Each session has a preferred owner among the live instances. An instance acquires the sessions that it is preferred
/// for, and those that their preferred owner left free; it hands over the sessions that another is preferred for. It
/// renews the sessions it owns. Ownership ends by itself at a local deadline, before another may acquire the session,
/// even if this process was stopped, suspended or cut off (T3).
///
/// All functions may be called from any thread.
class HOLDFAST_API LeaseManager {
 public:
    explicit LeaseManager(LeaseManagerOptions options = {});
    /// As stop(), without waiting for polls.
    ~LeaseManager();
    LeaseManager(const LeaseManager&) = delete;
    LeaseManager& operator=(const LeaseManager&) = delete;

    /// Starts the background threads; retries while the store is unreachable. Returns nothing on success, otherwise the
    /// failure: an invalid address, instance id or timing (refused), or no thread or fd left. May be called once.
    [[nodiscard]] std::optional<Failure> start();

    /// Stops acquiring sessions and beginning polls. Sessions without a poll in progress are handed over at once, the
    /// others when their polls end. Does not block.
    void retire();
    /// Calls retire(), waits at most `patience` for polls in progress, and ends the threads. True if every session was
    /// handed over and the store confirmed it; any other session ends by itself within its TTL.
    bool stop(std::chrono::milliseconds patience = std::chrono::seconds{5});

    /// Manages these sessions from now on: acquires each one when it is due, with no further call. Returns nothing on
    /// success. On failure (an invalid id, or too many sessions) none of them is added.
    [[nodiscard]] std::optional<Failure> add(const std::vector<std::string>& sessions);
    /// Tries to acquire a session now, and waits for the answer. The result is also "not owned" for a free session that
    /// another instance is preferred for and has not yet had its chance to acquire. Once owned, the session is renewed
    /// until release(). `stop` cancels the wait: the failure is `cancelled`, and a session that was not managed before
    /// is released.
    Taken try_acquire(const std::string& session, const std::stop_token& stop = {});
    /// Gives up a session that was added or acquired, once the polls in progress have ended. Does not block.
    void release(const std::string& session);

    /// True while this instance owns the session. A local check: no lock, no system call; a hash of the id, one table
    /// probe, one reading of the clock, 50 to 100 ns. Turns false by itself at the local deadline.
    [[nodiscard]] bool is_owned(std::string_view session) const noexcept;

    /// Begins a poll, if the session is owned and not being handed over. A program polls only while it has a Poll.
    Poll begin_poll(const std::string& session);

    const std::string& instance_id() const&;
    std::string instance_id() const&&;
    std::vector<std::string> owned_sessions() const;
    /// The list as last read; at most refresh_every old while the store answers.
    std::vector<std::string> live_nodes() const;
    /// By rendezvous hashing over the live instances; empty if no live instance is known yet.
    std::string preferred_owner(const std::string& session) const;
    SessionInfo info(const std::string& session) const;
    /// All managed sessions, in order of their ids.
    std::vector<SessionInfo> sessions() const;

    struct HOLDFAST_INTERNAL Core;

 private:
    std::shared_ptr<Core> core_;
};

}  // namespace holdfast
