#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "consensus/log_entries.h"
#include "consensus/log_submissions.h"
#include "consensus/log_writer.h"
#include "consensus/replicated_log.h"

namespace holdfast::consensus {

/// The state that a new leader has learnt from the nodes that promised to follow it (L1): for each index the entry with
/// the highest ballot. If an entry was chosen there, a majority accepted it, so every majority includes a node that
/// reports it, and any entry with a higher ballot at that index is the same.
class LogTakeover {
 public:
    explicit LogTakeover(LogIndex from) : from_(from) {}

    LogIndex from() const { return from_; }
    bool promised(store::quorum::NodeIndex node) const { return promised_by_.contains(node); }
    std::size_t promises() const { return promised_by_.size(); }

    void own_promise(store::quorum::NodeIndex node) { promised_by_.insert(node); }
    /// Counts repliers, not replies (Q4).
    void add(store::quorum::NodeIndex node, const LogPromise& promise);

    LogIndex committed() const { return committed_; }
    LogIndex last() const { return newest_.empty() ? 0 : newest_.rbegin()->first; }
    const std::optional<LogSnapshot>& snapshot() const { return snapshot_; }
    const LogDecree* newest(LogIndex index) const;

 private:
    LogIndex from_;
    std::set<store::quorum::NodeIndex> promised_by_;
    std::map<LogIndex, LogDecree> newest_;
    std::optional<LogSnapshot> snapshot_;
    LogIndex committed_ = 0;
};

/// The acceptor and the learner are in replicated_log.cpp, the leader is in log_leader.cpp.
struct ReplicatedLog::Impl {
    enum class Role : std::uint8_t { follower, preparing, leading };

    /// A follower as its leader sees it.
    struct Follower {
        LogIndex next = 1;        ///< the first entry not sent yet
        LogIndex lacks_from = 1;  ///< the first entry it is not known to have; resent from here on a timeout
        Instant resend_at{};
        Duration patience{};      ///< resend interval; grows while there is no answer
        LogIndex durable_to = 0;  ///< as reported under this ballot
        LogIndex told_committed = 0;
        std::size_t bytes_in_flight = 0;
        LogIndex installing = 0;  ///< a snapshot up to here is in flight; nothing else is sent until it is confirmed
        bool heard_of = false;
        bool disk_fails = false;  ///< as reported last
    };

    /// A reply that is sent once the state that it reports is durable.
    struct Promised {
        LogIndex from = 1;
    };
    struct Accepted {};
    struct Reply {
        std::variant<Promised, Accepted> what;
        store::quorum::NodeIndex to = 0;
        LogBallot ballot;
        std::uint64_t after = 0;  ///< LogWriter::asked()
    };

    explicit Impl(Parts given);

    // ---- every node: accept, commit, apply ----
    void receive(store::quorum::NodeIndex from, const LogPrepare& message);
    void receive(store::quorum::NodeIndex from, const LogAccept& message);
    void receive(store::quorum::NodeIndex from, const LogInstall& message);
    void receive(store::quorum::NodeIndex from, const LogSubmitted& message);
    void follow_ballot(store::quorum::NodeIndex leading, LogBallot ballot);
    void reply_when_durable(Reply reply);
    void send_replies();
    void send_reply(const Reply& reply);
    LogPromise promise_of(const Reply& reply, LogIndex from) const;
    LogIndex durable_to() const;
    void fetch_missing(bool again);
    void accept(std::string value);
    void install(LogSnapshot snapshot);
    void commit(LogIndex index);
    void apply_committed();
    void fold();
    void on_durable(const LogWrite& write);
    void on_disk_failed(const Error& error);
    void report_disk_failure();

    // ---- the leader: take over, append, replicate ----
    void lead(lease::Token term);
    void stop_leading();
    void ask_for_promises();
    void receive(store::quorum::NodeIndex from, const LogPromise& message);
    void receive(store::quorum::NodeIndex from, const LogAccepted& message);
    void receive(store::quorum::NodeIndex from, const LogFetch& message);
    void receive(store::quorum::NodeIndex from, const LogSubmit& message);
    bool has_majority(std::size_t nodes) const { return nodes >= std::size_t{parts.members} / 2 + 1; }
    void take_over_if_promised();
    void take_over();
    std::string newest(const LogTakeover& learnt, LogIndex index) const;
    void append_queued();
    bool has_room_for(std::size_t bytes) const;
    void commit_what_a_majority_has();
    bool disks_fail() const;
    void refuse_if_disks_fail();
    void bring_along(store::quorum::NodeIndex node, Follower& follower);
    void send_entries(store::quorum::NodeIndex node, Follower& follower);
    void resend(Instant now);

    void append(std::string value, LogSubmissions::Done done);
    /// At the end of every turn: starts writing and sends the answers that are ready.
    void settle();
    void say(LogSubmissions::Answer answer);

    Parts parts;
    Instant now{};
    LogEntries entries;
    LogWriter writer;
    LogSubmissions submissions;
    Role role = Role::follower;
    std::optional<store::quorum::NodeIndex> leader;
    LogIndex applied = 0;
    std::size_t bytes_since_snapshot = 0;
    std::vector<Reply> replies;
    LogIndex fetched_from = 0;
    Instant fetch_again_at{};
    bool answering = false;
    std::optional<Error> disk_failure;  ///< of the last write

    std::optional<LogTakeover> takeover;
    LogIndex recovered_to = 0;
    std::size_t bytes_not_committed = 0;
    std::uint64_t own_promise_after = 0;  ///< LogWriter::asked()
    Instant prepare_again_at{};
    std::map<store::quorum::NodeIndex, Follower> followers;
    bool said_that_disks_fail = false;
};

}  // namespace holdfast::consensus
