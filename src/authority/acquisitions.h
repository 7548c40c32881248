#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "authority/admission.h"
#include "authority/agents.h"
#include "authority/answers.h"
#include "authority/events.h"
#include "authority/idempotency.h"
#include "authority/requests.h"
#include "authority/single_record.h"
#include "base/callback.h"
#include "base/random.h"
#include "store/store.h"

namespace holdfast::authority {

/// Processes acquire requests from arrival to answer: all or nothing over several records (G1), with waiting (G6).
///
/// A request for several records first reads them all, so that a refusal lists all conflicts. If none conflicts, it
/// takes the first by name, then the others. If one was taken in between, it rolls back all grants. A waiting request
/// has an entry in the queue of each of its records and retries when the store reports that it may be due. An agent
/// that must not wait, or must not continue to wait, is answered with `die` (G5).
class Acquisitions {
 public:
    struct Parts {
        SingleRecord& single_record;  ///< used from the first request on
        Events& events;
        Agents& agents;
        Admission& admission;
        std::function<lease::Priority()> arrival;  ///< the priority of a plain request: the current time as a timestamp
        std::uint64_t first_request = 1;
        std::uint64_t seed = 0;  ///< for the names of sessions that belong to one request
        double rho = 0;          ///< the largest error of a clock's rate
    };
    explicit Acquisitions(Parts parts);
    ~Acquisitions();

    void use(store::Store& store) { store_ = &store; }

    /// Returns the ticket for cancel(), or 0 if it was answered already.
    std::uint64_t start(AcquireRequest asked, Callback<AcquireAnswer> reply, Instant now);
    void cancel(std::uint64_t ticket, Instant now);
    /// Answers every request with `stopping`.
    void stop(Instant now);

    /// Ends the waits whose deadline has passed.
    void advance(Instant now);
    Instant next_deadline() const;
    std::size_t waiting() const { return deadlines_.size(); }
    std::size_t waiter_bytes() const;

    /// A number for a claim that bypasses this class, higher than all before it.
    std::uint64_t next_number() { return next_id_++; }
    void number_from(std::uint64_t first) { next_id_ = first; }

    /// True if the holder has a waiting request. survey() reports what its requests wait for, and their conflicts.
    bool waits(std::string_view holder) const { return by_holder_.contains(holder); }
    void survey(std::string_view holder, Callback<Answer<std::vector<WaitingRequest>>> reply);

    /// Judges requests of agents again after a claim was placed ahead of them: some may have to die (G5).
    void judge_again(const std::vector<std::uint64_t>& requests);
    /// Makes the holder's waiting requests retry after a change to the holder.
    void nudge(std::string_view holder);
    /// Records waiters that may be due. serve() lets a limited number of them retry; if more remain, next_deadline() is
    /// now.
    void note_due(const std::vector<std::uint64_t>& waiters);
    void serve(Instant now);

 private:
    struct Request;
    struct Attempt;
    using RequestPtr = std::shared_ptr<Request>;

    struct Retelling;
    struct Survey;
    void tell_again(const std::shared_ptr<Retelling>& retelling, std::size_t i);
    std::optional<Refused> admit(const Request& request);
    void count(const RequestPtr& request);
    void begin(const RequestPtr& request);
    /// A queue entry whose request is gone.
    struct Stranded {
        std::string resource;
        std::uint64_t request;
        Instant until;  ///< when the entry expires by itself
    };
    struct Steps {
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    template <class Ask>
    void at_steps(const RequestPtr& request, Steps steps, const Ask& ask, Callback<> then);
    void arrived(const RequestPtr& request);
    void look(const RequestPtr& request);
    void look_at(const RequestPtr& request, std::size_t step);
    void looked(const RequestPtr& request);
    void take(const RequestPtr& request);
    void take_steps(const RequestPtr& request, Steps steps);
    void take_at(const RequestPtr& request, std::size_t step);
    static void taken(const RequestPtr& request, std::size_t step, SingleRecordAnswer& answer);
    void give_back(const RequestPtr& request);
    void queue(const RequestPtr& request);
    void leave(const RequestPtr& request, AcquireAnswer answer);
    void take_out(Stranded place, Callback<> then);
    void take_out_stranded();
    void grant(const RequestPtr& request);
    void busy(const RequestPtr& request);
    void judged(const RequestPtr& request, bool holds_something);
    void wait(const RequestPtr& request);
    void fail(const RequestPtr& request, Refused refused);
    void answer(const RequestPtr& request, AcquireAnswer answer);
    void try_again(const RequestPtr& request);
    void note_nudged();
    RequestPtr find(std::uint64_t id) const;
    std::string session_of(const Request& request);

    std::unique_ptr<Attempt> make_attempt();
    void resume(Request& request);
    void rest(Request& request);

    struct ByDeadline {
        bool operator()(const Request* a, const Request* b) const;
    };
    struct ByHolder {
        using is_transparent = void;
        bool operator()(const Request* a, const Request* b) const;
        bool operator()(const Request* a, std::string_view holder) const;
        bool operator()(std::string_view holder, const Request* b) const;
    };

    Parts parts_;
    store::Store* store_ = nullptr;
    Idempotency idempotency_;
    Instant now_;
    std::uint64_t next_id_;
    Random random_;
    std::map<std::uint64_t, RequestPtr> requests_;    // not answered yet
    std::set<Request*, ByDeadline> deadlines_;        // the waiting requests
    std::set<Request*, ByHolder> by_holder_;          // likewise
    std::vector<std::unique_ptr<Attempt>> attempts_;  // free list: reused with their memory
    std::deque<std::uint64_t> due_;
    std::set<std::string, std::less<>> nudged_;  // holders whose requests are due after those in due_
    std::multimap<Instant, Stranded> stranded_;  // could not be removed from the store; by time of the next try
    bool serving_ = false;
    std::size_t kept_bytes_ = 0;  // the packed waiting requests
};

}  // namespace holdfast::authority
