#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "keys/drone/orders.h"
#include "supervise/work_deadlines.h"

namespace holdfast::drone {

/// States only move forward (K5).
enum class BackendState { loading, starting, waiting, ready, terminating, hard_terminating, terminated };
std::string_view to_string(BackendState state);

enum class EndReason { exited, terminated, key_lost, start_timed_out, idle, lifetime, internal };
std::string_view to_string(EndReason reason);

/// How a backend's processes ended.
struct Ending {
    std::optional<int> exit_code{};  ///< 128+n for a signal; nothing if nobody could see it
    bool forced = false;             ///< its guardian told it to stop
};

/// One backend as its drone sees it: what is to be done for it, and when, until all of it is dead. No I/O; time is an
/// argument. Stopping is never taken back: a renewal that comes later changes nothing (K4).
class Backend {
 public:
    /// What a backend whose key went to nobody knows whom gets to clean up, if the hard deadline leaves that much.
    static constexpr Duration grace_when_lost = 1s;

    Backend(SpawnOrder order, HolderInstant now);

    /// What is to be done now; each is said once.
    struct Needs {
        bool launch = false;
        std::optional<WorkDeadlines> deadlines{};  ///< to tell its guardian
        std::optional<HolderInstant> stop_by{};    ///< ask it to stop, and kill it at this instant
        bool probe = false;
        bool ended = false;  ///< all of it is dead: report that, which gives the key back
    };
    Needs step(HolderInstant now);
    /// When step() should be asked next, if nothing happens before. Renewals are not counted.
    HolderInstant next_due() const;

    // What happens to it.

    /// It is not to be started at all.
    void refuse(EndReason reason, std::string message);
    void starting(std::uint16_t port);
    /// Its command runs.
    void running(HolderInstant now);
    /// It could not be started, and nothing of it runs.
    void not_started(std::string message);
    /// All of it is dead.
    void ended(const Ending& ending);
    void probed(bool answered, HolderInstant now);
    void connections(bool any, HolderInstant now);
    void terminate(How how, HolderInstant now);

    // What happens to its key.

    /// When it is to be renewed next; never while a renewal is under way, or once it is to stop.
    HolderInstant renewal_at() const;
    void renewing() { renewing_ = true; }
    void renewed(const KeyDeadlines& deadlines);
    /// No answer, or none that decides anything: to be tried again, until the soft deadline.
    void not_renewed(HolderInstant now);
    void renew_at_once(HolderInstant now);
    /// It is never renewed again, by this server or the next (R7): it ends on its timeline.
    void barred() { barred_ = true; }
    void lost(HolderInstant now);

    const SpawnOrder& order() const { return order_; }
    BackendState state() const { return state_; }
    /// Since the first step() in this state.
    std::optional<HolderInstant> state_since() const { return state_since_; }
    std::optional<EndReason> reason() const { return reason_; }
    const std::optional<int>& exit_code() const { return exit_code_; }
    const std::string& message() const { return message_; }
    std::uint16_t port() const { return port_; }
    const KeyDeadlines& deadlines() const { return deadlines_; }
    bool is_terminated() const { return state_ == BackendState::terminated; }
    /// The key is this backend's to use, by the drone's own clock.
    bool holds() const { return !gone_ && !lost_; }
    bool may_be_renewed() const { return holds() && !barred_; }
    /// Nothing of it runs, nor will.
    bool gone() const { return gone_; }
    bool stopping() const { return kill_at_.has_value(); }
    bool watched_for_idleness() const { return order_.idle_max && state_ == BackendState::ready; }
    /// How often what there is to report has changed.
    std::uint64_t version() const { return version_; }

 private:
    Needs take_step(HolderInstant now);
    void enter(BackendState state);
    void stop(EndReason reason, HolderInstant kill_at);
    /// Why it must stop now, if it must.
    std::optional<EndReason> over(HolderInstant now) const;
    bool probe_due(HolderInstant now) const;

    SpawnOrder order_;
    BackendState state_ = BackendState::loading;
    std::optional<HolderInstant> state_since_;
    std::optional<EndReason> reason_;
    std::optional<int> exit_code_;
    std::string message_;
    std::uint16_t port_ = 0;
    KeyDeadlines deadlines_;
    HolderInstant renew_at_;
    HolderInstant start_by_;
    std::optional<HolderInstant> lifetime_end_;
    std::optional<HolderInstant> idle_since_;
    std::optional<HolderInstant> kill_at_;  ///< it was told to stop
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

}  // namespace holdfast::drone
