#pragma once

#include <holdfast/lease_manager.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rendezvous.h"
#include "base/time.h"
#include "lease/holder_deadlines.h"

namespace holdfast::client::sessions {

/// A timer queue by name; at most one instant per name.
class Agenda {
 public:
    void put(const std::string& name, HolderInstant at) {
        remove(name);
        at_[name] = at;
        order_.emplace(at, name);
    }

    void remove(const std::string& name) {
        const auto found = at_.find(name);
        if (found == at_.end()) return;
        order_.erase({found->second, name});
        at_.erase(found);
    }

    /// Removes and returns at most `most` names that are due, the earliest first.
    std::vector<std::string> take_due(HolderInstant now, std::size_t most = SIZE_MAX) {
        std::vector<std::string> due;
        while (!order_.empty() && order_.begin()->first <= now && due.size() < most) {
            due.push_back(order_.begin()->second);
            at_.erase(due.back());
            order_.erase(order_.begin());
        }
        return due;
    }

    HolderInstant next() const { return order_.empty() ? HolderInstant::max() : order_.begin()->first; }

 private:
    std::map<std::string, HolderInstant> at_;
    std::set<std::pair<HolderInstant, std::string>> order_;
};

/// A request about one session, and its answer.
enum class Ask { acquire, renew, release, read };
struct LeaseRequest {
    Ask ask = Ask::read;
    std::string session{};
    HolderInstant sent_at{};  ///< when it was sent, or shortly before: time is counted from here (T3)
};
struct LeaseAnswer {
    enum class Kind { yes, no, owner, unanswered };
    Kind kind = Kind::unanswered;
    std::string owner{};  ///< answer to a read; empty: no owner
};

/// One instance's view of the sessions it manages, and the schedule of its requests about them (O1–O3). No I/O, no
/// clock, no thread: time is an argument of each call, take_due() returns the requests to send, and answer() takes
/// their answers.
///
/// It acquires a free session at once if it is the session's preferred owner; otherwise only after the preferred owner
/// left the session free for the time `chance`. It hands over a session that another instance is preferred for: no new
/// poll begins, and once the polls in progress have ended the session is released. In any case ownership ends at its
/// local deadline.
class SessionLeases {
 public:
    struct Rules {
        std::string instance;
        Duration ttl = 30s;
        Duration renew_every = 10s;
        Duration look_every = 10s;  ///< reads of a session that another owns and is preferred for
        Duration try_every = 1s;    ///< attempts at a session that this instance is preferred for and another owns
        Duration chance = 10s;      ///< how long a free session is left to its preferred owner
        RendezvousHash hash = RendezvousHash::xxh64;
    };
    struct Change {
        std::string session;
        Ownership from = Ownership::unknown;
        Ownership to = Ownership::unknown;
        HolderInstant end{};     ///< of ownership, if it is owned or uncertain
        bool forgotten = false;  ///< the session is not managed any more
        std::string owner{};     ///< the new owner, if known
    };
    struct Session {
        Ownership state = Ownership::unknown;
        std::string owner{};                 ///< from the last answer
        std::string preferred{};             ///< empty: no live instance is known
        lease::HolderDeadlines deadlines{};  ///< if it is owned or uncertain
        HolderInstant acquired{};            ///< when its acquire was sent, if it is owned or uncertain
        HolderInstant renewed{};             ///< when its last successful renewal was sent, likewise
        int polls = 0;
        bool handing = false;        ///< to its preferred owner, once the polls in progress have ended
        std::uint64_t verdicts = 0;  ///< number of results so far: owned or not, or no answer
        bool unanswered = false;     ///< the last result was no answer

        bool held() const { return state == Ownership::owned || state == Ownership::uncertain; }
    };

    /// Renewals are sent together, at whole multiples of their interval from `origin`.
    SessionLeases(Rules rules, HolderInstant origin) : rules_(std::move(rules)), origin_(origin) {}

    /// Manages a session from now on.
    void want(const std::string& session, HolderInstant now);
    /// Tries to acquire the session once, and remembers its state for a while.
    void ask_for(const std::string& session, HolderInstant now);
    /// Gives the session up, once the polls in progress have ended.
    void let_go(const std::string& session, HolderInstant now);
    /// Gives up all sessions, and acquires none from now on.
    void retire(HolderInstant now);

