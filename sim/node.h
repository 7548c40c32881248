#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "authority/authority.h"
#include "sim/disk.h"
#include "sim/log_checker.h"
#include "sim/network.h"
#include "sim/trace.h"
#include "store/quorum/peer_lives.h"
#include "store/quorum/quorum_store.h"

namespace holdfast::agreed {
class ClusterState;
}

namespace holdfast::sim {

/// The longest TTL in these worlds. It is short, so that much happens in little time.
inline constexpr Duration longest_ttl = 10s;

/// The settings that the members of the simulated cluster agree on.
store::quorum::QuorumConfig quorum_config(const Scenario& scenario, unsigned node, store::quorum::BootNumber boot);

/// A node of the cluster: a clock, a disk and, while it is up, the shipped authority, quorum store and log. It does for
/// them what the server does: it passes the time, sends their messages and keeps their durable state.
class Node {
 public:
    using InLife = std::function<void(const std::function<void()>&)>;  ///< runs it if that incarnation is still up

    struct Parts {
        unsigned index = 0;
        const Scenario& scenario;
        EventQueue& events;
        Network& network;
        Trace& trace;
        LogChecker& log_checker;
        std::function<void(store::quorum::Envelope)> send;
        std::function<void(unsigned to, consensus::LogMessage message)> send_log;
        std::function<void(unsigned node)> started;  ///< it is up, and its peers may meet it
    };
    explicit Node(Parts parts);
    ~Node();

    /// Writes the boot number first, which must be durable before anything is sent (Q2).
    void start();
    void crash(bool reboot);
    /// Answers waiting requests, saves its registers (Q10), stops, and starts again after `down`.
    void stop(Duration down);
    void pause_for(Duration duration);
    /// Call this at the end of the world, while all objects that it may call still exist.
    void close();

    bool alive() const { return life_ != nullptr; }
    store::quorum::BootNumber boot() const { return boot_; }
    const std::string& name() const { return name_; }
    Disk& disk() { return disk_; }
    store::quorum::QuorumStore* store();

    void receive(store::quorum::Envelope envelope);
    void receive_log(unsigned from, consensus::LogMessage message);

    /// Q12, as the peer door and the server do it. REQUIRES for the first two: the node is up.
    struct Introduction {
        store::quorum::LifeMark life;
        std::vector<store::quorum::LifeMark> known;
    };
    Introduction introduction() const;
    bool admits(unsigned peer, const Introduction& theirs) const;
    void meet(unsigned peer, Introduction theirs);  ///< takes part with it once that is on disk
    void part(unsigned peer);
    store::quorum::LifeMark life() const { return peers_ ? peers_->own() : store::quorum::LifeMark{}; }
    /// Whether messages of that incarnation of a peer are accepted.
    bool hears(unsigned peer, store::quorum::LifeMark life) const;

    /// Crashes, and replaces the directory by the copy from a clean stop. False if there is no copy.
    bool put_back_copy();
    bool runs_on_copy() const { return disk_.is_copy(); }
    /// Crashes, and restores the directory that the copy replaced.
    void give_back();

    /// A request of a client; lost if the node is down. The answer must go through answer(), so that a node that has
    /// crashed in between does not send it.
    using Ask = std::function<void(authority::Authority&, std::uint64_t life)>;
    void ask(Ask work);
    void answer(std::uint64_t life, Network::Place to, EventQueue::Action deliver);

    /// The state that the node has applied from the log, while it is up.
    const agreed::ClusterState* state() const;
    consensus::LogIndex applied() const;

 private:
    struct Life;
    using Work = std::function<void(Life&)>;
    static constexpr std::size_t max_backlog = 100'000;

    void begin_life(const OnDisk& found);
    void run(Work work);
    void do_now(const Work& work);
    void observe_log();
    void keep_ceilings();
    void write_ceiling(lease::Token ceiling);
    void write_peer_lives();
    void tell_of_peers(Life& life);
    void plan_next();
    void reset_clock();
    void stop_soon(Duration down);
    void finish_stop(Duration down);
    std::unique_ptr<Life> end_life();
    Instant local_now() const { return Instant{clock_.reading(parts_.events.now())}; }
    template <class... What>
    void note(const What&... what) {
        parts_.trace.note(parts_.events.now(), name_, what...);
    }

    Parts parts_;
    std::string name_;
    Dice dice_;
    SimClock clock_;
    Duration wall_offset_{};
    Disk disk_;
    std::unique_ptr<Life> life_;
    store::quorum::BootNumber boot_ = 0;
    std::optional<store::quorum::PeerLives> peers_;                    // of the present incarnation
    std::vector<std::optional<store::quorum::LifeMark>> connected_;    // by node
    std::vector<std::optional<store::quorum::LifeMark>> taking_part_;  // those of them that the store knows
    bool writing_lives_ = false;
    std::optional<OnDisk> copy_;  // from a clean stop
    std::uint64_t lives_ = 0;     // raised by each start, stop and crash: events scheduled before are ignored
    bool starting_ = false;
    TrueInstant paused_until_;
    std::deque<Work> backlog_;  // work that arrived while it was paused
    TrueInstant wakes_at_ = TrueInstant::max();
};

}  // namespace holdfast::sim
