#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consensus/log_messages.h"
#include "store/cas/document.h"

namespace holdfast::core {

/// A log that all fronts of an engine append to and read, as documents of that engine: `log/N`, each written once. The
/// engine is durable, so there is nothing to replicate and nobody leads; who finds the next place taken takes the one
/// after it.
///
/// Now and then a front writes down what the entries came to so far, and takes the old ones out. A front that slept
/// through that begins again from there; and one that wrote to a place below it, where an entry had been, finds out
/// before it tells anybody.
class EngineLog {
 public:
    /// How many entries are left in place before a snapshot, for those who are behind.
    static constexpr LogIndex kept_behind = 1000;

    struct Parts {
        Engine& engine;
        std::function<WriteId()> next_write;
        std::function<void(LogIndex index, const std::string& entry)> apply;
        std::function<std::string()> take_snapshot;
        std::function<Result<void>(const std::string& snapshot)> install;
        LogIndex entries_before_snapshot = 2000;
        std::size_t chunk_bytes = 256 * 1024;  ///< of a snapshot: no engine takes more at once
    };
    explicit EngineLog(Parts parts);
    ~EngineLog();

    /// Reads what is there and new, one entry after the other; answers when there is no more.
    void catch_up(Callback<Result<void>> done);

    /// Answers once it was applied here, as all before it were. With an error, it may still be appended.
    void append(std::string entry, Callback<Result<void>> done);

    /// Looks for what others appended about once a second, and at once when told to by their notice.
    void advance(Instant now);
    Instant next_due() const;
    static constexpr std::string_view notice = "log";
    void on_notice();

    /// The engine may have lost entries: writes down what all that were applied here came to, for fronts that start
    /// later and for those that had applied less.
    void save();

    LogIndex applied() const { return applied_; }

 private:
    struct Mark;  ///< what the document `snapshot` says
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
    void on_swapped(WriteId write, const Result<Swapped>& swapped);
    void confirm();
    void finish(Result<void> outcome);

    // ---- snapshots ----
    void save_if_long();
    void save_chunk(const std::shared_ptr<Saving>& saving);
    void save_mark(const std::shared_ptr<Saving>& saving);
    /// Takes out the documents that begin with `prefix` and for which `is_old` says so.
    using IsOld = std::function<bool(std::string_view name)>;
    void tidy(std::string prefix, IsOld is_old, const std::string& after);

    /// Whatever the engine answers to one that is gone is not heard.
    template <class Function>
    auto if_alive(Function function) {
        return [weak = std::weak_ptr(alive_), function = std::move(function)](auto&&... answer) mutable {
            if (!weak.expired()) function(std::forward<decltype(answer)>(answer)...);
        };
    }

    Parts parts_;
    Document mark_;
    Instant now_;
    Instant look_at_ = Instant::max();
    LogIndex applied_ = 0;
    LogIndex saved_ = 0;  ///< where the last snapshot ends
    bool looking_ = false, look_again_ = false;
    bool appending_now_ = false;
    bool saving_ = false;
    std::vector<Callback<Result<void>>> until_looked_;
    std::deque<Appending> to_append_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace holdfast::core
