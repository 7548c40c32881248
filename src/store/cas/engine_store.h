#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "store/cas/engine.h"
#include "store/cas/engine_clock.h"
#include "store/store.h"

namespace holdfast::store::cas {

/// Keeps records in an engine that many fronts share (docs/decisions/0010-engines.md). This is one front's access to
/// them. No clock, no thread, no socket of its own: the caller passes the time.
///
/// An update calls apply() on the record as this front knows it, at the engine's estimated time, and then swaps, on the
/// condition that the record was not written meanwhile and that the engine's time is one at which the decision holds.
/// Otherwise the answer brings the current record, and the update is applied to that. An unknown record counts as
/// absent: for most that is true, and a grant takes one round trip. An update that changes nothing is decided on the
/// record that the engine shows, never on a remembered one. Updates of one record that arrive while a swap is under way
/// are batched into the next one.
///
/// Rules see this machine's time: a record's instants are moved by the difference to the engine's clock when it is
/// read, and back when it is written, so that only durations cross (T1). The engine's time is estimated from its
/// answers, at its upper bound, so that a lease never ends before its holder, who counts from its own sending, has
/// stopped (T3).
///
/// A swap that was not answered may have taken effect. If the record then shows this very write, it has. If it shows
/// another, the leases that the lost write may have granted are removed and the update is applied again.
///
/// Overlapping resources are read before and after, as in the quorum (quorum_store.h).
class EngineStore final : public DrivenStore {
 public:
    struct Parts {
        Engine& engine;
        StoreListener& listener;
        HashKey hash_key;
        std::uint64_t front = 1;  ///< unique to this incarnation of this front: below 2^24, part of its waiters' ids
        WriteId last_write;       ///< its write ids follow this one; both halves random, except in a simulation
        std::uint64_t seed = 0;
        Duration give_up_after = 2s;
        std::size_t max_records = 200'000;  ///< limit of remembered records
        /// The last token that this front issued: a new lease gets one above it, and above its record's last (G3).
        /// Nullopt: none may be issued now, and an update that grants fails with `store_unavailable`.
        std::function<std::optional<lease::Token>()> last_token;
        std::function<std::string()> why_no_token = {};  ///< the reason if there is none, for people
        std::function<void(lease::Token)> on_token_given;
        /// The engine's clock stepped ahead of this one by more than it can drift: leases that it calls ended may be
        /// held for as long as they were granted for. All updates under way have failed already.
        std::function<void(Duration ahead)> on_clock_stepped;
        /// A lease that was granted or renewed through this front is missing from its record, though it is in force and
        /// was not ended: the record was deleted behind the fronts. May be empty.
        std::function<void(std::string_view resource)> on_vanished = {};
        /// The time when an answer of the engine arrives; if empty, the time of the last advance(). Required unless the
        /// caller calls advance() before each answer.
        std::function<Instant()> clock;
        /// The offset of the engine's clock to this machine's, if remembered from an earlier start.
        std::optional<ClockOffset> clock_offset = {};
        /// This machine's wall-clock time at an instant, for display of grants. If empty, leases are not dated.
        std::function<std::int64_t(Instant)> shown_wall_ms = {};
    };
    explicit EngineStore(Parts parts);
    ~EngineStore() override;

    bool advance(Instant now, std::size_t steps = 1000) override;
    Instant next_due() const override;

    void update(std::string_view resource, Update& update) override;
    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<lease::LeaseName>>> reply) override;
    void list(const ListQuery& query, Callback<Result<ListPage>> reply) override;
    /// The leases that were last granted or renewed by this front.
    std::size_t active_leases() const override;

    /// Notifications of the engine, passed on by its listener. While it cannot be reached, everything fails at once.
    void on_reachable();
    void on_unreachable(const Error& why);
    /// The engine may have lost data: everything under way has failed, until on_reachable().
    void on_lost(const Error& why);
    /// False if this notice is not about records.
    bool on_notice(std::string_view notice);
    /// An answer to a request sent at `sent` carries the engine's time.
    void on_time(Instant sent, EngineTime now);
    /// The offset of the engine's clock to this machine's, if known.
    std::optional<ClockOffset> clock_offset() const;

    /// Ends all updates under way, and all later ones, with the error.
    void stop();

    struct Counts {
        std::uint64_t swaps = 0, one_round = 0, raced = 0, fetches = 0, given_up = 0;
    };
    const Counts& counts() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::store::cas
