#include <algorithm>

#include "base/mutant.h"
#include "codec/record/record_codec.h"
#include "lease/manifest.h"
#include "store/cas/cas_loop.h"
#include "store/cas/notice.h"

namespace holdfast::core {
namespace {

std::vector<std::string_view> holders_in(const Record& record) {
    std::vector<std::string_view> holders;
    for (const Lease& lease : record.leases)
        holders.push_back(lease.holder);
    for (const Reservation& reserved : record.reserved)
        holders.push_back(reserved.lease.holder);
    std::sort(holders.begin(), holders.end());
    holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
    return holders;
}

}  // namespace

/// What is to be called with the answer: finds the work again, if it still waits for this one.
template <class Answer>
auto CasLoop::answer_to(RecordWork& work, WorkPhase phase) {
    leave(work);
    work.phase = phase;
    work.call = ++last_call_;
    by_call_.emplace(work.call, &work);
    set_timer(work, work.deadline);
    return [this, alive = alive(), call = work.call, sent = now_](Result<Answer> answer) {
        if (alive.expired()) return;
        read_clock();
        if (answer && !take_time(sent, answer->now)) return tell();
        const auto found = by_call_.find(call);
        if (found == by_call_.end()) return;
        RecordWork& waiting = *found->second;
        by_call_.erase(found);
        waiting.asked_at = sent;
        on_answer(waiting, std::move(answer));
        tell();
    };
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
        if (reading->kept.write == work.result.write && work.result.write != 0) return on_written(work);
        lose(work);
    }
    if (!take_in(work, reading->kept, reading->now)) return;
    if (recovering && work.failures > 0) {  // it may refuse every write
        work.phase = WorkPhase::idle;
        return pause(work);
    }
    if (recovering) ++work.failures;
    work.shown = true;
    decide_on(work, moment, nullptr);
}

void CasLoop::look(RecordWork& work, WorkPhase phase) {
    parts_.engine.overlapping(work.resource, limits::obstacles + 1, answer_to<Sight>(work, phase));
}

void CasLoop::on_answer(RecordWork& work, Result<Sight> sight) {
    const bool after = work.phase == WorkPhase::looking_after;
    const Moment moment{now_, sight ? sight->now : EngineTime{}};
    auto neighbours = sight ? neighbours_in(*sight, moment) : std::nullopt;
    if (!neighbours) {
        const std::string why =
            sight ? "what it keeps around `" + work.resource + "` is no record" : sight.error().message;
        return give_up(work, unavailable(why));
    }
    if (!after) return decide_on(work, moment, &*neighbours);
    neighbours->leave_out_waiters();
    const Record result = record_here(work.result, moment, rates_);
    const auto meets_another = [&](Token token) {
        const Lease* lease = result.find(token);
        return lease != nullptr && in_the_way_of(*lease, *neighbours, now_);
    };
    const Decision& decision = work.decision;
    const bool outrun = std::any_of(decision.added.begin(), decision.added.end(), meets_another) ||
                        std::any_of(decision.extended.begin(), decision.extended.end(), meets_another);
    outrun ? take_back(work, moment) : conclude(work);
}

std::optional<SeenNeighbours> CasLoop::neighbours_in(const Sight& sight, const Moment& moment) const {
    SeenNeighbours neighbours;
    for (const NamedKept& entry : sight.entries) {
        const auto kept = decode_kept(entry.kept);
        if (!kept) return std::nullopt;
        neighbours.add(entry.name, record_here(*kept, moment, rates_));
    }
    return neighbours;
}

void CasLoop::swap(RecordWork& work, WorkPhase phase) {
    ++counts_.swaps;
    known_.keep_answered(work.resource, work.decision.after);
    const bool empty = work.decision.after.empty();
    const WriteId becomes = mutant("write_ids_by_counter") ? WriteId{counts_.swaps} : ++parts_.last_write;
    Record record = work.decision.after;
    waiters_.shorten(record, work.moment.here);
    work.result = record_kept(std::move(record), work.moment, rates_, becomes);
    const std::string bytes = empty ? std::string{} : encode_record(work.result.travelling.record);
    const std::string notice = notice_of(work);
    const auto holders = holders_in(work.result.travelling.record);
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
    swap.notice = notice;
    const auto& waiters = work.decision.after.waiters;
    swap.notice_must_arrive =
        work.decision.freed &&
        std::any_of(waiters.begin(), waiters.end(), [&](const Waiter& waiter) { return !waiters_.is_ours(waiter); });
    if (empty) work.result.write = 0;  // nothing is there then
    parts_.engine.swap(swap, answer_to<Swapped>(work, phase));
}

/// A renewal that nobody but its holder cares for is not told of (docs/decisions/0010-engines.md).
std::string CasLoop::notice_of(const RecordWork& work) const {
    const Decision& decision = work.decision;
    RecordNotice notice;
    notice.write = work.result.write;
    notice.resource = work.resource;
    notice.freed = decision.freed;
    const bool renewals = is_reserved(work.resource);
    const auto add = [&](ChangeKind became, Lease lease) {
        Record one;
        one.leases.push_back(std::move(lease));
        notice.changes.push_back({became, std::move(depart(std::move(one), work.moment.here).record.leases[0])});
    };
    for (const Decision::Expired& expired : decision.expired)
        add(ChangeKind::expired, expired.lease);
    for_each_change(decision.before, decision.after, [&](ChangeKind became, const Lease& lease) {
        if (became != ChangeKind::renewed || renewals) add(became, lease);
    });
    if (!notice.freed && notice.changes.empty()) return {};
    return encode_notice(std::move(notice), Engine::notice_bytes);
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

}  // namespace holdfast::core
