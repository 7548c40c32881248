#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "consensus/replicated_log.h"

namespace holdfast::consensus {

/// A disk that does its writes when told. A crash loses what it has not done.
class WorldDisk final : public LogDisk {
 public:
    void write(LogWrite write, Callback<Result<void>> done) override {
        queue_.push_back({std::move(write), std::move(done)});
    }

    bool busy() const { return !queue_.empty(); }
    void complete(bool fails);
    /// The write under way may have reached the disk although nobody was told.
    void crash(bool reached);
    const LogFound& found() const { return found_; }

 private:
    struct Job {
        LogWrite write;
        Callback<Result<void>> done;
    };
    void store(const LogWrite& write);

    LogFound found_;
    std::deque<Job> queue_;
};

/// One thing that happens. The numbers choose among what is possible then, so that every list of steps is a history.
struct Step {
    int what = 0;
    int which = 0;
    int how = 0;
};

/// Nodes in one process, a network and disks that do what the steps say, leaders by rising terms, and the rules of the
/// log checked at everything that is seen: what one node applies at a place all apply, in order, once per life; what
/// was acknowledged is there for ever.
class LogWorld {
 public:
    struct Options {
        std::uint8_t nodes = 3;
        std::size_t entries_before_snapshot = 8;
        bool looks_at_disks = true;  ///< when something is acknowledged, not only at what becomes of it
    };
    explicit LogWorld(Options options);
    ~LogWorld();

    void run(const Step& step);
    /// The faults stop, one leads, and everything is brought to an end.
    void heal();

    /// The first rule that was broken, in words.
    const std::optional<std::string>& violation() const { return violation_; }

    struct Seen {
        long acknowledged = 0;
        long takeovers = 0;
        long restarts = 0;
        long installs = 0;
        long failed_writes = 0;

        void operator+=(const Seen& more) {
            acknowledged += more.acknowledged;
            takeovers += more.takeovers;
            restarts += more.restarts;
            installs += more.installs;
            failed_writes += more.failed_writes;
        }
    };
    const Seen& seen() const { return seen_; }

    // ---- for tests that say themselves what happens ----
    ReplicatedLog& log(store::quorum::NodeIndex node) { return *nodes_[node].log; }
    WorldDisk& disk(store::quorum::NodeIndex node) { return *nodes_[node].disk; }
    bool up(store::quorum::NodeIndex node) const { return nodes_[node].log != nullptr; }
    bool led() const;
    void lead(store::quorum::NodeIndex node);
    /// Under a number that is returned; the value is made of it.
    int submit(store::quorum::NodeIndex node);
    std::optional<Result<LogIndex>> outcome(int number) const;
    std::vector<std::string> applied(store::quorum::NodeIndex node) const;
    void crash(store::quorum::NodeIndex node, bool write_reached = false);
    void restart(store::quorum::NodeIndex node);
    void cut(store::quorum::NodeIndex from, store::quorum::NodeIndex to, bool is_cut = true);
    void isolate(store::quorum::NodeIndex node, bool is_cut = true);
    void stall(store::quorum::NodeIndex node, bool stalled = true) { nodes_[node].stalled = stalled; }
    void fail_writes(store::quorum::NodeIndex node, bool failing = true) { nodes_[node].failing = failing; }
    void pass(Duration time);
    /// Delivers everything and lets every disk write, until nothing is left to do at this time.
    void quiet();

 private:
    using History = std::map<LogIndex, std::string>;
    struct Node {
        std::unique_ptr<WorldDisk> disk;
        std::unique_ptr<ReplicatedLog> log;
        History history;
        LogIndex last_applied = 0;
        bool stalled = false;
        bool failing = false;
    };
    struct Message {
        store::quorum::NodeIndex from;
        store::quorum::NodeIndex to;
        LogMessage content;
    };

    void start(store::quorum::NodeIndex node);
    void deliver(std::size_t which, bool keep);
    void complete_write(store::quorum::NodeIndex node);
    void on_apply(store::quorum::NodeIndex node, LogIndex index, const std::string& value);
    void on_answer(store::quorum::NodeIndex node, const std::string& value, const Result<LogIndex>& outcome,
                   int number);
    void on_install(store::quorum::NodeIndex node, const std::string& state);
    bool durable_on_a_majority(LogIndex index, const std::string& value) const;
    void chosen(LogIndex index, const std::string& value, const std::string& who);
    void violate(std::string what);
    /// Also until this submission has its answer.
    bool come_to_rest(std::optional<int> with = std::nullopt);
    bool at_rest() const;
    void check_all_have_everything();

    Options options_;
    Instant now_{};
    lease::Token term_ = 100;
    std::uint64_t lives_ = 0;
    int submitted_ = 0;
    std::vector<Node> nodes_;
    std::deque<Message> messages_;
    std::set<std::pair<store::quorum::NodeIndex, store::quorum::NodeIndex>> cuts_;
    History chosen_;        ///< as whoever applied it first had it
    History acknowledged_;  ///< to whoever asked
    std::map<int, Result<LogIndex>> outcomes_;
    std::optional<std::string> violation_;
    Seen seen_;
};

/// A history made of a seed, with its end. Returns what was broken.
struct RandomHistory {
    std::uint8_t nodes = 3;
    int steps = 400;
    std::uint64_t seed = 1;
    bool looks_at_disks = true;
};
std::optional<std::string> run_history(const RandomHistory& history, LogWorld::Seen* seen = nullptr);

}  // namespace holdfast::consensus
