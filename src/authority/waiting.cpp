#include <algorithm>

#include "authority/acquisition.h"
#include "authority/store_call.h"

namespace holdfast::authority {
namespace {

/// The number of waiters that retry or time out per turn, before other work runs: one release may make all of them due.
constexpr std::size_t waiters_per_turn = lease::limits::waiters_per_record;

}  // namespace

/// Blocked: queue the request, answer the agent with `die`, or report the conflicts.
void Acquisitions::busy(const RequestPtr& request) {
    request->trying = false;
    if (request->ending) {
        AcquireAnswer ending = std::move(*request->ending);
        if (auto* refused = std::get_if<AcquireBusy>(&ending))
            ending = busy_answer(refused->code, std::move(request->attempt->standing));
        return leave(request, std::move(ending));
    }
    if (request->again) return try_again(request);
    const lease::ConflictReport& standing = request->attempt->standing;
    if (standing.too_many) return leave(request, Refused{Code::too_many_leases, {}, {}});
    if (!request->agent || !(standing.older_holder || standing.older_waiter)) return wait(request);
    request->trying = true;
    store_->leases_of(request->attempt->asked.holder, store::Store::Which::active, 1,
                      [this, request](const Result<std::vector<lease::LeaseName>>& held) {
                          if (!held) return fail(request, storage_failure(held.error()));
                          request->trying = false;
                          if (request->ending || request->again) return busy(request);
                          judged(request, !held->empty());
                      });
}

void Acquisitions::judged(const RequestPtr& request, bool holds_something) {
    if (lease::judge(request->attempt->standing, request->claim(0), holds_something) == lease::Turn::wait)
        return wait(request);
    AcquireBusy death = busy_answer(Code::die, std::move(request->attempt->standing));
    death.retry_in = parts_.agents.told_to_die(request->attempt->asked.holder);
    leave(request, std::move(death));
}

void Acquisitions::wait(const RequestPtr& request) {
    if (request->wait_until) {
        // The conflicts found may take a hundred times the memory of the request. The next attempt finds them again.
        return rest(*request);
    }
    const Duration wait = request->wait();
    if (wait <= Duration::zero())
        return answer(request, busy_answer(Code::busy, std::move(request->attempt->standing)));
    if (waiting() >= lease::limits::waiters) return answer(request, Refused{Code::too_many_waiters, {}, Duration{1s}});
    // G6: do not take the place of another request that waits on this node.
    if (const lease::ConflictReport& found = request->attempt->standing;
        found.own_entry != 0 && !requests_.contains(found.own_entry)) {
        request->takes_over = found.own_entry;
        request->priority = std::min(request->priority, found.own_place);
    }
    request->wait_until = now_ + wait;
    request->kept = KeptRequest(request->attempt->asked);
    kept_bytes_ += request->kept.bytes();
    deadlines_.insert(request.get());
    by_holder_.insert(request.get());
    request->trying = true;
    queue(request);
}

void Acquisitions::queue(const RequestPtr& request) {
    struct Queued {
        bool full = false;
        std::vector<std::uint64_t> outranked;
    };
    const auto ask = [this, request](std::size_t step) {
        apply_rule(
            *store_, request->attempt->intent(step).resource,
            [request, step](lease::Record& record, const lease::Neighbours& neighbours, Instant) {
                const lease::Claim claim = request->claim(step);
                if (lease::enqueue(record, claim, *request->wait_until))
                    return Ruling{Queued{true, {}}, store::Effect::none};
                return Ruling{Queued{false, lease::outranked_by(record, neighbours, claim)}, store::Effect::changed};
            },
            [this, request](const Result<Queued>& queued) {
                if (!queued)
                    request->attempt->failure = storage_failure(queued.error());
                else if (queued->full)
                    request->attempt->failure = Refused{Code::too_many_waiters, {}, Duration{1s}};
                else
                    judge_again(queued->outranked);
                arrived(request);
            });
    };
    at_steps(request, request->attempt->all(), ask, [this, request] {
        if (request->attempt->failure) return fail(request, *std::exchange(request->attempt->failure, {}));
        // A place may have been freed between reading and queueing, without a notification: try once more.
        request->trying = false;
        try_again(request);
    });
}

/// An older request was placed ahead of these. Those whose agent holds something may have to die (judge()); the others
/// continue to wait.
void Acquisitions::judge_again(const std::vector<std::uint64_t>& requests) {
    for (const std::uint64_t id : requests) {
        const RequestPtr request = find(id);
        if (!request) continue;
        store_->leases_of(request->kept.holder(), store::Store::Which::active, 1,
                          [this, id](const Result<std::vector<lease::LeaseName>>& held) {
                              if (held && !held->empty()) due_.push_back(id);
                          });
    }
}

void Acquisitions::fail(const RequestPtr& request, Refused refused) {
    request->trying = false;
    leave(request, std::move(refused));
}

/// Removes a request that is not granted from the queues, then answers it.
void Acquisitions::leave(const RequestPtr& request, AcquireAnswer answered) {
    if (!request->wait_until) return answer(request, std::move(answered));
    request->trying = true;  // so that it does not retry while it leaves
    const auto ask = [this, request](std::size_t step) {
        take_out({request->attempt->intent(step).resource, request->id, *request->wait_until},
                 [this, request] { arrived(request); });
    };
    request->leaving = std::move(answered);
    at_steps(request, request->attempt->all(), ask, [this, request] { answer(request, std::move(*request->leaving)); });
}

/// If the store fails, this is retried: the waiters behind this entry would wait for a request that is gone.
void Acquisitions::take_out(Stranded place, Callback<> then) {
    const std::string resource = place.resource;
    const std::uint64_t request = place.request;
    apply_rule(
        *store_, resource,
        [request](lease::Record& record, Instant) {
            lease::dequeue(record, request);
            return Ruling{true, store::Effect::freed};
        },
        [this, place = std::move(place), then = std::move(then)](const Result<bool>& out) mutable {
            const Instant again = now_ + 1s;
            if (!out && again < place.until) stranded_.emplace(again, std::move(place));
            if (then) then();
        });
}

void Acquisitions::take_out_stranded() {
    while (!stranded_.empty() && stranded_.begin()->first <= now_) {
        Stranded place = std::move(stranded_.begin()->second);
        stranded_.erase(stranded_.begin());
        take_out(std::move(place), {});
    }
}

void Acquisitions::answer(const RequestPtr& request, AcquireAnswer answered) {
    if (requests_.erase(request->id) == 0) return;
    if (request->wait_until) {
        kept_bytes_ -= request->kept.bytes();
        deadlines_.erase(request.get());
        by_holder_.erase(request.get());
    }
    const AcquireRequest& asked = request->attempt->asked;
    if (!asked.idempotency_key.empty()) idempotency_.finish(asked, answered, now_);
    rest(*request);
    request->reply(std::move(answered));
}

std::size_t Acquisitions::waiter_bytes() const {
    constexpr std::size_t index_entries = 3 * 64;
    constexpr std::size_t each = sizeof(Request) + index_entries + sizeof(lease::Waiter);
    return deadlines_.size() * each + kept_bytes_;
}

std::unique_ptr<Acquisitions::Attempt> Acquisitions::make_attempt() {
    if (attempts_.empty()) return std::make_unique<Attempt>();
    std::unique_ptr<Attempt> attempt = std::move(attempts_.back());
    attempts_.pop_back();
    return attempt;
}

/// Gives a waiting request an attempt.
void Acquisitions::resume(Request& request) {
    if (request.attempt) return;
    request.attempt = make_attempt();
    request.kept.unpack(request.attempt->asked);
    request.attempt->sort();
}

/// The request waits or is answered: its attempt is kept for reuse by any request.
void Acquisitions::rest(Request& request) {
    constexpr std::size_t enough = 16;
    std::unique_ptr<Attempt> attempt = std::move(request.attempt);
    if (attempts_.size() >= enough || attempt->order.size() > 1) return;
    attempt->held.clear();
    attempt->standing = {};
    attempt->failure.reset();
    attempts_.push_back(std::move(attempt));
}

bool Acquisitions::ByDeadline::operator()(const Request* a, const Request* b) const {
    return std::pair(*a->wait_until, a->id) < std::pair(*b->wait_until, b->id);
}
bool Acquisitions::ByHolder::operator()(const Request* a, const Request* b) const {
    return std::pair(a->kept.holder(), a->id) < std::pair(b->kept.holder(), b->id);
}
bool Acquisitions::ByHolder::operator()(const Request* a, std::string_view holder) const {
    return a->kept.holder() < holder;
}
bool Acquisitions::ByHolder::operator()(std::string_view holder, const Request* b) const {
    return holder < b->kept.holder();
}

Acquisitions::RequestPtr Acquisitions::find(std::uint64_t id) const {
    const auto found = requests_.find(id);
    return found == requests_.end() ? nullptr : found->second;
}

void Acquisitions::cancel(std::uint64_t ticket, Instant now) {
    now_ = now;
    const RequestPtr request = find(ticket);
    if (!request) return;
    request->ending = busy_answer(Code::cancelled, {});
    if (request->trying) return;
    resume(*request);
    busy(request);
}

void Acquisitions::stop(Instant now) {
    now_ = now;
    const auto unanswered = requests_;
    for (const auto& [id, request] : unanswered) {
        if (!requests_.contains(id)) continue;
        request->ending = Refused{Code::stopping, {}, {}};
        if (request->trying) continue;
        resume(*request);
        busy(request);
    }
}

void Acquisitions::advance(Instant now) {
    now_ = now;
    take_out_stranded();
    for (std::size_t ended = 0; ended < waiters_per_turn && !deadlines_.empty(); ++ended) {
        if (*(*deadlines_.begin())->wait_until > now) break;
        const RequestPtr request = find((*deadlines_.begin())->id);
        deadlines_.erase(deadlines_.begin());
        if (!request || request->ending) continue;
        // The last read reports the current conflicts; nothing can be taken any more.
        request->ending = AcquireBusy{Code::wait_timeout, {}, {}};
        if (request->trying) continue;
        request->trying = true;
        resume(*request);
        request->attempt->standing = {};
        look(request);
    }
}

Instant Acquisitions::next_deadline() const {
    if (!due_.empty() || !nudged_.empty()) return now_;
    const Instant deadline = deadlines_.empty() ? Instant::max() : *(*deadlines_.begin())->wait_until;
    return stranded_.empty() ? deadline : std::min(deadline, stranded_.begin()->first);
}

void Acquisitions::nudge(std::string_view holder) {
    if (by_holder_.contains(holder)) nudged_.emplace(holder);
}

/// Once for all grants since the last call: a holder may have thousands of waiting requests.
void Acquisitions::note_nudged() {
    for (const std::string& holder : nudged_) {
        const auto [first, last] = by_holder_.equal_range(holder);
        for (auto entry = first; entry != last; ++entry)
            due_.push_back((*entry)->id);
    }
    nudged_.clear();
}

/// The conflicts of several requests, collected from all their records.
struct Acquisitions::Survey {
    std::vector<RequestPtr> requests;
    std::vector<AcquireRequest> asked;
    std::vector<lease::ConflictReport> standings;
    std::size_t missing = 0;
    std::optional<Refused> failure;
    Callback<Answer<std::vector<WaitingRequest>>> reply;