    /// Returns false if the session is not owned, or is being handed over.
    bool begin_poll(const std::string& session, HolderInstant now);
    void end_poll(const std::string& session, HolderInstant now);

    /// Sets the live instances, including this one. Nothing is acquired before the first call.
    void set_live(std::set<std::string> live, HolderInstant now);
    const std::set<std::string>& live() const { return live_; }
    /// The store may have lost its grants: until this instant only the previous owner of a session may acquire it.
    void take_nothing_until(HolderInstant instant) { closed_until_ = instant; }

    /// The requests to send now, at most `most`. A session that is about to be released is already recorded as a
    /// change: the caller must apply the changes before it sends the requests.
    std::vector<LeaseRequest> take_due(HolderInstant now, std::size_t most);
    void answer(const LeaseRequest& request, const LeaseAnswer& answer, HolderInstant now);
    /// Ends ownership of the sessions whose deadline has passed.
    void end_overdue(HolderInstant now);
    /// The next instant at which something is due, unless another call changes it.
    HolderInstant next() const { return std::min(steps_.next(), ends_.next()); }
    HolderInstant next_end() const { return ends_.next(); }

    std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

    /// True if the session is owned, wanted or being requested.
    bool is_tried_for(const std::string& session) const;

    /// Null if the session is not managed.
    const Session* find(const std::string& session) const;
    std::vector<std::string> owned() const;
    std::vector<std::string> sessions() const;
    std::size_t size() const { return sessions_.size(); }
    /// True if all remaining sessions wait for polls to end.
    bool only_polls_left() const;

 private:
    enum class Step { attempt, read, retake, renew, release };
    struct Entry : Session {
        Step step = Step::attempt;
        bool wanted = false;
        bool asked = false;
        bool gone = false;  ///< given up
        bool in_flight = false;
        std::optional<HolderInstant> free_since{};  ///< seen free, and not known to be acquired since
        HolderInstant barred_until{};               ///< a release may still be in flight
        HolderInstant acquire_again{};              ///< not before this, after a refused acquire; likewise renew_again
        HolderInstant renew_again{};
        std::string handed_to{};
        std::string declined_by{};  ///< preferred, but did not acquire it: perhaps it does not manage this session
        HolderInstant declined_until{};

        bool leaving() const { return handing || gone; }
    };

    Entry& entry(const std::string& session);
    void plan(const std::string& session, Entry& entry, Step step, HolderInstant at);
    void look_again(const std::string& session, Entry& entry, HolderInstant now);
    void read_after_failure(const std::string& session, Entry& entry, HolderInstant now);
    void forget(const std::string& session);
    void set_state(const std::string& session, Entry& entry, Ownership to);
    void drop(const std::string& session, Entry& entry, Ownership to, const std::string& owner = {});
    void own(const LeaseRequest& request, Entry& entry, HolderInstant now);
    void hand_over_if_due(const std::string& session, Entry& entry, HolderInstant now);
    bool may_take(const Entry& entry, HolderInstant now) const;
    bool is_preferred(const Entry& entry) const { return entry.preferred == rules_.instance; }
    std::optional<Ask> choose(const std::string& session, Entry& entry, HolderInstant now);
    HolderInstant next_renewal(HolderInstant now) const;

    void acquire_answered(const LeaseRequest& request, Entry& entry, LeaseAnswer::Kind kind, HolderInstant now);
    void renew_answered(const LeaseRequest& request, Entry& entry, LeaseAnswer::Kind kind, HolderInstant now);
    void release_answered(const LeaseRequest& request, Entry& entry, LeaseAnswer::Kind kind, HolderInstant now);
    void read_answered(const LeaseRequest& request, Entry& entry, const LeaseAnswer& answer, HolderInstant now);
    void found_free(const std::string& session, Entry& entry, HolderInstant now);
    void found_ours(const std::string& session, Entry& entry, HolderInstant now);
    void found_others(const LeaseRequest& request, Entry& entry, const std::string& owner, HolderInstant now);

    const Rules rules_;
    const HolderInstant origin_;
    HolderInstant closed_until_{};
    bool retired_ = false;
    std::set<std::string> live_;
    std::map<std::string, Entry> sessions_;
    Agenda steps_;
    Agenda ends_;
    std::vector<Change> changes_;
};

}  // namespace holdfast::client::sessions
