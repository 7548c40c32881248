#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "store/quorum/messages.h"
#include "store/quorum/quorum_config.h"
#include "store/store.h"

namespace holdfast::core {

class MemoryStore;

/// One node's share of every register: the ballots, and the records in an embedded store. A pure state machine: time is
/// an argument, and its answers are return values.
///
/// A register that has nothing left to remember is dropped. An absent one counts as promised at the highest ballot that
/// was ever dropped, so that a message that is older than the forgetting finds its ballot too low, and no lease comes
/// back that had ended.
///
/// Promises outlive the memory as well: an acceptor promises no ballot whose counter is above its durable ceiling, and
/// one that lost its memory counts every register as promised at the ceiling that it found. Otherwise a register could
/// be written with lower ballots than those that another acceptor still has, and the older record would win (Q6).
class Acceptor {
 public:
    struct Parts {
        const QuorumConfig& config;
        StoreListener& listener;  ///< hears of what is accepted and of what ends here
        HashKey hash_key;
        Instant silent_until{};   ///< Q10: until then it answers nothing; none if it has lost no memory
        Token highest_token = 0;  ///< the durable ceiling found at start (Q11)
    };
    explicit Acceptor(Parts parts);
    ~Acceptor();

    /// As MemoryStore's. REQUIRES: time does not go back.
    bool advance(Instant now, std::size_t steps = 1000);
    Instant next_due() const;

    /// Nothing while it is silent. REQUIRES: advance() was told the time of arrival.
    std::optional<Vote> prepare(const Prepare& message);
    std::optional<Vote> accept(Accept message);
    std::optional<Seen> look(const Look& message);

    /// What has tokens, or a ballot with a counter, above this ceiling is not granted, for a restart must not forget
    /// them (Q11). Raised ahead of need by whoever has a disk; wants_ceiling() says when, at most once for each.
    void raise_token_ceiling(Token durable);
    std::optional<Token> wants_ceiling();
    Token highest_token() const;
    Token token_headroom() const;  ///< below the ceiling
    /// Ballots up to this counter are on their way: the ceiling should be above it.
    void expect_counter(std::uint64_t counter);
    bool admits_counter(std::uint64_t counter) const;

    Duration silent_for() const;

    /// For this node's own attempts. A majority accepted `ballot` and promised `next` with it; while this acceptor has
    /// heard of nothing newer, its record is what a Prepare of `next` would bring.
    struct Chosen {
        Ballot next;
        Record record;
    };
    void mark_chosen(std::string_view resource, Ballot ballot, Ballot next);
    std::optional<Chosen> chosen(std::string_view resource);

    /// Records and ballots for a clean stop, and for the start after it (Q10).
    using Visit = std::function<void(std::string_view resource, const RegisterBallots& ballots, const Record& record)>;
    void for_each_register(const Visit& visit) const;
    void restore(std::string_view resource, const RegisterBallots& ballots, const Record& record);
    Ballot forgotten() const;  ///< the highest ballot ever dropped; kept over a clean stop as well
    void restore_forgotten(Ballot ballot);

    /// What this node holds, for lists (Store::list, in the acceptor's measure of time).
    const MemoryStore& records() const;
    MemoryStore& records();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::core
