#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>

#include "base/random.h"
#include "store/cas/engine_clock.h"
#include "store/cas/engine_store.h"
#include "store/cas/known_records.h"
#include "store/cas/overlapping.h"
#include "store/cas/record_work.h"
#include "store/cas/text_map.h"

namespace holdfast::core {

/// The swaps by which this front's updates reach the engine: for each record one at a time (engine_store.h says how one
/// goes). What came of them waits in a line until tell() is called, so that nobody is called back half-way.
class CasLoop {
 public:
    /// What came of a write, for whoever tells others of it.
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
        std::function<std::optional<Token>()> last_token;
        std::function<std::string()> why_no_token;  ///< may be empty
        std::function<void(Token)> token_given;
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
    /// Writes down what time has ended in this record, if there is anything.
    void tidy(std::string_view resource);
    /// Another front wrote it: it may not be as it is remembered any more.
    void heard_of(std::string_view resource, WriteId write);

    void on_reachable();
    void on_unreachable(const Error& why);
    /// Nothing that was decided on or is remembered counts any more, and what is under way must not be tried again.
    void on_lost(const Error& why);
    /// Empty, or why everything fails.
    const std::string& unreachable() const { return unreachable_; }
    void stop();

    /// Takes in what time an answer said it is, which was asked for at `sent`. False if the clock has stepped: then
    /// everything under way has been given up.
    bool take_time(Instant sent, EngineTime engine);
    /// The time, read again if that can be, for an answer that has just come.
    Instant read_clock();
    const ClockRates& rates() const { return rates_; }
    const EngineClockBounds& clock() const { return clock_; }
    void resume_clock(const ClockOffset& offset) { clock_.resume(offset); }
    Error unavailable(const std::string& why) const;

    /// Calls done() of what is done. Those may update again.
    void tell();

    const KnownRecords& known() const { return known_; }
    const EngineStore::Counts& counts() const { return counts_; }
    /// True while this is there: for answers that come after it is gone.
    std::weak_ptr<void> alive() const { return alive_; }

 private:
    struct Finished {
        Update* update;
        Result<void> outcome;
    };

    // How a round goes.
    RecordWork& open(std::string_view resource);
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
    bool take_in(RecordWork& work, const Kept& kept, EngineTime now);
    void look_for_last_answered();
    void look_for(const AnsweredLeases& answered, const std::string& resource, const Result<Reading>& reading);
    bool has_vanished(const AnsweredLeases& answered, const StoredRecord& shown, EngineTime now) const;
    void lose(RecordWork& work);
    void fail(std::string_view resource, Update& update, Error error);
    void finish(RecordWork& work, const Result<void>& outcome);
    void give_up(RecordWork& work, const Error& error);
    void give_up_all(const Error& error);
    void pause(RecordWork& work);
    void set_timer(RecordWork& work, Instant at);
    void leave(RecordWork& work);
    void close(RecordWork& work);
    void remember(RecordWork& work, StoredRecord record);

    // What is asked of the engine, and its answers.
    void fetch(RecordWork& work, WorkPhase phase);
    void look(RecordWork& work, WorkPhase phase);
    void swap(RecordWork& work, WorkPhase phase);
    std::string notice_of(const RecordWork& work) const;
    template <class Answer>
    auto answer_to(RecordWork& work, WorkPhase phase);
    void on_answer(RecordWork& work, Result<Reading> reading);
    void on_answer(RecordWork& work, Result<Swapped> swapped);
    void on_answer(RecordWork& work, Result<Sight> sight);
    std::optional<SeenNeighbours> neighbours_in(const Sight& sight, const Moment& moment) const;

    Parts parts_;
    ClockRates rates_;
    Random random_;
    Instant now_;
    EngineClockBounds clock_;
    KnownRecords known_;
    OwnWaiters waiters_;
    LostLeases lost_;
    std::string unreachable_ = "it has not been reached yet";
    bool stopped_ = false;
    std::uint64_t last_call_ = 0;
    TextMap<std::unique_ptr<RecordWork>> works_;
    std::unordered_map<std::uint64_t, RecordWork*> by_call_;
    std::set<std::pair<Instant, RecordWork*>, EarlierWork> timers_;
    std::deque<Finished> finished_;
    std::size_t updates_ = 0;
    EngineStore::Counts counts_;
    std::shared_ptr<void> alive_ = std::make_shared<char>();
};

}  // namespace holdfast::core