    void arrived(Instant now) {
        if (--missing > 0) return;
        if (failure) return reply(std::move(*failure));
        std::vector<WaitingRequest> waiting;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            AcquireBusy busy = busy_answer(Code::busy, std::move(standings[i]));
            const Instant until = requests[i]->wait_until.value_or(now);
            waiting.push_back({std::move(asked[i].intents), busy.place, until > now ? until - now : Duration::zero(),
                               std::move(busy.conflicts), busy.retry_in});
        }
        reply(std::move(waiting));
    }
};

void Acquisitions::survey(std::string_view holder, Callback<Answer<std::vector<WaitingRequest>>> reply) {
    const auto survey = std::make_shared<Survey>();
    survey->reply = std::move(reply);
    const auto [first, last] = by_holder_.equal_range(holder);
    std::size_t intents = 0;  // limited as for one request: each reads a record and all its conflicts
    for (auto entry = first; entry != last && survey->requests.size() < lease::limits::named_per_record; ++entry) {
        RequestPtr request = find((*entry)->id);
        if (!request) continue;
        AcquireRequest asked;
        request->kept.unpack(asked);
        intents += asked.intents.size();
        if (intents > lease::limits::intents_per_manifest && !survey->requests.empty()) break;
        survey->requests.push_back(std::move(request));
        survey->asked.push_back(std::move(asked));
    }
    survey->standings.resize(survey->requests.size());
    survey->missing = 1;
    for (std::size_t i = 0; i < survey->requests.size(); ++i) {
        const Request& request = *survey->requests[i];
        const AcquireRequest& asked = survey->asked[i];
        for (const lease::Intent& intent : asked.intents) {
            ++survey->missing;
            apply_rule(
                *store_, intent.resource,
                [&request, &asked, &intent](lease::Record& record, const lease::Neighbours& neighbours, Instant now) {
                    lease::ConflictReport found =
                        lease::standing_of(record, neighbours, request.claim_on(intent, asked), now);
                    for (lease::Conflict& conflict : found.conflicts)
                        if (conflict.resource.empty()) conflict.resource = intent.resource;
                    return Ruling{std::move(found)};
                },
                [this, survey, i](Result<lease::ConflictReport> found) {
                    if (found)
                        survey->standings[i].add(std::move(*found));
                    else
                        survey->failure = storage_failure(found.error());
                    survey->arrived(now_);
                });
        }
    }
    survey->arrived(now_);
}

void Acquisitions::note_due(const std::vector<std::uint64_t>& waiters) {
    due_.insert(due_.end(), waiters.begin(), waiters.end());
}

void Acquisitions::serve(Instant now) {
    now_ = now;
    if (serving_) return;
    serving_ = true;
    for (std::size_t tried = 0; tried < waiters_per_turn; ++tried) {
        if (due_.empty()) note_nudged();
        if (due_.empty()) break;
        const RequestPtr request = find(due_.front());
        due_.pop_front();
        if (request) try_again(request);
    }
    serving_ = false;
}

}  // namespace holdfast::authority
