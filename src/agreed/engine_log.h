#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agreed/log.h"
#include "base/alive.h"
#include "store/cas/document.h"

namespace holdfast::agreed {

/// A log that all fronts of an engine append to and read, as documents of that engine: `log/N`, each written once. The
/// engine is durable, so there is no replication and no leader. A front that finds the next index taken uses the one
/// after it.
///
/// From time to time a front writes a snapshot and deletes old entries. A front that missed those entries continues
/// from the snapshot. A front that wrote to an index below it, where an entry had been, detects that before it answers.
class EngineLog final : public Log {
 public:
    /// Number of entries kept before a snapshot, for fronts that are behind.
    static constexpr consensus::LogIndex kept_behind = 1000;

    struct Parts {
        store::cas::Engine& engine;
        std::function<store::cas::WriteId()> next_write;
        StateMachine& machine;
        consensus::LogIndex entries_before_snapshot = 2000;
        std::size_t chunk_bytes = 256 * 1024;  ///< of a snapshot; no engine takes more at once
    };
    explicit EngineLog(Parts parts);
    ~EngineLog() override;

    /// Reads and applies the new entries in order. Answers when there are no more.
    void catch_up(Callback<Result<void>> done);

    void append(std::string entry, Callback<Result<void>> done) override;

    /// Reads the entries of other fronts about once a second, and at once on their notice.
    void advance(Instant now) override;
    Instant next_due() const override;
    void stop() override {}  // the engine's owner stops it
    static constexpr std::string_view notice = "log";
    void on_notice();

    /// The engine may have lost entries: writes a snapshot of all entries applied here, for fronts that start later and
    /// for those that have applied fewer.
    void save();

    consensus::LogIndex applied() const { return applied_; }

 private:
    struct Mark;  ///< the contents of the document `snapshot`
    struct Looking;
    struct Saving;
    struct Appending {
        std::string entry;
        Callback<Result<void>> done;
    };

    // ---- reading ----
    void look();
    void look_at_entries(const std::shared_ptr<Looking>& looking);
    void saw_entries(const std::shared_ptr<Looking>& looking);
    void look_at_mark(const std::shared_ptr<Looking>& looking);
    void load(const std::shared_ptr<Looking>& looking);
    void looked(const Result<void>& outcome);

    // ---- appending ----
    void append_next();
    void on_swapped(store::cas::WriteId write, const Result<store::cas::Swapped>& swapped);
    void confirm();
    void finish(Result<void> outcome);

    // ---- snapshots ----
    void save_if_long();
    void save_chunk(const std::shared_ptr<Saving>& saving);
    void save_mark(const std::shared_ptr<Saving>& saving);
    /// Deletes the documents that begin with `prefix` and for which `is_old` returns true.
    using IsOld = std::function<bool(std::string_view name)>;
    void tidy(std::string prefix, IsOld is_old, const std::string& after);

    Parts parts_;
    store::cas::Document mark_;
    Instant now_;
    Instant look_at_ = Instant::max();
    consensus::LogIndex applied_ = 0;
    consensus::LogIndex saved_ = 0;  ///< the last index in the latest snapshot
    bool looking_ = false, look_again_ = false;
    bool appending_now_ = false;
    bool saving_ = false;
    std::vector<Callback<Result<void>>> until_looked_;
    std::deque<Appending> to_append_;
    Alive alive_;
};

}  // namespace holdfast::agreed
