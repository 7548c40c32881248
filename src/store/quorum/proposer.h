#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/hash.h"
#include "store/cas/record_queue.h"
#include "store/quorum/acceptor.h"
#include "store/quorum/messages.h"
#include "store/quorum/peer_transport.h"
#include "store/quorum/quorum_config.h"
#include "store/quorum/quorum_reads.h"
#include "store/quorum/quorum_store.h"
#include "store/store.h"

namespace holdfast::store::quorum {

/// How far an attempt has come.
enum class Phase : std::uint8_t {
    idle,
    preparing,       ///< waiting for promises
    reading_before,  ///< has a majority's promises; reads the overlapping records
    accepting,       ///< waiting for a majority to accept
    reading_after,   ///< a majority has accepted; checks for a concurrent grant that overlaps
    pausing,         ///< backing off
};

/// One attempt at one register, as data.
struct Attempt {
    std::uint64_t number = 0;  ///< unique in this incarnation; matches the replies of quorum reads
    Ballot ballot;
    Ballot next;
    Instant begun;
    Instant deadline;  ///< Q3: counted from its first message
    bool one_round = false;
    bool taking_back = false;

    NodeSet granted;
    NodeSet refused;
    Ballot outbid_by;  ///< the highest ballot that a refusing node had promised to another

    // From the promises:
    Ballot newest;
    cas::RelativeRecord record;
    bool agreed = true;  ///< all that promised have accepted the same, at about the same time
    lease::Token highest_token = 0;

    // From the updates:
    lease::Record result;  ///< as accepted, in this node's instants; only for resources that may overlap
    std::vector<lease::Token> added;
    /// Before the extension, in the acceptors' measure; only for resources that may overlap.
    std::vector<lease::Lease> extended;
    std::vector<std::uint64_t> enqueued;
};

/// A register that this node works on.
struct Register : cas::QueuedWork {
    Phase phase = Phase::idle;
    Attempt attempt;
    /// Tokens of attempts that got no majority in time. Leases with these tokens may be found in the record, but were
    /// never reported to anyone (Q8).
    std::vector<lease::Token> abandoned;
    std::vector<std::uint64_t> enqueued;  ///< by such attempts; they may be found in the queue as well
    /// Leases as they were before such an attempt renewed them. The renewal does not count as long as the record that
    /// is found is the one that this attempt wrote: the overlapping leases were not read after it.
    struct Unconfirmed {
        Ballot ballot;
        std::vector<lease::Lease> leases;
    };
    Unconfirmed unconfirmed;  ///< only for resources that may overlap
};

/// Numbers this node's attempts (Q2). It keeps up with the ballots of the other nodes, so that they seldom refuse each
/// other. It exceeds the durable ceiling of this node's acceptor, and so perhaps that of others, only when it has to.
class Counter {
 public:
    Counter(const QuorumConfig& config, Acceptor& acceptor, std::uint64_t from)
        : config_(config), acceptor_(acceptor), last_(from), heard_(last_) {}

    Ballot next() {
        if (heard_ > last_ && acceptor_.admits_counter(heard_ + margin)) last_ = heard_;
        return {++last_, config_.boot, config_.node};
    }

    void heard(Ballot ballot) {
        if (ballot.counter <= heard_ || ballot.counter > highest) return;
        heard_ = ballot.counter;
        acceptor_.expect_counter(heard_);
    }

    /// The next ballot must be above this one, which caused a refusal. `by` leaves a gap, since the other proposer
    /// continues to count meanwhile and would be ahead again.
    void go_above(Ballot ballot, std::uint64_t by) {
        if (ballot.counter <= highest - by) last_ = std::max(last_, ballot.counter + by);
    }

 private:
    static constexpr std::uint64_t margin = 1 << 16;
    static constexpr std::uint64_t highest = lease::token_limit;  ///< the maximum of a ceiling

    const QuorumConfig& config_;
    Acceptor& acceptor_;
    std::uint64_t last_;
    std::uint64_t heard_;
};

/// The tokens that only this node issues. A lease with one of them is known to be this node's own: two nodes that do
/// not see each other's attempts must not issue the same token (Q8).
class OwnTokens {
 public:
    OwnTokens(NodeIndex node, std::uint8_t members) : node_(node), members_(members) {}

    bool has(lease::Token token) const { return token % members_ == node_; }
    /// The `last_token` that a record must have for its next token to belong to this node and be above `highest`.
    lease::Token before_next(lease::Token highest) const {
        const lease::Token next = highest + 1;
        return highest + (members_ + node_ - next % members_) % members_;
    }

 private:
    NodeIndex node_;
    std::uint8_t members_;
};

/// Runs the attempts by which this node's updates reach a majority, one at a time for each register (quorum_store.h
/// describes an attempt).
class Proposer {
 public:
    struct Parts {
        const QuorumConfig& config;
        Acceptor& acceptor;
        PeerTransport& peers;
        QuorumReads& reads;
        HashKey hash_key;
        std::uint64_t seed = 0;
        std::uint64_t ballots_from = 0;
        std::function<std::int64_t(Instant)> shown_wall_ms = {};  ///< may be empty
    };
    explicit Proposer(Parts parts);
    ~Proposer();

    void set_time(Instant now) { now_ = now; }
    /// Fails attempts past their deadline and restarts those whose backoff has passed. True if there is more to do.
    bool advance(std::size_t steps);
    Instant next_due() const;

    void update(std::string_view resource, Update& update);
    void on_vote(NodeIndex from, Vote vote);
    void stop();
    Counter& counter() { return counter_; }

    /// Calls done() of the finished updates. The callbacks may call update() again.
    void notify() { queue_.notify(); }

    /// Called with the waiters that updates of this node have put in a queue, when these updates succeed.
    using Enqueued = std::function<void(std::string_view resource, const std::vector<std::uint64_t>& waiters)>;
    void on_enqueued(Enqueued told) { enqueued_ = std::move(told); }

    std::size_t under_way() const { return queue_.size(); }
    const QuorumStore::Counts& counts() const { return counts_; }

 private:
    void begin(Register& reg);
    void give_up_if_late(Register& reg);
    void give_up_if_undecidable(Register& reg);
    bool try_one_round(Register& reg);
    void prepare(Register& reg);
    void start(Register& reg, Ballot ballot, Phase phase);
    void on_promise(Register& reg, Vote vote);
    void on_refusal(Register& reg, NodeIndex from, const Vote& vote);
    void decide(Register& reg, const ReadResult* read);
    void accept(Register& reg, lease::Record record);
    void on_accepted(Register& reg);
    void read_neighbours(Register& reg, Phase phase);
    void on_neighbours_read(std::string_view resource, std::uint64_t attempt, Result<ReadResult> read);
    void take_back(Register& reg);
    void conclude(Register& reg);
    void pause(Register& reg);
    enum class Why : std::uint8_t { late, refused, outrun };
    void fail(Register& reg, Why why);
    void wait_less(Register& reg);

    const QuorumConfig& config_;
    Acceptor& acceptor_;
    PeerTransport& peers_;
    QuorumReads& reads_;
    std::function<std::int64_t(Instant)> shown_wall_ms_;
    Counter counter_;
    OwnTokens tokens_;
    lease::Token highest_given_ = 0;  ///< over all attempts, so that no token is issued twice
    Instant now_;
    cas::RecordQueue<Register> queue_;  ///< awaits the votes for a ballot, by its counter
    bool stopped_ = false;
    std::uint64_t last_attempt_ = 0;
    QuorumStore::Counts counts_;
    Enqueued enqueued_;
};

}  // namespace holdfast::store::quorum
