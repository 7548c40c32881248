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

namespace holdfast {

/// When something is due for each of many names; at most one instant per name.
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

    /// Takes out what is due, the earliest first, at most so many.
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

/// What can be asked about one session, and what comes of it.
enum class Ask { acquire, renew, release, read };
struct LeaseRequest {
    Ask ask = Ask::read;
    std::string session{};
    HolderInstant sent_at{};  ///< or shortly before: time is counted from here (T3)
};
struct LeaseAnswer {
    enum class Kind { yes, no, owner, unanswered };
    Kind kind = Kind::unanswered;
    std::string owner{};  ///< to a read: who has it; empty: nobody
};

/// What one instance believes about the sessions it looks after, and what it asks about them when (O1–O3). No I/O, no
/// clock, no thread: time comes with each call, requests go out by take_due() and their answers come in by answer().
///
/// It takes a free session at once if it is the session's preferred owner; else only if the preferred owner left it
/// free for as long as a chance lasts. It hands a session that another is preferred for over: no new poll begins, and
/// once the polls in hand have ended it is released. Whatever else happens, ownership ends at its local deadline.
class SessionLeases {
 public:
    struct Rules {
        std::string instance;
        Duration ttl = 30s;
        Duration renew_every = 10s;
        Duration look_every = 10s;  ///< at a session that another has and is preferred for
        Duration try_every = 1s;    ///< for a session that this instance is preferred for and another has
        Duration chance = 10s;      ///< of the preferred owner
        RendezvousHash hash = RendezvousHash::xxh64;
    };
    struct Change {
        std::string session;
        Ownership from = Ownership::unknown;
        Ownership to = Ownership::unknown;
        HolderInstant end{};     ///< of ownership, if it is owned or uncertain
        bool forgotten = false;  ///< it is not looked after any more
        std::string owner{};     ///< from then on, as far as is known
    };
    struct Session {
        Ownership state = Ownership::unknown;
        std::string owner{};       ///< by the last answer
        std::string preferred{};   ///< empty: nobody is known to live
        HolderInstant end{};       ///< the local deadline, if it is owned or uncertain
        HolderInstant acquired{};  ///< when the request that took it was sent, likewise
        HolderInstant renewed{};   ///< and the last one that kept it
        int polls = 0;
        bool handing = false;        ///< to its preferred owner, when the polls in hand have ended
        std::uint64_t verdicts = 0;  ///< how often it became clear whether it is ours, or that nobody answers
        bool unanswered = false;     ///< the last of them was that nobody answers

        bool held() const { return state == Ownership::owned || state == Ownership::uncertain; }
    };

    /// Renewals go out together, at whole multiples of their interval from `origin`.
    SessionLeases(Rules rules, HolderInstant origin) : rules_(std::move(rules)), origin_(origin) {}

    /// Looks after a session from now on.
    void want(const std::string& session, HolderInstant now);
    /// Tries for it once, and remembers for a while what was seen.
    void ask_for(const std::string& session, HolderInstant now);
    /// Gives it up, once the polls in hand have ended.
    void let_go(const std::string& session, HolderInstant now);
    /// Lets go of everything, and takes nothing any more.
    void retire(HolderInstant now);

    /// False if it is not owned, or is being handed over.
    bool begin_poll(const std::string& session, HolderInstant now);
    void end_poll(const std::string& session, HolderInstant now);

    /// Who lives, this instance included. Before this was said once, nothing is taken.
    void set_live(std::set<std::string> live, HolderInstant now);
    const std::set<std::string>& live() const { return live_; }
    /// The store may have forgotten what it granted: until then only who owned a session before may take it.
    void take_nothing_until(HolderInstant instant) { closed_until_ = instant; }

    /// What is to be sent now, at most so much. What it is not any more by the time it is sent, as a session that is
    /// being released, has changed already: apply the changes first, then send.
    std::vector<LeaseRequest> take_due(HolderInstant now, std::size_t most);
    void answer(const LeaseRequest& request, const LeaseAnswer& answer, HolderInstant now);
    /// Ends what is past its deadline.
    void end_overdue(HolderInstant now);
    /// When something will be due, if nothing happens before.
    HolderInstant next() const { return std::min(steps_.next(), ends_.next()); }
    HolderInstant next_end() const { return ends_.next(); }

    std::vector<Change> take_changes() { return std::exchange(changes_, {}); }

    /// True if it is owned, wanted or being asked for.
    bool is_tried_for(const std::string& session) const;

    /// Nothing if it is not looked after.
    const Session* find(const std::string& session) const;
    std::vector<std::string> owned() const;
    std::vector<std::string> sessions() const;
    std::size_t size() const { return sessions_.size(); }
    /// True if all that is left waits for polls to end.
    bool only_polls_left() const;

 private:
    enum class Step { attempt, read, retake, renew, release };
    struct Entry : Session {
        Step step = Step::attempt;
        bool wanted = false;
        bool asked = false;
        bool gone = false;  ///< let go of
        bool in_flight = false;
        std::optional<HolderInstant> free_since{};  ///< seen free, and never taken since, as far as is known
        HolderInstant barred_until{};               ///< a release may still be on its way
        HolderInstant acquire_again{};              ///< after one that was refused; and so with a renewal
        HolderInstant renew_again{};
        std::string handed_to{};
        std::string declined_by{};  ///< preferred, but did not take it: perhaps it does not look after this session
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

}  // namespace holdfast
