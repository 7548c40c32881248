#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "store/quorum/messages.h"
#include "store/quorum/quorum_config.h"
#include "store/store.h"

namespace holdfast::store::memory {
class MemoryStore;
}

namespace holdfast::store::quorum {

/// One node's share of every register: the ballots, and the records in an embedded store. A pure state machine: time is
/// an argument, and answers are return values.
///
/// A register with nothing left to remember is dropped. An absent register counts as promised at the highest ballot
/// that was ever dropped. A message older than the drop therefore finds its ballot too low, and no ended lease comes
/// back.
///
/// Promises also survive a loss of memory: an acceptor promises no ballot whose counter is above its durable ceiling,
/// and an acceptor that lost its memory counts every register as promised at the ceiling that it finds. Otherwise a
/// register could be written with lower ballots than those that another acceptor still has, and the older record would
/// win (Q6).
class Acceptor {
 public:
    struct Parts {
        const QuorumConfig& config;
        StoreListener& listener;  ///< notified of accepted changes and of leases that end here
        HashKey hash_key;
        Instant silent_until{};          ///< Q10: it answers nothing before; Instant{} if no memory was lost
        lease::Token highest_token = 0;  ///< the durable ceiling read at start (Q11)
    };
    explicit Acceptor(Parts parts);
    ~Acceptor();

    /// As MemoryStore::advance(). REQUIRES: time does not go back.
    bool advance(Instant now, std::size_t steps = 1000);
    Instant next_due() const;

    /// Nullopt while silent. REQUIRES: advance() was called with the time of arrival.
    std::optional<Vote> prepare(const Prepare& message);
    std::optional<Vote> accept(Accept message);
    std::optional<ReadReply> answer(const ReadRequest& message);

    /// Tokens and ballot counters above the ceiling are not granted, since a restart must not forget them (Q11). The
    /// owner of the disk raises the ceiling ahead of need; wants_ceiling() returns the value to reach, at most once for
    /// each.
    void raise_token_ceiling(lease::Token durable);
    std::optional<lease::Token> wants_ceiling();
    lease::Token highest_token() const;
    lease::Token token_headroom() const;  ///< unused numbers below the ceiling
    /// Ballots up to this counter are to be expected: the ceiling should be above it.
    void expect_counter(std::uint64_t counter);
    bool admits_counter(std::uint64_t counter) const;

    Duration silent_for() const;

    /// For this node's own attempts. A majority accepted `ballot` and promised `next` with it. While this acceptor has
    /// heard of nothing newer, its record is the one that a Prepare of `next` would return.
    struct Chosen {
        Ballot next;
        lease::Record record;
    };
    void mark_chosen(std::string_view resource, Ballot ballot, Ballot next);
    std::optional<Chosen> chosen(std::string_view resource);

    /// Saves and restores records and ballots over a clean stop (Q10).
    using Visit =
        std::function<void(std::string_view resource, const RegisterBallots& ballots, const lease::Record& record)>;
    void for_each_register(const Visit& visit) const;
    void restore(std::string_view resource, const RegisterBallots& ballots, const lease::Record& record);
    Ballot forgotten() const;  ///< the highest ballot ever dropped; kept over a clean stop as well
    void restore_forgotten(Ballot ballot);

    /// The records at this node, for lists (Store::list, in the acceptor's measure of time).
    const memory::MemoryStore& records() const;
    memory::MemoryStore& records();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::store::quorum
