#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "client/held_until.h"

namespace holdfast::client::sessions {

/// The end of one session's ownership, read by any thread while one thread moves it. Each acquisition of the session
/// begins a new turn; within a turn, ownership that was seen to have ended never comes back.
class OwnedUntil {
 public:
    explicit OwnedUntil(std::string session) : session_(std::move(session)) {}

    const std::string& session() const { return session_; }

    template <class Clock>
    bool held_by(Clock clock) noexcept {
        return until_.held_by(clock);
    }
    /// The same, within one turn.
    template <class Clock>
    bool held_by(Clock clock, std::uint64_t turn) noexcept {
        return held_by(clock) && turn_.load(std::memory_order_acquire) == turn;
    }

    /// For the one thread that moves it. Extends the turn, or begins a new one if it is over.
    void hold_until(HolderInstant end, HolderInstant now) noexcept;
    void finish() noexcept { until_.finish(); }

    std::uint64_t turn() const noexcept { return turn_.load(std::memory_order_acquire); }
    HolderInstant end() const noexcept { return until_.end(); }

 private:
    const std::string session_;
    HeldUntil until_;
    std::atomic<std::uint64_t> turn_{0};
};

/// Sessions by id. Any thread may look one up without a lock, while one thread at a time adds and removes. Readers are
/// counted; a replaced table is freed once there are no readers.
class OwnedTable {
 public:
    OwnedTable();
    ~OwnedTable();
    OwnedTable(const OwnedTable&) = delete;
    OwnedTable& operator=(const OwnedTable&) = delete;

    /// True if the session is in the table and held.
    template <class Clock>
    bool held_by(std::string_view session, Clock clock) const noexcept {
        const Visit visit{readers_};
        OwnedUntil* const found = find(session);
        return found != nullptr && found->held_by(clock);
    }

    /// REQUIRES: the following three are called by one thread at a time.
    std::shared_ptr<OwnedUntil> add(const std::string& session);
    std::shared_ptr<OwnedUntil> get(const std::string& session) const;
    void remove(const std::string& session);

 private:
    struct Slots;
    struct Visit {
        explicit Visit(std::atomic<std::uint64_t>& readers) : count(readers) {
            count.fetch_add(1, std::memory_order_seq_cst);
        }
        ~Visit() { count.fetch_sub(1, std::memory_order_seq_cst); }
        std::atomic<std::uint64_t>& count;
    };

    OwnedUntil* find(std::string_view session) const noexcept;
    void rebuild();
    void free_retired();

    std::map<std::string, std::shared_ptr<OwnedUntil>, std::less<>> sessions_;
    mutable std::atomic<std::uint64_t> readers_{0};
    std::atomic<Slots*> slots_{nullptr};
    std::size_t removed_ = 0;  ///< still in the slots
    std::vector<std::unique_ptr<Slots>> retired_;
    std::vector<std::shared_ptr<OwnedUntil>> unused_;  ///< removed, but in slots that may still be read
};

}  // namespace holdfast::client::sessions
