#pragma once

#include <functional>
#include <memory>

#include "base/alive.h"
#include "base/hash.h"
#include "store/cas/decision.h"
#include "store/cas/engine_clock.h"
#include "store/cas/engine_store.h"
#include "store/cas/known_records.h"
#include "store/cas/overlapping.h"
#include "store/cas/record_queue.h"

namespace holdfast::store::cas {

/// How far the work on a record has come.
enum class WorkPhase : std::uint8_t {
    idle,
    fetching,
    reading_before,  ///< reads the overlapping records, to decide
    swapping,
    recovering,     ///< reads whether an unanswered swap took effect
    reading_after,  ///< the swap took effect; checks for a concurrent grant that overlaps
    taking_back,    ///< there was one: swaps back
    pausing,        ///< backing off
};

/// A record that this front works on.
struct RecordWork : QueuedWork {
    bool tidy_next = false;  ///< the next round also removes entries that have ended
    bool tidy = false;       ///< this round does

    WorkPhase phase = WorkPhase::idle;
    Instant deadline = Instant::max();  ///< then the round is given up
    std::string trouble;                ///< the engine's reason for an unanswered swap; empty if none
    bool first_try = true;

    StoredRecord base;
    bool shown = false;  ///< the base was shown by the engine for this batch; else a guess
    Instant asked_at;    ///< when the shown base was requested
    Moment moment;       ///< of the decision
    Decision decision;
    StoredRecord result;

    std::vector<LostLease> lost;          ///< by unanswered swaps of this batch
    std::vector<std::uint64_t> enqueued;  ///< by unanswered swaps; may be in the queue already
};

/// Runs the swaps by which this front's updates reach the engine, one at a time for each record (engine_store.h
/// describes an update).
class CasLoop {
 public:
    /// The result of a write, for notifications.
    struct Written {
        std::string_view resource;
        const Decision& decision;
        const std::vector<std::uint64_t>& enqueued;
    };
    struct Parts {
        Engine& engine;
        StoreListener& listener;
        HashKey hash_key;
        std::uint64_t front = 1;
        WriteId last_write;
        std::uint64_t seed = 0;
        Duration give_up_after = 2s;
        std::size_t max_records = 200'000;
        std::function<std::optional<lease::Token>()> last_token;
        std::function<std::string()> why_no_token;  ///< may be empty
        std::function<void(lease::Token)> token_given;
        std::function<Instant()> clock;
        std::function<void(Duration ahead)> stepped;
        std::function<void(std::string_view resource)> vanished;  ///< may be empty
        std::function<void(const Written&)> written;
        std::function<std::int64_t(Instant)> shown_wall_ms;  ///< may be empty
    };
    explicit CasLoop(Parts parts);
    ~CasLoop();

    void set_time(Instant now) { now_ = std::max(now_, now); }
    Instant now() const { return now_; }
    bool advance(std::size_t steps);
    Instant next_due() const;

    void update(std::string_view resource, Update& update);
    /// Writes the record without the entries that have ended by now, if there are any.
    void tidy(std::string_view resource);
    /// Another front wrote the record: the remembered one may be outdated.
    void heard_of(std::string_view resource, WriteId write);

    void on_reachable();
    void on_unreachable(const Error& why);
    /// The engine lost data: no decision or remembered record counts any more, and updates under way must not be
    /// retried.
    void on_lost(const Error& why);
    /// The reason why everything fails; empty if reachable.
    const std::string& unreachable() const { return unreachable_; }
    void stop();

    /// Takes the engine's time from an answer to a request sent at `sent`. False if the clock has stepped: then
    /// everything under way has been given up.
    bool take_time(Instant sent, EngineTime engine);
    /// The time, read again if there is a clock, for an answer that has just arrived.
    Instant read_clock();
    const ClockRates& rates() const { return rates_; }
    const EngineClockBounds& clock() const { return clock_; }
    void resume_clock(const ClockOffset& offset) { clock_.resume(offset); }
    Error unavailable(const std::string& why) const;

    /// Calls done() of the finished updates. The callbacks may call update() again.
    void notify() { queue_.notify(); }

    const KnownRecords& known() const { return known_; }
    const EngineStore::Counts& counts() const { return counts_; }
    /// For answers that may arrive after this object is gone.
    const Alive& alive() const { return alive_; }

 private:
    // Steps of a round.
    void begin(RecordWork& work);
    void try_again(RecordWork& work);
    void decide_on(RecordWork& work, const Moment& moment, const SeenNeighbours* neighbours);
    bool may_give_tokens(RecordWork& work, bool has_tokens);
    void conclude_unchanged(RecordWork& work);
    void on_written(RecordWork& work);
    void conclude(RecordWork& work);
    void take_back(RecordWork& work, const Moment& moment);
    void on_refused(RecordWork& work, Swapped swapped, const Moment& moment);
    void on_unknown(RecordWork& work);
    bool take_in(RecordWork& work, const StoredValue& kept, EngineTime now);
    void check_last_answered();
    void check_answered(const AnsweredLeases& answered, const std::string& resource, const Result<Reading>& reading);
    bool has_vanished(const AnsweredLeases& answered, const StoredRecord& shown, EngineTime now) const;
    void lose(RecordWork& work);
    void finish(RecordWork& work, const Result<void>& outcome);
    void give_up(RecordWork& work, const Error& error);
    void give_up_all(const Error& error);
    void pause(RecordWork& work);
    void remember(RecordWork& work, StoredRecord record);

    // Requests to the engine, and its answers.
    void fetch(RecordWork& work, WorkPhase phase);
    void read_neighbours(RecordWork& work, WorkPhase phase);
    void swap(RecordWork& work, WorkPhase phase);
    template <class Answer>
    auto answer_to(RecordWork& work, WorkPhase phase);
    void on_answer(RecordWork& work, Result<Reading> reading);
    void on_answer(RecordWork& work, Result<Swapped> swapped);
    void on_answer(RecordWork& work, Result<FoundRecords> read);
    std::optional<SeenNeighbours> neighbours_in(const FoundRecords& read, const Moment& moment) const;

    Parts parts_;
    ClockRates rates_;
    Instant now_;
    EngineClockBounds clock_;
    KnownRecords known_;
    OwnWaiters waiters_;
    LostLeases lost_;
    std::string unreachable_ = "it has not been reached yet";
    bool stopped_ = false;
    std::uint64_t last_call_ = 0;
    RecordQueue<RecordWork> queue_;
    EngineStore::Counts counts_;
    Alive alive_;
};

}  // namespace holdfast::store::cas
