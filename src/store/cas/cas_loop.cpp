#include "store/cas/cas_loop.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/assert.h"
#include "codec/record/record_codec.h"
#include "store/cas/changes.h"
#include "store/cas/notice.h"

namespace holdfast::store::cas {
namespace {

constexpr std::size_t max_checked = 16;  ///< when the engine can be reached again
const std::string stopping = "this front is stopping";

}  // namespace

CasLoop::CasLoop(Parts parts)
    : parts_(std::move(parts)),
      rates_(parts_.engine.rho()),
      known_(parts_.max_records, parts_.hash_key),
      waiters_(parts_.front, parts_.hash_key),
      lost_(parts_.hash_key),
      queue_(parts_.hash_key, parts_.seed) {}

CasLoop::~CasLoop() = default;

Error CasLoop::unavailable(const std::string& why) const {
    return {Code::store_unavailable, "the store is not available: " + why};
}

void CasLoop::update(std::string_view resource, Update& update) {
    if (stopped_ || queue_.is_full() || !unreachable_.empty()) {
        const std::string why = stopped_           ? stopping
                                : queue_.is_full() ? "too many updates are under way"
                                                   : unreachable_;
        waiters_.failed(resource, update, now_);
        return queue_.refuse(update, unavailable(why));
    }
    RecordWork& work = queue_.open(resource);
    queue_.add(work, {&update, now_ + parts_.give_up_after});
    if (work.phase == WorkPhase::idle) begin(work);
}

void CasLoop::tidy(std::string_view resource) {
    if (stopped_ || !unreachable_.empty()) return;
    RecordWork& work = queue_.open(resource);
    work.tidy_next = true;
    if (work.phase == WorkPhase::idle) begin(work);
}

void CasLoop::heard_of(std::string_view resource, WriteId write) {
    AnsweredLeases answered = known_.answered(resource);
    known_.drop_unless(resource, write);
    if (answered.leases.empty() || known_.find(resource) != nullptr || !parts_.vanished) return;
    auto compare = [this, name = std::string(resource), answered = std::move(answered)](
                       const Result<Reading>& reading) { check_answered(answered, name, reading); };
    parts_.engine.fetch(Kind::record, resource, alive_.guard(std::move(compare)));
}

/// An engine that fails loses the latest writes. Its position does not show that if others have written since, nor does
/// its marker if they had seen no later one. So this front checks for its own latest writes.
void CasLoop::check_last_answered() {
    if (!parts_.vanished) return;
    for (const std::string& name : known_.last_answered(max_checked)) {
        auto compare = [this, name, answered = known_.answered(name)](const Result<Reading>& reading) mutable {
            answered.keep_only(known_.answered(name));  // this front may have removed others meanwhile
            check_answered(answered, name, reading);
        };
        parts_.engine.fetch(Kind::record, name, alive_.guard(std::move(compare)));
    }
}

void CasLoop::check_answered(const AnsweredLeases& answered, const std::string& resource,
                             const Result<Reading>& reading) {
    const auto shown = reading ? decode_stored(reading->value) : std::nullopt;
    if (shown && has_vanished(answered, *shown, reading->now)) parts_.vanished(resource);
}

bool CasLoop::has_vanished(const AnsweredLeases& answered, const StoredRecord& shown, EngineTime now) const {
    return parts_.vanished && answered.any_vanished(shown, now);
}

void CasLoop::begin(RecordWork& work) {
    queue_.leave(work);
    queue_.take_waiting(work);
    work.phase = WorkPhase::idle;
    work.tidy = std::exchange(work.tidy_next, false);
    if (work.batch.empty() && !work.tidy) return queue_.close(work);
    work.deadline = work.batch.empty() ? now_ + parts_.give_up_after : work.batch.back().give_up_at;
    work.backoff.reset();
    work.trouble.clear();
    work.first_try = true;
    if (const auto* lost = lost_.find(work.resource)) work.lost = *lost;
    try_again(work);
}

/// Decides on the remembered record, if allowed: the engine refuses the swap if it is outdated.
void CasLoop::try_again(RecordWork& work) {
    if (!unreachable_.empty()) return give_up(work, unavailable(unreachable_));
    work.shown = false;
    if (!clock_.usable(now_) || !work.lost.empty()) return fetch(work, WorkPhase::fetching);
    const StoredRecord* known = known_.find(work.resource);
    work.base = known != nullptr ? *known : StoredRecord{};
    decide_on(work, {now_, clock_.latest(now_)}, nullptr);
}

void CasLoop::decide_on(RecordWork& work, const Moment& moment, const SeenNeighbours* seen) {
    const UnknownNeighbours unknown;
    const lease::Neighbours& neighbours = seen != nullptr ? static_cast<const lease::Neighbours&>(*seen) : unknown;
    const auto last_token = parts_.last_token ? parts_.last_token() : lease::Token{0};
    work.moment = moment;
    work.decision = decide({.resource = work.resource,
                            .base = work.base,
                            .neighbours = neighbours,
                            .moment = moment,
                            .rates = rates_,
                            .waiters = waiters_,
                            .lost = work.lost,
                            .tidy = work.tidy,
                            .last_token = last_token.value_or(0)},
                           work.batch);
    if (work.may_overlap && unknown.asked()) return read_neighbours(work, WorkPhase::reading_before);
    if (!may_give_tokens(work, last_token.has_value())) return decide_on(work, moment, seen);
    date_grants(work.decision.after, work.decision.added, parts_.shown_wall_ms);
    if (work.decision.changed) return swap(work, WorkPhase::swapping);
    if (work.shown) return conclude_unchanged(work);
    fetch(work, WorkPhase::fetching);
}

/// False if no token may be issued now: the updates that grant have failed, and the others are to be decided again.
bool CasLoop::may_give_tokens(RecordWork& work, bool has_tokens) {
    const std::vector<Update*> granting = work.decision.granting;
    if (granting.empty()) return true;
    if (has_tokens) {
        if (parts_.token_given) parts_.token_given(work.decision.after.last_token);
        return true;
    }
    const std::string why = parts_.why_no_token ? parts_.why_no_token() : std::string{};
    const Error error = unavailable("no token can be issued at the moment" + (why.empty() ? why : ": " + why));
    queue_.finish_if(work, error, [&](const Pending& pending) {
        if (std::find(granting.begin(), granting.end(), pending.update) == granting.end()) return false;
        waiters_.failed(work.resource, *pending.update, now_);
        return true;
    });
    return false;
}

/// Entries that have ended and are still stored are removed in the next round, so that everyone is notified.
void CasLoop::conclude_unchanged(RecordWork& work) {
    remember(work, work.base);
    lost_.note_read(work.resource, work.asked_at, work.lost);
    if (!work.decision.expired.empty()) work.tidy_next = true;
    finish(work, {});
    begin(work);
}

/// Remembers the record as the engine has it, with a time to tidy it if this front wrote it last.
void CasLoop::remember(RecordWork& work, StoredRecord record) {
    if (record.write == 0) return known_.drop(work.resource);
    const bool ours = record.write.start == parts_.last_write.start;
    const EngineTime end = next_end(record);
    const bool ends = ours && end != EngineTime::max() && clock_.known();
    const WriteId replaced = record.write == work.result.write ? work.base.write : WriteId{};
    known_.put(work.resource, std::move(record), {ours, ends ? clock_.surely_past(end) : Instant::max(), replaced});
}

void CasLoop::on_written(RecordWork& work) {
    if (work.first_try && !work.shown) ++counts_.one_round;
    const bool alone = work.decision.added.empty() && work.decision.extended.empty();
    const bool reads = work.may_overlap && !alone;
    remember(work, reads ? work.result : std::move(work.result));
    waiters_.note(work.resource, work.decision.after);
    for (const Decision::Expired& expired : work.decision.expired)
        parts_.listener.on_expired(work.resource, expired.lease, expired.late);
    work.decision.expired.clear();
    if (reads) return read_neighbours(work, WorkPhase::reading_after);
    conclude(work);
}

void CasLoop::conclude(RecordWork& work) {
    std::vector<std::uint64_t> enqueued = work.enqueued;
    enqueued.insert(enqueued.end(), work.decision.enqueued.begin(), work.decision.enqueued.end());
    parts_.written({work.resource, work.decision, enqueued});
    known_.note_answered(work.resource, work.decision.added);
    known_.note_answered(work.resource, work.decision.extended);
    finish(work, {});
    begin(work);
}

/// An overlapping lease was granted at the same time. This one is removed before its update backs off, so that it does
/// not block others meanwhile.
void CasLoop::take_back(RecordWork& work, const Moment& moment) {
    lose(work);
    const lease::Record before = record_here(work.base, moment, rates_);
    work.base = work.result;
    lease::Record record = record_here(work.base, moment, rates_);
    waiters_.lengthen(work.resource, record, moment.here);
    Decision decision;
    decision.window = window_of(work.base, moment.engine);
    decision.before = record;
    take_out(record, work.lost, moment, rates_);
    for (const lease::Token extended : work.decision.extended) {
        const lease::Lease* was = before.find(extended);
        lease::Lease* const lease = record.find(extended);
        if (was != nullptr && lease != nullptr) *lease = *was;
    }
    decision.after = std::move(record);
    decision.freed = true;
    decision.changed = true;
    work.decision = std::move(decision);
    work.moment = moment;
    swap(work, WorkPhase::taking_back);
}

/// Another front has written since, or the engine's time is outside the window. The answer brings the current record
/// and the time.
void CasLoop::on_refused(RecordWork& work, Swapped swapped, const Moment& moment) {
    if (swapped.found.write != work.base.write) {
        ++counts_.raced;
        if (!take_in(work, swapped.found, swapped.now)) return;
        remember(work, work.base);
    }
    work.shown = true;
    work.asked_at = moment.here;
    constexpr unsigned at_once = 3;
    work.backoff.next();
    if (work.backoff.failures() < at_once) return decide_on(work, moment, nullptr);
    pause(work);
}

/// The swap may have taken effect, or may still do so.
void CasLoop::on_unknown(RecordWork& work) {
    fetch(work, WorkPhase::recovering);
}

/// Notes the leases and waiters that the last decision may have left in the engine.
void CasLoop::lose(RecordWork& work) {
    auto lost = lost_of(work.decision.after, work.decision.added, work.moment);
    work.lost.insert(work.lost.end(), lost.begin(), lost.end());
    const auto& enqueued = work.decision.enqueued;
    work.enqueued.insert(work.enqueued.end(), enqueued.begin(), enqueued.end());
}

/// Takes the current record as the base. False, and the work is given up, if it cannot be decoded or was tampered with.
bool CasLoop::take_in(RecordWork& work, const StoredValue& kept, EngineTime now) {
    auto base = decode_stored(kept);
    if (!base) {
        give_up(work, unavailable(fmt::format("its value of `{}` is not a record", work.resource)));
        return false;
    }
    if (has_vanished(known_.answered(work.resource), *base, now)) {
        const std::string resource = work.resource;
        give_up(work, unavailable(fmt::format("a lease on `{}` is gone from it before its end", resource)));
        parts_.vanished(resource);
        return false;
    }
    work.base = std::move(*base);
    return true;
}

void CasLoop::finish(RecordWork& work, const Result<void>& outcome) {
    if (!outcome)
        for (const Pending& pending : work.batch)
            waiters_.failed(work.resource, *pending.update, now_);
    queue_.finish(work, outcome);
    lost_.add(work.resource, work.lost, {now_ + 100ms, now_ + parts_.engine.swap_lingers() + 1s});
    work.lost.clear();
    work.enqueued.clear();
    work.tidy = false;
}

void CasLoop::give_up(RecordWork& work, const Error& error) {
    counts_.given_up += work.batch.size();
    const bool may_be_there = work.phase == WorkPhase::swapping || work.phase == WorkPhase::recovering ||
                              work.phase == WorkPhase::reading_after;
    if (may_be_there) lose(work);
    waiters_.let_go(work.resource, work.enqueued);
    finish(work, error);
    begin(work);
}

void CasLoop::give_up_all(const Error& error) {
    for (RecordWork* work : queue_.all()) {
        queue_.take_waiting(*work);
        work->tidy_next = false;
        give_up(*work, error);
    }
}

void CasLoop::pause(RecordWork& work) {
    if (work.phase != WorkPhase::recovering) work.phase = WorkPhase::pausing;
    work.first_try = false;
    queue_.pause(work, now_, work.deadline);
}

bool CasLoop::take_time(Instant sent, EngineTime engine) {
    const Duration ahead = clock_.add({sent, now_, engine});
    if (ahead == Duration::zero()) return true;
    give_up_all(unavailable(fmt::format("its clock went ahead by {} ms", to_ms(ahead))));
    if (parts_.stepped) parts_.stepped(ahead);
    return false;
}

Instant CasLoop::read_clock() {
    if (parts_.clock) set_time(parts_.clock());
    return now_;
}

bool CasLoop::advance(std::size_t steps) {
    while (RecordWork* const work = queue_.due(now_)) {
        if (steps-- == 0) return true;
        if (now_ >= work->deadline)
            give_up(*work, unavailable(work->trouble.empty() ? "it did not answer in time; what it did is unknown"
                                                             : work->trouble));
        else if (work->phase == WorkPhase::recovering)
            fetch(*work, WorkPhase::recovering);
        else
            try_again(*work);
    }
    while (known_.next_due() <= now_) {
        if (steps-- == 0) return true;
        tidy(std::string(*known_.take_due(now_)));
    }
    while (lost_.next_due() <= now_) {
        if (steps-- == 0) return true;
        const std::string name = *lost_.due(now_);
        lost_.begin_read(name, now_);
        tidy(name);
    }
    return false;
}

Instant CasLoop::next_due() const {
    return std::min({queue_.next_due(), known_.next_due(), lost_.next_due()});
}

void CasLoop::on_reachable() {
    unreachable_.clear();
    check_last_answered();
}

/// Swaps under way are answered by the engine, and an unknown outcome may still be found out.
void CasLoop::on_unreachable(const Error& why) {
    unreachable_ = why.message.empty() ? "it cannot be reached" : why.message;
    for (RecordWork* work : queue_.all())
        if (work->phase == WorkPhase::pausing || work->phase == WorkPhase::fetching ||
            work->phase == WorkPhase::reading_before)
            give_up(*work, unavailable(unreachable_));
}

void CasLoop::on_lost(const Error& why) {
    unreachable_ = why.message;
    known_.clear();
    give_up_all(unavailable(unreachable_));
}

void CasLoop::stop() {
    stopped_ = true;
    give_up_all(unavailable(stopping));
    HOLDFAST_ASSERT(queue_.size() == 0);
}

// ---- requests to the engine, and its answers ----

/// The callback for the answer: finds the work again, if it still waits for this call.
template <class Answer>
auto CasLoop::answer_to(RecordWork& work, WorkPhase phase) {
    work.phase = phase;
    queue_.await(work, ++last_call_, work.deadline);
    return alive_.guard([this, call = last_call_, sent = now_](Result<Answer> answer) {
        read_clock();
        if (answer && !take_time(sent, answer->now)) return notify();
        RecordWork* const waiting = queue_.awaiting(call);
        if (waiting == nullptr) return;
        queue_.leave(*waiting);
        waiting->asked_at = sent;
        on_answer(*waiting, std::move(answer));
        notify();
    });
}

void CasLoop::fetch(RecordWork& work, WorkPhase phase) {
    ++counts_.fetches;
    parts_.engine.fetch(Kind::record, work.resource, answer_to<Reading>(work, phase));
}

void CasLoop::on_answer(RecordWork& work, Result<Reading> reading) {
    if (!reading) {
        if (work.phase == WorkPhase::recovering) return pause(work);
        return give_up(work, unavailable(reading.error().message));
    }
    const Moment moment{now_, reading->now};
    const bool recovering = work.phase == WorkPhase::recovering;
    if (recovering) {
        if (reading->value.write == work.result.write && work.result.write != 0) return on_written(work);
        lose(work);
    }
    if (!take_in(work, reading->value, reading->now)) return;
    if (recovering && work.backoff.failures() > 0) {  // the engine may refuse every write
        work.phase = WorkPhase::idle;
        return pause(work);
    }
    if (recovering) work.backoff.next();
    work.shown = true;
    decide_on(work, moment, nullptr);
}

void CasLoop::read_neighbours(RecordWork& work, WorkPhase phase) {
    parts_.engine.overlapping(work.resource, lease::limits::obstacles + 1, answer_to<FoundRecords>(work, phase));
}

void CasLoop::on_answer(RecordWork& work, Result<FoundRecords> read) {
    const bool after = work.phase == WorkPhase::reading_after;
    const Moment moment{now_, read ? read->now : EngineTime{}};
    auto neighbours = read ? neighbours_in(*read, moment) : std::nullopt;
    if (!neighbours) {
        const std::string why =
            read ? fmt::format("its value of a resource that overlaps `{}` is not a record", work.resource)
                 : read.error().message;
        return give_up(work, unavailable(why));
    }
    if (!after) return decide_on(work, moment, &*neighbours);
    neighbours->leave_out_waiters();
    const lease::Record result = record_here(work.result, moment, rates_);
    const Decision& decision = work.decision;
    const bool outrun =
        is_outrun(result, decision.added, *neighbours, now_) || is_outrun(result, decision.extended, *neighbours, now_);
    if (outrun) return take_back(work, moment);
    conclude(work);
}

std::optional<SeenNeighbours> CasLoop::neighbours_in(const FoundRecords& read, const Moment& moment) const {
    SeenNeighbours neighbours;
    for (const NamedValue& entry : read.entries) {
        const auto kept = decode_stored(entry.value);
        if (!kept) return std::nullopt;
        neighbours.add(entry.name, record_here(*kept, moment, rates_));
    }
    return neighbours;
}

void CasLoop::swap(RecordWork& work, WorkPhase phase) {
    ++counts_.swaps;
    known_.keep_answered(work.resource, work.decision.after);
    const bool empty = work.decision.after.empty();
    const WriteId becomes = ++parts_.last_write;
    lease::Record record = work.decision.after;
    waiters_.shorten(record, work.moment.here);
    work.result = to_stored(std::move(record), work.moment, rates_, becomes);
    const std::string bytes = empty ? std::string{} : codec::record::encode_record(work.result.relative.record);
    const std::string notice = notice_of(work.resource, becomes, work.decision, work.moment.here);
    const auto holders = holders_in(work.result.relative.record), held_by = holders_in(work.base.relative.record);
    Swap swap;
    swap.name = work.resource;
    swap.expected = work.base.write;
    swap.becomes = becomes;
    swap.from = work.decision.window.from;
    swap.until = work.decision.window.until;
    swap.written_at = work.result.written_at;
    swap.bytes = bytes;
    swap.keep_until = nothing_left_from(work.result);
    swap.due = next_end(work.result);
    swap.holders = holders;
    swap.replaced = {nothing_left_from(work.base), next_end(work.base), held_by};
    swap.notice = notice;
    const auto& waiters = work.decision.after.waiters;
    swap.notice_must_arrive =
        work.decision.freed && std::any_of(waiters.begin(), waiters.end(),
                                           [&](const lease::Waiter& waiter) { return !waiters_.is_ours(waiter); });
    if (empty) work.result.write = 0;  // the record is deleted
    parts_.engine.swap(swap, answer_to<Swapped>(work, phase));
}

void CasLoop::on_answer(RecordWork& work, Result<Swapped> swapped) {
    const bool taking_back = work.phase == WorkPhase::taking_back;
    if (!swapped) work.trouble = swapped.error().message;
    if (!swapped) return taking_back ? pause(work) : on_unknown(work);
    const bool ours = work.result.write != 0 && swapped->found.write == work.result.write;
    if (taking_back) {
        if (swapped->done || ours) remember(work, std::move(work.result));
        return pause(work);
    }
    if (swapped->done || ours) return on_written(work);
    on_refused(work, std::move(*swapped), {now_, swapped->now});
}

}  // namespace holdfast::store::cas
