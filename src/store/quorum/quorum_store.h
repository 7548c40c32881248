#pragma once

#include <functional>
#include <memory>

#include "base/hash.h"
#include "base/random.h"
#include "store/quorum/acceptor.h"
#include "store/quorum/messages.h"
#include "store/quorum/quorum_config.h"
#include "store/store.h"

namespace holdfast::core {

/// Records as registers on a majority of the nodes' memory (Q1 to Q13). This is one node: an acceptor, and the attempts
/// by which this node's updates reach a majority. No clock, no thread, no socket: whoever drives it says what time it
/// is and carries its messages.
///
/// An update goes: Prepare to all; from a majority's promises the record with the highest ballot (Q6); apply() to it;
/// Accept to all; done when a majority has accepted. When this node was the last to touch the register, its next ballot
/// was promised along with the last Accept, and the Accept alone suffices. Updates of one record that come while an
/// attempt is under way go together in the next one. An update that changes nothing is done when a majority is known to
/// have accepted what it saw, else after that was accepted again.
///
/// The rules see records in the holder's measure of time, acceptors keep them in theirs (ClockRates, Q7), and with
/// `last_token` at the highest token of the promises, which a new token must be above (Q8, Q11). An update that may
/// grant always prepares, so that it has seen it.
///
/// Resources that overlap (lease/resource.h) are registers of their own. What takes a lease on one looks at the others
/// at a majority before and, once it is accepted, after; if it then finds one in its way it takes the lease back and is
/// applied again. Of two at the same time at least one sees the other. What renews one looks after it is accepted, and
/// puts the lease back as it was: an acceptor that heard of it late may show a lease that is over for all others.
///
/// An attempt that got no majority in time may have taken effect. The update is then applied again on what is found,
/// and leases that the failed attempt may have left there, which nobody was told of, are taken out first (Q8). After
/// `give_up_after`, or as soon as no majority is left that could vote, it is done with the error `unavailable`, and
/// what it did is unknown.
class QuorumStore final : public DrivenStore {
 public:
    struct Parts {
        QuorumConfig config;
        StoreListener& listener;
        HashKey hash_key;
        std::uint64_t seed = 0;  ///< of the jitter between attempts
        Instant silent_until{};
        Token highest_token = 0;
        std::uint64_t ballots_from = 0;  ///< the highest counter of an earlier life, if it is known
        /// What the wall clock shows at an instant, by which grants are dated for display; empty: they are not.
        std::function<std::int64_t(Instant)> shown_wall_ms = {};
        /// Carries a message to another node, or loses it. Never called for this node itself. Must not call back.
        std::function<void(Envelope)> send;
    };
    explicit QuorumStore(Parts parts);
    ~QuorumStore() override;

    /// The time, before every call and whenever next_due() is reached. True if there is more to do.
    bool advance(Instant now, std::size_t steps = 1000) override;
    Instant next_due() const override;

    /// A message from another node. What is not for this life of this node, or not from the life of the sender that is
    /// known to be its last, is dropped.
    void receive(Envelope envelope);
    /// The life of a peer that is connected now. Messages go to that one; none if it cannot be reached.
    void set_peer(NodeIndex peer, std::optional<BootNumber> boot);

    /// A peer has said that it takes part in no decision before (Q10).
    void set_silence(NodeIndex peer, Instant until);
    /// That member, this one included, is connected and takes part in decisions.
    bool votes(NodeIndex node) const;
    /// Until a majority of those that are connected votes: zero if it does, nothing if nobody knows.
    std::optional<Duration> decides_in() const;

    void update(std::string_view resource, Update& update) override;
    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<LeaseName>>> reply) override;
    void list(const ListQuery& query, Callback<Result<ListPage>> reply) override;
    std::size_t active_leases() const override;
    std::size_t memory_bytes() const override;

    /// Everything under way is done with the error `unavailable`, and so is whatever comes later: for who is about to
    /// go. The acceptor goes on.
    void stop();

    Acceptor& acceptor();
    /// Proposer that are under way; and in all: attempts, those of one round, those that failed.
    struct Counts {
        std::uint64_t attempts = 0, one_round = 0, failed = 0, given_up = 0;
    };
    std::size_t under_way() const;
    const Counts& counts() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::core
