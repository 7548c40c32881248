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

/// What a clean stop leaves of an acceptor for the next start (Q10).
struct SavedAcceptor {
    struct Register {
        std::string resource;
        RegisterBallots ballots;
        Record record;
    };
    std::vector<Register> registers;
    Ballot forgotten;
    Token highest_token = 0;
    Duration silent_for{};  ///< what was left of its own silence: what it lost before, it has not found since
};

/// The state that a node finds when it starts.
struct OnDisk {
    BootNumber boot = 0;  ///< 0: never started
    Token ceiling = 0;
    std::uint64_t counter = 0;  ///< of the ballots of the life that stopped cleanly
    std::optional<SavedAcceptor> saved;
    std::vector<LifeMark> lives;       ///< of this directory (Q12)
    std::vector<LifeMark> peer_lives;  ///< the latest of the others, by node
    std::optional<Duration> ttl_max;   ///< the longest TTL, as the node's own state has it (S1)
    LogFound log;
};

/// A node's disk: writes finish later, in order; it may finish nothing for a while, or refuse. What was not finished at
/// a crash may or may not be there afterwards, but nothing that came after something that is not.
class Disk {
 public:
    using Change = std::function<void(OnDisk&)>;
    using Done = std::function<void(Result<void>)>;
    static constexpr std::size_t most = 100'000;  ///< writes that wait; more are refused

    Disk(EventQueue& events, std::uint64_t seed) : events_(events), dice_(seed) {}

    const OnDisk& found() const { return durable_; }
    void write(Change change, Done done);

    void stall_for(Duration duration);
    void fail_for(Duration duration);
    void mend();
    /// Nobody waits for these writes any more.
    void crash();

    /// From now on it has this copy of an earlier time, and then again what it had. REQUIRES: nothing is being written.
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
    std::optional<OnDisk> kept_;  // what it had before an earlier copy was put in its place
    std::deque<Write> writes_;    // the first is under way
    TrueInstant stalled_until_, failing_until_;
    std::uint64_t life_ = 0;  // what was planned before a crash does not happen
    bool busy_ = false;
};

/// What a disk that writes this has afterwards of the log.
void write_down(LogFound& log, const LogWrite& write);

}  // namespace holdfast::sim
