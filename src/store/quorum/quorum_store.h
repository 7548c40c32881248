#pragma once

#include <functional>
#include <memory>

#include "base/hash.h"
#include "base/random.h"
#include "store/quorum/acceptor.h"
#include "store/quorum/messages.h"
#include "store/quorum/quorum_config.h"
#include "store/store.h"

namespace holdfast::store::quorum {

/// Keeps each record as a register in the memory of a majority of the nodes (Q1 to Q13). This is one node: an acceptor,
/// and the attempts by which this node's updates reach a majority. No clock, no thread, no socket: the caller passes
/// the time and carries the messages.
///
/// An update sends Prepare to all nodes, takes the record with the highest ballot from a majority's promises (Q6),
/// calls apply() on it and sends Accept to all. It is done when a majority has accepted. If this node was the last to
/// write the register, its next ballot was promised along with that Accept, and a new Accept alone suffices. Updates of
/// a record that arrive during an attempt are batched into the next one. An update that changes nothing is done once a
/// majority is known to have accepted the record that it read; otherwise that record is accepted again first.
///
/// Rules see records in the holder's measure of time; acceptors keep them in their own (ClockRates, Q7). Rules also see
/// `last_token` raised to the highest token in the promises, and a new token must be above it (Q8, Q11). An update that
/// may grant therefore always prepares.
///
/// Resources that overlap (lease/resource.h) are separate registers. An update that grants a lease reads the
/// overlapping records from a majority before, and again after the grant is accepted. If it then finds a conflict, it
/// takes the lease back and is applied again. Of two concurrent grants, at least one sees the other. An update that
/// renews a lease reads them after it is accepted, and on a conflict restores the lease: an acceptor that heard of the
/// lease late may still show it although it has ended on all the others. If that read fails, the next attempt restores
/// it.
///
/// An attempt that got no majority in time may have taken effect. The update is then applied again to the record that
/// is found, after the leases that the failed attempt may have left there, which were never reported to anyone, are
/// removed (Q8). After `give_up_after`, or as soon as no majority can vote, the update is done with the error
/// `unavailable`, and its effect is unknown.
class QuorumStore final : public DrivenStore {
 public:
    struct Parts {
        QuorumConfig config;
        StoreListener& listener;
        HashKey hash_key;
        std::uint64_t seed = 0;  ///< of the jitter between attempts
        Instant silent_until{};
        lease::Token highest_token = 0;
        std::uint64_t ballots_from = 0;  ///< the highest counter of an earlier incarnation, if it is known
        /// Wall-clock time at an instant, used to date grants for display. If empty, grants are not dated.
        std::function<std::int64_t(Instant)> shown_wall_ms = {};
        /// Sends a message to another node; it may be lost. Never called for this node itself. Must not call back.
        std::function<void(Envelope)> send;
    };
    explicit QuorumStore(Parts parts);
    ~QuorumStore() override;

    /// Sets the time. Call it before every other call and whenever next_due() is reached. True if there is more to do.
    bool advance(Instant now, std::size_t steps = 1000) override;
    Instant next_due() const override;

    /// Handles a message from another node. Drops it unless it is addressed to this incarnation of this node and comes
    /// from the latest known incarnation of the sender.
    void receive(Envelope envelope);
    /// Sets the incarnation of a connected peer, to which messages go; nullopt if the peer cannot be reached.
    void set_peer(NodeIndex peer, std::optional<BootNumber> boot);

    /// A peer has announced that it does not vote before `until` (Q10).
    void set_silence(NodeIndex peer, Instant until);
    /// True if the member (this one included) is connected and not silent.
    bool votes(NodeIndex node) const;
    /// Time until a majority is connected and votes: zero if it does now, nullopt if too few members are connected.
    std::optional<Duration> decides_in() const;

    void update(std::string_view resource, Update& update) override;
    void leases_of(std::string_view holder, Which which, std::size_t most,
                   Callback<Result<std::vector<lease::LeaseName>>> reply) override;
    void list(const ListQuery& query, Callback<Result<ListPage>> reply) override;
    std::size_t active_leases() const override;
    std::size_t memory_bytes() const override;

    /// Ends all updates and reads under way, and all later ones, with the error `unavailable`. For shutdown. The
    /// acceptor continues to vote.
    void stop();

    Acceptor& acceptor();
    /// Totals since the start. under_way() is the number of registers that are being worked on.
    struct Counts {
        std::uint64_t attempts = 0, one_round = 0, failed = 0, given_up = 0;
    };
    std::size_t under_way() const;
    const Counts& counts() const;

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::store::quorum
