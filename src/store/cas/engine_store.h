#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "store/cas/engine.h"
#include "store/cas/engine_clock.h"
#include "store/store.h"

namespace holdfast::core {

/// Records in an engine that many fronts share (docs/decisions/0010-engines.md). This is one front's way to them: no
/// clock, no thread, no socket of its own; whoever drives it says what time it is.
///
/// An update goes: apply() to the record as it is known, at the engine's time as it is known; swap, if nobody has
/// written meanwhile and the engine's time is one at which the decision holds. If not, the answer brings what is there,
/// and the update is applied to that. A record that is not known counts as absent: for most, that is so, and a grant
/// takes one round trip. What changes nothing is decided on what the engine shows, never on what is remembered. Updates
/// of one record that come while a swap is under way go together in the next one.
///
/// Rules see this machine's time: a record's instants are moved by the difference to the engine's clock when it is
/// read, and back when it is written, so that only durations cross (T1). The engine's time is estimated from its
/// answers, at its upper bound, so that a lease never ends before its holder, who counts from its own sending, has
/// stopped (T3).
///
/// A swap that was not answered may have taken effect. If the record then shows this very write, it has; if it shows
/// another, the update is applied again after what the lost write may have granted is taken out.
///
/// Resources that overlap are looked at before and after, as in the quorum (quorum_store.h).
class EngineStore final : public DrivenStore {
 public:
    struct Parts {
        Engine& engine;
        StoreListener& listener;
        HashKey hash_key;
        std::uint64_t front = 1;  ///< this life of this front among all: below 2^24, part of its waiters' ids
        WriteId last_write;       ///< its write ids follow: both halves random, unless this is a simulation
        std::uint64_t seed = 0;
        Duration give_up_after = 2s;
        std::size_t max_records = 200'000;  ///< that are remembered
        /// The last token that this front gave: a lease that is granted now gets one above it, and above its record's
        /// last (G3). Nothing: none may be given now, and an update that grants fails with `store_unavailable`.
        std::function<std::optional<Token>()> last_token;
        std::function<std::string()> why_no_token = {};  ///< if there is none; for people
        std::function<void(Token)> on_token_given;
        /// The engine's clock went ahead of this one by more than can be: leases that it calls over may be held for as
        /// long as they were granted for.
        /// Whatever is under way then has failed already.
        std::function<void(Duration ahead)> on_clock_stepped;
        /// A lease that was granted or renewed through this front is gone from its record, though it is in force and
        /// nobody ended it: somebody has deleted the record behind the fronts. May be empty.
        std::function<void(std::string_view resource)> on_vanished = {};
        /// What time it is when an answer of the engine comes; without it, what advance() said last. To be given unless
        /// whoever drives this sees to it that advance() comes before each answer.
        std::function<Instant()> clock;
        /// How the engine's clock stood to this machine's, as remembered from an earlier start, if it is.
        std::optional<ClockOffset> clock_offset = {};
        /// What this machine's wall clock showed at an instant, for who reads of a grant; empty: leases are not dated.
        std::function<std::int64_t(Instant)> shown_wall_ms = {};
    };
    explicit EngineStore(Parts parts);
    ~EngineStore() override;

    bool advance(Instant now, std::size_t steps = 1000) override;
    Instant next_due() const override;

    void update(std::string_view resource, Update& update) override;
    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<LeaseName>>> reply) override;
    void list(const ListQuery& query, Callback<Result<ListPage>> reply) override;
    /// Those that this front granted or renewed last.
    std::size_t active_leases() const override;

    /// What the engine tells, passed on by its listener. While it cannot be reached, everything fails at once.
    void on_reachable();
    void on_unreachable(const Error& why);
    /// The engine may have lost what was in it: everything under way has failed, until on_reachable().
    void on_lost(const Error& why);
    /// False if this notice is not about records.
    bool on_notice(std::string_view notice);
    /// An answer that was asked for at `sent` says what time it is at the engine.
    void on_time(Instant sent, EngineTime now);
    /// How the engine's clock stands to this machine's, if that is known.
    std::optional<ClockOffset> clock_offset() const;

    /// Everything under way is done with the error, and so is whatever comes later.
    void stop();

    struct Counts {
        std::uint64_t swaps = 0, one_round = 0, raced = 0, fetches = 0, given_up = 0;
    };
    const Counts& counts() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::core
