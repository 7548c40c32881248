#pragma once

#include <deque>
#include <memory>
#include <set>
#include <unordered_map>

#include "base/random.h"
#include "store/cas/text_map.h"
#include "store/quorum/acceptor.h"
#include "store/quorum/counter.h"
#include "store/quorum/deciding.h"
#include "store/quorum/looks.h"
#include "store/quorum/mail.h"
#include "store/quorum/quorum_store.h"
#include "store/quorum/register.h"

namespace holdfast::core {

/// The attempts by which this node's updates reach a majority: for each register one at a time (quorum_store.h says how
/// one goes). What came of them waits in a line until tell() is called, so that nobody is called back half-way.
class Attempts {
 public:
    struct Parts {
        const QuorumConfig& config;
        Acceptor& acceptor;
        Mail& mail;
        Looks& looks;
        HashKey hash_key;
        std::uint64_t seed = 0;
        std::uint64_t ballots_from = 0;
        std::function<std::int64_t(Instant)> shown_wall_ms = {};  ///< may be empty
    };
    explicit Attempts(Parts parts);
    ~Attempts();

    void set_time(Instant now) { now_ = now; }
    /// Fails what is past its time and begins again what has paused long enough. True if there is more to do.
    bool advance(std::size_t steps);
    Instant next_due() const;

    void update(std::string_view resource, Update& update);
    void on_vote(NodeIndex from, Vote vote);
    void stop();
    Counter& counter() { return counter_; }

    /// Calls done() of what is done. Those may update again.
    void tell();

    /// Who was put in a queue by an update of this node, and has been told so.
    using Enqueued = std::function<void(std::string_view resource, const std::vector<std::uint64_t>& waiters)>;
    void on_enqueued(Enqueued told) { enqueued_ = std::move(told); }

    std::size_t under_way() const { return registers_.size(); }
    const QuorumStore::Counts& counts() const { return counts_; }

 private:
    struct Finished {
        Update* update;
        Result<void> outcome;
    };

    Register& open(std::string_view resource);
    void begin(Register& reg);
    void take_in_what_waits(Register& reg);
    void give_up_if_undecidable(Register& reg);
    bool try_one_round(Register& reg);
    void prepare(Register& reg);
    void start(Register& reg, Ballot ballot, Phase phase);
    void on_promise(Register& reg, Vote vote);
    void on_refusal(Register& reg, NodeIndex from, const Vote& vote);
    void decide(Register& reg, const Shown* sight);
    void accept(Register& reg, Record record);
    void on_accepted(Register& reg);
    void look(Register& reg, Phase phase);
    void on_sight(std::string_view resource, std::uint64_t attempt, Result<Shown> sight);
    void take_back(Register& reg);
    void conclude(Register& reg);
    void pause(Register& reg);
    enum class Why : std::uint8_t { late, refused, outrun };
    void fail(Register& reg, Why why);
    void wait_less(Register& reg);
    void set_timer(Register& reg, Instant at);
    void leave(Register& reg);

    const QuorumConfig& config_;
    Acceptor& acceptor_;
    Mail& mail_;
    Looks& looks_;
    std::function<std::int64_t(Instant)> shown_wall_ms_;
    Random random_;
    Counter counter_;
    OwnTokens tokens_;
    Token highest_given_ = 0;  ///< of all attempts, so that none is given twice
    Instant now_;
    TextMap<std::unique_ptr<Register>> registers_;
    std::unordered_map<std::uint64_t, Register*> by_counter_;  ///< of the ballot of the attempt under way
    std::set<std::pair<Instant, Register*>, EarlierRegister> timers_;
    std::deque<Finished> finished_;
    std::size_t updates_ = 0;
    bool stopped_ = false;
    std::uint64_t last_attempt_ = 0;
    QuorumStore::Counts counts_;
    Enqueued enqueued_;
};

}  // namespace holdfast::core
