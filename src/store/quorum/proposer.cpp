#include "store/quorum/proposer.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"
#include "store/cas/changes.h"
#include "store/cas/overlapping.h"

namespace holdfast::store::quorum {
namespace {

/// The effect of an attempt's updates on a record.
struct Decided {
    bool changed = false;
    std::vector<lease::Token> added;      ///< leases that are new
    std::vector<lease::Lease> extended;   ///< renewed leases, as they were before
    std::vector<std::uint64_t> enqueued;  ///< waiters that are new
};

template <class Value>
bool is_in(const std::vector<Value>& values, const Value& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

std::vector<lease::Token> tokens_of(const std::vector<lease::Lease>& leases) {
    std::vector<lease::Token> tokens;
    for (const lease::Lease& lease : leases)
        tokens.push_back(lease.token);
    return tokens;
}

/// The leases that remain with another end, as they were before. All remaining leases if nothing else can have changed,
/// since a renewal may yield the same end.
std::vector<lease::Lease> extended_in(const lease::Record& record, const lease::Record& before) {
    const bool only_renewed = record.leases.size() == before.leases.size() &&
                              record.waiters.size() == before.waiters.size() &&
                              record.reserved.size() == before.reserved.size();
    std::vector<lease::Lease> found;
    for (const lease::Lease& was : before.leases) {
        const lease::Lease* const is = record.find(was.token);
        if (is != nullptr && (only_renewed || is->expires_at != was.expires_at)) found.push_back(was);
    }
    return found;
}

std::vector<std::uint64_t> waiters_of(const lease::Record& record) {
    std::vector<std::uint64_t> ids;
    for (const lease::Waiter& waiter : record.waiters)
        ids.push_back(waiter.id);
    return ids;
}

template <class Value>
std::vector<Value> without(const std::vector<Value>& values, const std::vector<Value>& known) {
    std::vector<Value> rest;
    std::copy_if(values.begin(), values.end(), std::back_inserter(rest),
                 [&](const Value& value) { return !is_in(known, value); });
    return rest;
}

Decided apply_once(const std::vector<Pending>& batch, lease::Record& record, const lease::Neighbours& neighbours,
                   const OwnTokens& own, Instant now) {
    const auto tokens = tokens_of(record.leases);
    const auto waiters = waiters_of(record);
    Decided decided;
    for (const Pending& pending : batch) {
        record.last_token = own.before_next(record.last_token);
        decided.changed |= pending.update->apply(record, neighbours, now) != Effect::none;
    }
    if (!decided.changed) return decided;
    decided.added = without(tokens_of(record.leases), tokens);
    decided.enqueued = without(waiters_of(record), waiters);
    return decided;
}

/// Applies the updates in order, each to the result of the one before, with tokens of this node. If an update brings a
/// higher token of its own, all are applied once more with tokens above that.
Decided apply_all(const std::vector<Pending>& batch, lease::Record& record, const lease::Neighbours& neighbours,
                  const OwnTokens& own, Instant now) {
    lease::Record before = record;
    Decided decided = apply_once(batch, record, neighbours, own, now);
    const auto strange = [&](lease::Token token) { return !own.has(token); };
    if (std::any_of(decided.added.begin(), decided.added.end(), strange)) {
        before.last_token = *std::max_element(decided.added.begin(), decided.added.end());
        record = before;
        decided = apply_once(batch, record, neighbours, own, now);
    }
    if (decided.changed) decided.extended = extended_in(record, before);
    return decided;
}

/// The time that the first lease of a promised record has left.
Duration left_in(const lease::Record& record) {
    return std::max(record.leases.front().expires_at, Instant{}) - Instant{};
}

/// Whether this copy of a record began more than `by` after the other: fewer of its leases have ended, or they have
/// more time left.
bool is_later(const lease::Record& copy, const lease::Record& other, Duration by) {
    if (copy.leases.size() != other.leases.size()) return copy.leases.size() > other.leases.size();
    return !copy.leases.empty() && left_in(copy) - left_in(other) > by;
}

/// Removes the leases with these tokens. True if there were any.
bool take_out(lease::Record& record, const std::vector<lease::Token>& tokens) {
    return std::erase_if(record.leases, [&](const lease::Lease& lease) { return is_in(tokens, lease.token); }) > 0;
}

/// In the acceptors' measure at the instant of the decision. Later, the time that has passed would be scaled as well,
/// and the leases would end early (Q7).
std::vector<lease::Lease> as_kept(std::vector<lease::Lease> leases, const cas::ClockRates& rates, Instant now) {
    lease::Record record;
    record.leases = std::move(leases);
    rates.to_kept(record, now);
    return std::move(record.leases);
}

/// Gives the leases the ends that they had before. True if there were any.
bool put_back(lease::Record& record, const std::vector<lease::Lease>& before) {
    bool found = false;
    for (const lease::Lease& was : before) {
        lease::Lease* const lease = record.find(was.token);
        if (lease == nullptr) continue;
        *lease = was;
        found = true;
    }
    return found;
}

/// Sets aside the waiters of nodes that are gone. They block no one but keep their places in the queue, since their
/// node may come back (G6).
void set_absent_aside(lease::Record& record, const PeerTransport& peers, Instant now) {
    if (record.waiters.empty()) return;  // the common case
    const auto first =
        std::stable_partition(record.waiters.begin(), record.waiters.end(),
                              [&](const lease::Waiter& waiter) { return !peers.is_gone(origin_of(waiter.id), now); });
    record.absent.assign(std::make_move_iterator(first), std::make_move_iterator(record.waiters.end()));
    record.waiters.erase(first, record.waiters.end());
}

void put_absent_back(lease::Record& record) {
    for (lease::Waiter& waiter : record.absent) {
        const auto place = std::find_if(record.waiters.begin(), record.waiters.end(), [&](const lease::Waiter& other) {
            return lease::older(waiter.rank(), other.rank());
        });
        record.waiters.insert(place, std::move(waiter));
    }
    record.absent.clear();
}

ReadResult without_absent(ReadResult read, const PeerTransport& peers, Instant now) {
    for (ReadReply::Entry& entry : read.entries)
        std::erase_if(entry.record.record.waiters,
                      [&](const lease::Waiter& waiter) { return peers.is_gone(origin_of(waiter.id), now); });
    return read;
}

constexpr std::size_t max_abandoned = 10'000;  ///< tokens for one register

const Error unavailable{Code::unavailable, "no majority of the nodes answered in time; what it did is unknown"};
const Error undecidable{Code::unavailable,
                        "no majority of the nodes can be reached and votes at the moment; what it did is unknown"};
const Error stopping{Code::unavailable, "this node is stopping; what it did is unknown"};
const Error too_many{Code::unavailable, "too many updates are under way on this node"};

cas::SeenNeighbours neighbours_in(const ReadResult& read, const cas::ClockRates& rates, Instant now) {
    cas::SeenNeighbours neighbours;
    for (const ReadReply::Entry& entry : read.entries) {
        lease::Record record = cas::to_absolute(entry.record, now);
        rates.to_usable(record, now);
        neighbours.add(entry.resource, std::move(record));
    }
    return neighbours;
}

}  // namespace

Proposer::Proposer(Parts parts)
    : config_(parts.config),
      acceptor_(parts.acceptor),
      peers_(parts.peers),
      reads_(parts.reads),
      shown_wall_ms_(std::move(parts.shown_wall_ms)),
      counter_(parts.config, parts.acceptor, parts.ballots_from),
      tokens_(parts.config.node, parts.config.members),
      queue_(parts.hash_key, parts.seed) {}

Proposer::~Proposer() = default;

void Proposer::update(std::string_view resource, Update& update) {
    if (stopped_ || queue_.is_full()) return queue_.refuse(update, stopped_ ? stopping : too_many);
    Register& reg = queue_.open(resource);
    queue_.add(reg, {&update, now_ + config_.give_up_after});
    if (reg.phase == Phase::idle) begin(reg);
}

/// Fails the updates of the batch that have been tried for long enough.
void Proposer::give_up_if_late(Register& reg) {
    const auto late = [&](const Pending& pending) { return now_ >= pending.give_up_at; };
    if (std::none_of(reg.batch.begin(), reg.batch.end(), late)) return;  // the common case
    Error why = unavailable;
    why.retry_in = peers_.decides_in(acceptor_.silent_for(), now_);
    if (why.retry_in == Duration::zero()) why.retry_in.reset();  // a majority votes; it was merely slow
    counts_.given_up += queue_.finish_if(reg, why, late);
}

/// Fails the batch at once if no majority can vote.
void Proposer::give_up_if_undecidable(Register& reg) {
    if (reg.batch.empty() || peers_.may_decide(acceptor_.silent_for() == Duration::zero(), now_)) return;
    Error why = undecidable;
    why.retry_in = peers_.decides_in(acceptor_.silent_for(), now_);
    counts_.given_up += reg.batch.size();
    queue_.finish(reg, why);
}

void Proposer::begin(Register& reg) {
    queue_.leave(reg);
    queue_.take_waiting(reg);
    give_up_if_late(reg);
    give_up_if_undecidable(reg);
    if (reg.batch.empty()) return queue_.close(reg);
    ++counts_.attempts;
    if (!try_one_round(reg)) prepare(reg);
}

void Proposer::start(Register& reg, Ballot ballot, Phase phase) {
    reg.attempt = Attempt{};
    reg.attempt.number = ++last_attempt_;
    reg.attempt.ballot = ballot;
    reg.attempt.begun = now_;
    reg.attempt.deadline = now_ + config_.attempt_time;
    reg.phase = phase;
    queue_.await(reg, ballot.counter, reg.attempt.deadline);
}

/// The ballot promised along with this node's last Accept, and this node's own copy of that record, are what a Prepare
/// would return. Not for a grant: its token must be above all that a majority has seen by now (Q8, Q11). Not for an
/// update that changes nothing: writes by others since then would go unnoticed. Not for an update that reads
/// neighbours.
bool Proposer::try_one_round(Register& reg) {
    if (!reg.abandoned.empty() || !reg.unconfirmed.leases.empty()) return false;
    auto chosen = acceptor_.chosen(reg.resource);
    if (!chosen) return false;
    lease::Record& record = chosen->record;
    config_.rates().to_usable(record, now_);
    const cas::UnknownNeighbours neighbours;
    set_absent_aside(record, peers_, now_);
    Decided decided = apply_all(reg.batch, record, neighbours, tokens_, now_);
    put_absent_back(record);
    const bool asked = reg.may_overlap && neighbours.asked();
    if (asked || !decided.changed || !decided.added.empty()) return false;
    config_.rates().to_kept(record, now_);
    ++counts_.one_round;
    start(reg, chosen->next, Phase::accepting);
    reg.attempt.one_round = true;
    if (reg.may_overlap) reg.attempt.extended = as_kept(std::move(decided.extended), config_.rates(), now_);
    reg.attempt.enqueued = std::move(decided.enqueued);
    accept(reg, std::move(record));
    return true;
}

void Proposer::prepare(Register& reg) {
    start(reg, counter_.next(), Phase::preparing);
    const QuorumMessage message = Prepare{reg.resource, reg.attempt.ballot};
    peers_.to_all(message);
    if (auto vote = acceptor_.prepare(std::get<Prepare>(message))) on_vote(config_.node, std::move(*vote));
}

void Proposer::on_vote(NodeIndex from, Vote vote) {
    if (!vote.granted) counter_.heard(vote.promised);
    Register* const awaiting = queue_.awaiting(vote.ballot.counter);
    if (awaiting == nullptr) return;
    Register& reg = *awaiting;
    Attempt& attempt = reg.attempt;
    if (attempt.ballot != vote.ballot || now_ >= attempt.deadline) return;  // Q3
    if (reg.phase != (vote.accepting ? Phase::accepting : Phase::preparing)) return;
    if (!vote.granted) return on_refusal(reg, from, vote);
    if (!attempt.granted.insert(from)) return;  // Q4
    if (!vote.accepting) return on_promise(reg, std::move(vote));
    if (attempt.granted.size() == config_.majority()) on_accepted(reg);
}

void Proposer::on_promise(Register& reg, Vote vote) {
    Attempt& attempt = reg.attempt;
    const bool first = attempt.granted.size() == 1;
    const bool same = !first && vote.accepted == attempt.newest;
    const lease::Record& known = attempt.record.record;
    const lease::Record& shown = vote.record.record;
    const Duration apart = config_.attempt_time;
    attempt.agreed &= first || (same && !is_later(known, shown, apart) && !is_later(shown, known, apart));
    const bool earlier = same && is_later(known, shown, {});
    if (first || earlier || vote.accepted > attempt.newest) {  // Q6
        attempt.newest = vote.accepted;
        attempt.record = std::move(vote.record);
    }
    attempt.highest_token = std::max(attempt.highest_token, vote.highest_token);
    if (attempt.granted.size() == config_.majority()) decide(reg, nullptr);
}

void Proposer::on_refusal(Register& reg, NodeIndex from, const Vote& vote) {
    Attempt& attempt = reg.attempt;
    if (attempt.granted.contains(from) || !attempt.refused.insert(from)) return;
    attempt.outbid_by = std::max(attempt.outbid_by, vote.promised);
    if (config_.members - attempt.refused.size() >= config_.majority()) return wait_less(reg);
    fail(reg, Why::refused);
}

/// The other nodes may still form a majority. But waiting for a node that is disconnected or silent is in vain, while
/// the competing proposer goes on. So they get a small multiple of the time that the refusing node took.
void Proposer::wait_less(Register& reg) {
    constexpr Duration shortest = 5ms;
    const Instant until = now_ + std::max<Duration>(shortest, 4 * (now_ - reg.attempt.begun));
    if (until < reg.timer) queue_.set_timer(reg, until);
}

void Proposer::decide(Register& reg, const ReadResult* read) {
    Attempt& attempt = reg.attempt;
    const cas::ClockRates rates = config_.rates();
    lease::Record record = cas::to_absolute(attempt.record, now_);
    bool undone = take_out(record, reg.abandoned);
    if (attempt.newest == reg.unconfirmed.ballot) undone |= put_back(record, reg.unconfirmed.leases);
    record.last_token = std::max({record.last_token, attempt.highest_token, highest_given_});
    rates.to_usable(record, now_);
    const cas::UnknownNeighbours unknown;
    const cas::SeenNeighbours seen =
        neighbours_in(read != nullptr ? without_absent(*read, peers_, now_) : ReadResult{}, rates, now_);
    const lease::Neighbours& neighbours = read != nullptr ? static_cast<const lease::Neighbours&>(seen) : unknown;
    set_absent_aside(record, peers_, now_);
    Decided decided = apply_all(reg.batch, record, neighbours, tokens_, now_);
    put_absent_back(record);
    if (reg.may_overlap && unknown.asked()) return read_neighbours(reg, Phase::reading_before);
    if (!decided.changed && !undone) {
        if (!attempt.agreed) return accept(reg, cas::to_absolute(attempt.record, now_));
        acceptor_.mark_chosen(reg.resource, attempt.newest, attempt.ballot);
        return conclude(reg);
    }
    cas::date_grants(record, decided.added, shown_wall_ms_);
    rates.to_kept(record, now_);
    attempt.added = std::move(decided.added);
    if (reg.may_overlap) attempt.extended = as_kept(std::move(decided.extended), rates, now_);
    for (const lease::Token token : attempt.added)
        highest_given_ = std::max(highest_given_, token);
    attempt.enqueued = std::move(decided.enqueued);
    accept(reg, std::move(record));
}

void Proposer::accept(Register& reg, lease::Record record) {
    Attempt& attempt = reg.attempt;
    attempt.next = counter_.next();
    attempt.granted = attempt.refused = NodeSet{};
    reg.phase = Phase::accepting;
    queue_.set_timer(reg, attempt.deadline);
    if (reg.may_overlap) attempt.result = record;
    QuorumMessage message =
        Accept{reg.resource, attempt.ballot, attempt.next, cas::to_relative(std::move(record), now_)};
    peers_.to_all(message);
    if (auto vote = acceptor_.accept(std::get<Accept>(std::move(message)))) on_vote(config_.node, std::move(*vote));
}

void Proposer::on_accepted(Register& reg) {
    const Attempt& attempt = reg.attempt;
    acceptor_.mark_chosen(reg.resource, attempt.ballot, attempt.next);
    if (attempt.taking_back) {
        reg.unconfirmed = {};
        return pause(reg);
    }
    // Also after a renewal: the lease may have ended on all acceptors but the one that heard of it last. An overlapping
    // lease may have been granted since; being in another register, it did not meet this ballot.
    const bool alone = attempt.added.empty() && attempt.extended.empty();
    if (reg.may_overlap && !alone) return read_neighbours(reg, Phase::reading_after);
    conclude(reg);
}

void Proposer::read_neighbours(Register& reg, Phase phase) {
    reg.phase = phase;
    queue_.set_timer(reg, reg.attempt.deadline);
    ReadRequest request;
    request.name = reg.resource;
    request.most = lease::limits::obstacles + 1;
    reads_.ask(std::move(request), now_,
               [this, resource = reg.resource, number = reg.attempt.number](Result<ReadResult> read) {
                   on_neighbours_read(resource, number, std::move(read));
               });
}

void Proposer::on_neighbours_read(std::string_view resource, std::uint64_t number, Result<ReadResult> read) {
    Register* const found = queue_.find(resource);
    if (found == nullptr) return;
    Register& reg = *found;
    const bool reading = reg.phase == Phase::reading_before || reg.phase == Phase::reading_after;
    if (!reading || reg.attempt.number != number) return;
    if (!read || now_ >= reg.attempt.deadline) return fail(reg, Why::late);
    if (reg.phase == Phase::reading_before) return decide(reg, &*read);
    cas::SeenNeighbours neighbours = neighbours_in(*read, config_.rates(), now_);
    neighbours.leave_out_waiters();
    const Attempt& attempt = reg.attempt;
    const bool outrun = cas::is_outrun(attempt.result, attempt.added, neighbours, now_) ||
                        cas::is_outrun(attempt.result, tokens_of(attempt.extended), neighbours, now_);
    if (outrun) return take_back(reg);
    conclude(reg);
}

/// An overlapping lease was granted at the same time. This one is removed before its update backs off, so that it does
/// not block others meanwhile.
void Proposer::take_back(Register& reg) {
    lease::Record record = std::move(reg.attempt.result);
    const Ballot next = reg.attempt.next;
    reg.abandoned.insert(reg.abandoned.end(), reg.attempt.added.begin(), reg.attempt.added.end());
    take_out(record, reg.abandoned);
    reg.unconfirmed = {reg.attempt.ballot, std::move(reg.attempt.extended)};
    put_back(record, reg.unconfirmed.leases);
    start(reg, next, Phase::accepting);
    reg.attempt.taking_back = true;
    accept(reg, std::move(record));
}

void Proposer::conclude(Register& reg) {
    queue_.finish(reg, {});
    reg.abandoned.clear();
    reg.unconfirmed = {};
    reg.backoff.reset();
    reg.enqueued.insert(reg.enqueued.end(), reg.attempt.enqueued.begin(), reg.attempt.enqueued.end());
    if (enqueued_ && !reg.enqueued.empty()) enqueued_(reg.resource, reg.enqueued);
    reg.enqueued.clear();
    begin(reg);
}

void Proposer::pause(Register& reg) {
    reg.phase = Phase::pausing;
    queue_.pause(reg, now_);
}

/// The attempt may have taken effect, or may still do so.
void Proposer::fail(Register& reg, Why why) {
    ++counts_.failed;
    const Attempt& attempt = reg.attempt;
    reg.enqueued.insert(reg.enqueued.end(), attempt.enqueued.begin(), attempt.enqueued.end());
    reg.abandoned.insert(reg.abandoned.end(), attempt.added.begin(), attempt.added.end());
    if (reg.abandoned.size() > max_abandoned)
        reg.abandoned.erase(reg.abandoned.begin(), reg.abandoned.end() - max_abandoned);
    if (!attempt.extended.empty()) reg.unconfirmed = {attempt.ballot, attempt.extended};
    if (why == Why::refused)
        counter_.go_above(attempt.outbid_by, std::uint64_t{8} << std::min(reg.backoff.failures(), 6U));
    const bool at_once = why == Why::late || attempt.one_round;  // another node wrote since: no contention
    if (at_once) return begin(reg);
    pause(reg);
}

void Proposer::stop() {
    stopped_ = true;
    for (Register* reg : queue_.all()) {
        queue_.take_waiting(*reg);
        queue_.finish(*reg, stopping);
        queue_.close(*reg);
    }
}

bool Proposer::advance(std::size_t steps) {
    while (Register* const reg = queue_.due(now_)) {
        if (steps-- == 0) return true;
        const Why why = reg->attempt.refused.size() == 0 ? Why::late : Why::refused;
        if (reg->phase == Phase::pausing)
            begin(*reg);
        else
            fail(*reg, why);
    }
    return false;
}

Instant Proposer::next_due() const {
    return queue_.next_due();
}

}  // namespace holdfast::store::quorum
