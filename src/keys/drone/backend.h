#pragma once

#include <optional>
#include <string>

#include "keys/protocol.h"
#include "lease/holder_deadlines.h"
#include "supervise/guardian_rules.h"

namespace holdfast::keys::drone {

/// How a backend's processes ended.
struct Ending {
    std::optional<int> exit_code{};  ///< 128+n for a signal; none if it could not be observed
    bool forced = false;             ///< its guardian forced it to stop
};

/// The state machine of one backend on its drone: which actions are due, and when, until all its processes are dead. No
/// I/O; time is an argument. A stop is final: a later renewal does not revoke it (K4).
class Backend {
 public:
    /// The time to clean up for a backend whose key is lost and may have another holder. The hard deadline may shorten
    /// it.
    static constexpr Duration grace_when_lost = 1s;

    Backend(SpawnOrder order, HolderInstant now);

    /// The actions that are due now; each is returned once.
    struct Needs {
        bool launch = false;
        std::optional<supervise::WorkDeadlines> deadlines{};  ///< new deadlines for its guardian
        std::optional<HolderInstant> stop_by{};               ///< terminate it now, and kill it at this instant
        bool probe = false;
        bool ended = false;  ///< all its processes are dead: report that, which releases the key
    };
    Needs step(HolderInstant now);
    /// When to call step() next if no event comes before. Does not include renewals.
    HolderInstant next_due() const;

    // Events of its processes.

    /// It will not be started.
    void refuse(EndReason reason, std::string message);
    void starting(std::uint16_t port);
    /// Its command is running.
    void running(HolderInstant now);
    /// It could not be started; no process of it is running.
    void not_started(std::string message);
    /// All its processes are dead.
    void ended(const Ending& ending);
    void probed(bool answered, HolderInstant now);
    void connections(bool any, HolderInstant now);
    void terminate(Severity how, HolderInstant now);

    // Events of its key.

    /// When to renew the key next; max() while a renewal is under way or once the backend is to stop.
    HolderInstant renewal_at() const;
    void renewing() { renewing_ = true; }
    void renewed(const lease::HolderDeadlines& deadlines, HolderInstant now);
    /// No reply, or an inconclusive one: the renewal is retried until the soft deadline.
    void not_renewed(HolderInstant now);
    void renew_at_once(HolderInstant now);
    /// No server will renew the key again (R7): the backend ends on its timeline.
    void barred() { barred_ = true; }
    void lost(HolderInstant now);

    const SpawnOrder& order() const { return order_; }
    BackendState state() const { return state_; }
    /// The time of the first step() in this state.
    std::optional<HolderInstant> state_since() const { return state_since_; }
    std::optional<EndReason> reason() const { return reason_; }
    const std::optional<int>& exit_code() const { return exit_code_; }
    const std::string& message() const { return message_; }
    std::uint16_t port() const { return port_; }
    const lease::HolderDeadlines& deadlines() const { return deadlines_; }
    bool is_terminated() const { return state_ == BackendState::terminated; }
    /// The backend holds its key, as far as the drone knows.
    bool holds() const { return !gone_ && !lost_; }
    bool may_be_renewed() const { return holds() && !barred_; }
    /// No process of it is running or will be started.
    bool gone() const { return gone_; }
    bool stopping() const { return kill_at_.has_value(); }
    bool watched_for_idleness() const { return order_.spawn.max_idle && state_ == BackendState::ready; }
    /// Counts the changes of the reported state.
    std::uint64_t version() const { return version_; }

 private:
    Needs take_step(HolderInstant now);
    void enter(BackendState state);
    void stop(EndReason reason, HolderInstant kill_at);
    /// The reason to stop now; nullopt if it may go on.
    std::optional<EndReason> over(HolderInstant now) const;
    bool probe_due(HolderInstant now) const;

    SpawnOrder order_;
    BackendState state_ = BackendState::loading;
    std::optional<HolderInstant> state_since_;
    std::optional<EndReason> reason_;
    std::optional<int> exit_code_;
    std::string message_;
    std::uint16_t port_ = 0;
    lease::HolderDeadlines deadlines_;
    HolderInstant start_by_;
    std::optional<HolderInstant> lifetime_end_;
    std::optional<HolderInstant> idle_since_;
    std::optional<HolderInstant> kill_at_;  ///< set once it is to stop
    HolderInstant probe_at_{};
    Duration probe_pause_;
    bool launched_ = false;
    bool renewing_ = false;
    bool probing_ = false;
    bool lost_ = false;
    bool barred_ = false;
    bool gone_ = false;
    bool deadlines_moved_ = false;
    bool stop_untold_ = false;
    std::uint64_t version_ = 1;
};

}  // namespace holdfast::keys::drone
