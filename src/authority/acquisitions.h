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

#include "authority/agents.h"
#include "authority/answers.h"
#include "authority/events.h"
#include "authority/idempotency.h"
#include "authority/requests.h"
#include "authority/token_source.h"
#include "base/callback.h"
#include "base/random.h"
#include "store/store.h"

namespace holdfast::core {

/// Requests for leases, from the asking to the answer: all or nothing over several records (G1), and the waiting in
/// between (G6).
///
/// A request first looks at all its records, so that a refusal names everyone in the way. If the way is free it takes
/// the first by name, then the others; should one have been taken in between, it gives all back. A request that
/// waits has an entry in the queue of each of its records and tries again when the store says that its turn may have
/// come. An agent that must not wait, or must not go on waiting, is told to die (G5).
class Acquisitions {
 public:
    /// On what terms a request may be granted now, by what can be said without looking at a record (S1, R7, G4).
    struct Terms {
        Duration ttl{};
        std::optional<TtlCut> ttl_cut;
        Duration wait{};
        Duration hold_max{}, ttl_min{};
        std::size_t max_leases = 0;  ///< per holder (R6); zero: any number
        bool full = false;           ///< no memory for requests that are not in the queues yet
    };
    using Admit = std::function<std::variant<Terms, Refused>(const AcquireRequest&)>;

    struct Parts {
        TokenSource& tokens;
        Events& events;
        Agents& agents;
        Admit admit;
        std::function<Priority()> arrival;  ///< what a plain request is as old as: now, as a timestamp
        std::uint64_t first_request = 1;
        std::uint64_t seed = 0;  ///< of the names of sessions that belong to one request
        double rho = 0;          ///< how far the rate of a clock may be wrong
    };
    explicit Acquisitions(Parts parts);
    ~Acquisitions();

    void use(Store& store) { store_ = &store; }

    /// Returns the ticket for cancel(), or 0 if it was answered at once.
    std::uint64_t start(AcquireRequest asked, Callback<AcquireAnswer> reply, Instant now);
    void cancel(std::uint64_t ticket, Instant now);
    /// Answers everyone who waits.
    void stop(Instant now);

    /// Ends the waits that are over.
    void advance(Instant now);
    Instant next_deadline() const;
    std::size_t waiting() const { return deadlines_.size(); }
    std::size_t waiter_bytes() const;
    std::uint64_t refused_for_memory() const { return refused_for_memory_; }

    /// A number for a claim that is made past this queue, later than all before it.
    std::uint64_t next_number() { return next_id_++; }
    void number_from(std::uint64_t first) { next_id_ = first; }

    /// True if the holder has a request that waits. And what its requests wait for, and whom.
    bool waits(std::string_view holder) const { return by_holder_.contains(holder); }
    void survey(std::string_view holder, Callback<Answer<std::vector<WaitingRequest>>> reply);

    /// Those agents' requests that a claim came before: some may have to die now (G5).
    void judge_again(const std::vector<std::uint64_t>& requests);
    /// Lets the holder's requests that wait try again: something about the holder has changed.
    void nudge(std::string_view holder);
    /// Takes note of waiters whose turn may have come; serve() lets them try, up to a number: if there are more,
    /// next_deadline() is now.
    void note_due(const std::vector<std::uint64_t>& waiters);
    void serve(Instant now);

 private:
    struct Request;
    struct Attempt;
    using RequestPtr = std::shared_ptr<Request>;

    struct Retelling;
    struct Survey;
    void tell_again(const std::shared_ptr<Retelling>& retelling, std::size_t i);
    void count(const RequestPtr& request);
    void begin(const RequestPtr& request);
    /// A place in a queue that nobody stands in any more.
    struct Stranded {
        std::string resource;
        std::uint64_t request;
        Instant until;  ///< then it ends by itself
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
    void taken(const RequestPtr& request, std::size_t step, Result<AcquireVerdict> verdict);
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
    Store* store_ = nullptr;
    Idempotency idempotency_;
    Instant now_;
    std::uint64_t next_id_;
    Random random_;
    std::map<std::uint64_t, RequestPtr> requests_;    // not answered yet
    std::set<Request*, ByDeadline> deadlines_;        // of those that wait
    std::set<Request*, ByHolder> by_holder_;          // likewise
    std::vector<std::unique_ptr<Attempt>> attempts_;  // for the next ones, with the memory they hold
    std::deque<std::uint64_t> due_;
    std::set<std::string, std::less<>> nudged_;  // holders whose requests are due after those
    std::multimap<Instant, Stranded> stranded_;  // the store could not be told so; by when it is told again
    bool serving_ = false;
    std::size_t kept_bytes_ = 0;  // of those that wait, packed
    std::uint64_t refused_for_memory_ = 0;
};

}  // namespace holdfast::core
