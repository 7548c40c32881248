#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "consensus/log_messages.h"
#include "lease/policy.h"
#include "sim/dice.h"
#include "sim/event_queue.h"
#include "store/quorum/acceptor.h"
#include "store/quorum/peer_lives.h"

namespace holdfast::sim {

/// The state of an acceptor that a clean stop saves for the next start (Q10).
struct SavedAcceptor {
    struct Register {
        std::string resource;
        store::quorum::RegisterBallots ballots;
        lease::Record record;
    };
    std::vector<Register> registers;
    store::quorum::Ballot forgotten;
    lease::Token highest_token = 0;
    Duration silent_for{};  ///< the rest of its silence: lost memory stays lost
};

/// The durable state of a node.
struct OnDisk {
    store::quorum::BootNumber boot = 0;  ///< 0: never started
    lease::Token ceiling = 0;
    std::uint64_t counter = 0;  ///< of the ballots of the incarnation that stopped cleanly
    std::optional<SavedAcceptor> saved;
    std::vector<store::quorum::LifeMark> lives;       ///< of this directory (Q12)
    std::vector<store::quorum::LifeMark> peer_lives;  ///< the latest of the other nodes, by node
    std::optional<Duration> ttl_max;                  ///< the longest TTL in the node's own state (S1)
    consensus::LogFound log;
};

/// A node's disk. Writes finish later, in order; the disk may stall or refuse. After a crash a prefix of the unfinished
/// writes is present.
class Disk {
 public:
    using Change = std::function<void(OnDisk&)>;
    using Done = std::function<void(Result<void>)>;
    static constexpr std::size_t most = 100'000;  ///< queued writes; more are refused

    Disk(EventQueue& events, std::uint64_t seed) : events_(events), dice_(seed) {}

    const OnDisk& found() const { return durable_; }
    void write(Change change, Done done);

    void stall_for(Duration duration);
    void fail_for(Duration duration);
    void mend();
    /// Drops the callbacks of all writes.
    void crash();

    /// Replaces the content by an earlier copy; give_back() restores it. REQUIRES: nothing is being written.
    void put_back(OnDisk copy);
    void give_back();
    bool is_copy() const { return kept_.has_value(); }

 private:
    struct Write {
        Change change;
        Done done;
    };
    void begin();
    void finish();

    EventQueue& events_;
    Dice dice_;
    OnDisk durable_;
    std::optional<OnDisk> kept_;  // the content that an earlier copy replaced
    std::deque<Write> writes_;    // the first is in progress
    TrueInstant stalled_until_, failing_until_;
    std::uint64_t life_ = 0;  // events scheduled before a crash are ignored
    bool busy_ = false;
};

/// Applies a write to the log on a disk.
void write_down(consensus::LogFound& log, const consensus::LogWrite& write);

}  // namespace holdfast::sim
