#include <algorithm>

#include "consensus/replicated_log_impl.h"

namespace holdfast::consensus {
namespace {

constexpr int max_patience = 8;  ///< times resend_after

}  // namespace

void LogTakeover::add(store::quorum::NodeIndex node, const LogPromise& promise) {
    if (!promised_by_.insert(node).second) return;
    committed_ = std::max(committed_, promise.committed);
    if (promise.snapshot && (!snapshot_ || snapshot_->index < promise.snapshot->index)) snapshot_ = promise.snapshot;
    for (const LogDecree& decree : promise.decrees) {
        const auto [at, fresh] = newest_.try_emplace(decree.index, decree);
        if (!fresh && at->second.ballot < decree.ballot) at->second = decree;
    }
}

const LogDecree* LogTakeover::newest(LogIndex index) const {
    const auto found = newest_.find(index);
    return found != newest_.end() ? &found->second : nullptr;
}

void ReplicatedLog::Impl::lead(lease::Token term) {
    const LogBallot ballot{term, parts.node};
    if (role != Role::follower && entries.promised() == ballot) return;
    stop_leading();
    if (ballot <= entries.promised()) return;
    entries.promise(ballot);
    writer.promise(ballot);
    own_promise_after = writer.asked();
    role = Role::preparing;
    leader = parts.node;
    takeover.emplace(entries.committed() + 1);
    ask_for_promises();
}

void ReplicatedLog::Impl::stop_leading() {
    if (role == Role::follower) return;
    role = Role::follower;
    leader.reset();
    takeover.reset();
    followers.clear();
    said_that_disks_fail = false;
    submissions.lost_leadership();
}

void ReplicatedLog::Impl::ask_for_promises() {
    for (store::quorum::NodeIndex node = 0; node < parts.members; ++node)
        if (node != parts.node && !takeover->promised(node))
            parts.send(node, LogPrepare{entries.promised(), takeover->from()});
    prepare_again_at = now + parts.resend_after;
}

void ReplicatedLog::Impl::receive(store::quorum::NodeIndex from, const LogPromise& message) {
    if (role == Role::follower || message.ballot != entries.promised()) return;
    if (!message.granted) return message.promised > message.ballot ? stop_leading() : void();
    if (role != Role::preparing) return;
    takeover->add(from, message);
    take_over_if_promised();
}

void ReplicatedLog::Impl::take_over_if_promised() {
    if (has_majority(takeover->promises())) take_over();
}

/// Completes the entries that a majority may have accepted, under its own ballot (L1). An index for which no entry is
/// known gets an empty one.
void ReplicatedLog::Impl::take_over() {
    const LogTakeover learnt = std::move(*takeover);
    takeover.reset();
    role = Role::leading;
    if (learnt.snapshot() && learnt.snapshot()->index > entries.committed()) install(*learnt.snapshot());
    recovered_to = std::max({entries.last(), learnt.last(), entries.committed()});
    const LogIndex from = entries.committed() + 1;
    bytes_not_committed = 0;
    while (entries.held_to() < recovered_to) {
        std::string value = newest(learnt, entries.held_to() + 1);
        bytes_not_committed += value.size();
        accept(std::move(value));
    }
    for (store::quorum::NodeIndex node = 0; node < parts.members; ++node)
        if (node != parts.node) followers.insert_or_assign(node, Follower{from, from, now, parts.resend_after});
    // Already chosen, as one of the nodes knew; and the chosen entries are the ones found here.
    commit(std::min(learnt.committed(), entries.held_to()));
    append_queued();
    resend(now);
}

std::string ReplicatedLog::Impl::newest(const LogTakeover& learnt, LogIndex index) const {
    const LogDecree* told = learnt.newest(index);
    const bool own = index <= entries.last();
    if (told != nullptr && (!own || entries.at(index).ballot < told->ballot)) return told->value;
    return own ? entries.at(index).value : std::string();
}

void ReplicatedLog::Impl::receive(store::quorum::NodeIndex from, const LogSubmit& message) {
    const bool refused =
        role == Role::follower || message.value.empty() || !submissions.check_room(message.value.size());
    if (refused) return parts.send(from, LogSubmitted{message.number, 0});
    submissions.queue({{{}, from, message.number}, now + parts.give_up_after, message.value});
    append_queued();
}

bool ReplicatedLog::Impl::has_room_for(std::size_t bytes) const {
    const LogIndex not_committed = entries.last() - entries.committed();
    if (not_committed == 0) return true;
    return not_committed < max_entries_in_flight && bytes_not_committed + bytes <= max_bytes_in_flight;
}

void ReplicatedLog::Impl::append_queued() {
    if (role != Role::leading) return;
    while (submissions.has_queued() && has_room_for(submissions.first_queued().size())) {
        std::string value = submissions.place(entries.held_to() + 1);
        bytes_not_committed += value.size();
        accept(std::move(value));
    }
    for (auto& [node, follower] : followers)
        bring_along(node, follower);
    if (parts.members > 1) refuse_if_disks_fail();  // a single member asks its own disk each time
}

bool ReplicatedLog::Impl::disks_fail() const {
    std::size_t failing = disk_failure ? 1 : 0;
    for (const auto& [node, follower] : followers)
        failing += follower.disk_fails ? 1 : 0;
    return !has_majority(parts.members - failing);
}

/// Fails the submissions that wait in vain for a majority of disks. Submissions from another node are answered by that
/// node, which is notified along with the entries.
void ReplicatedLog::Impl::refuse_if_disks_fail() {
    if (role != Role::leading) return;
    const bool fail = disks_fail();
    const bool news = fail && !said_that_disks_fail;
    said_that_disks_fail = fail;
    if (!fail) return;
    submissions.disk_failed(disk_failure ? *disk_failure : disks_of_others_fail());
    if (!news) return;
    for (auto& [node, follower] : followers)
        if (follower.installing == 0) send_entries(node, follower);
}

void ReplicatedLog::Impl::receive(store::quorum::NodeIndex from, const LogAccepted& message) {
    if (role != Role::leading || message.ballot != entries.promised()) return;
    if (!message.granted) return message.promised > message.ballot ? stop_leading() : void();
    Follower& follower = followers.at(from);
    follower.heard_of = true;
    follower.patience = parts.resend_after;
    follower.disk_fails = message.disk_fails;
    follower.durable_to = std::max(follower.durable_to, std::min(message.durable_to, entries.last()));
    follower.lacks_from = follower.durable_to + 1;
    follower.next = std::max(follower.next, follower.lacks_from);
    if (follower.durable_to >= follower.installing) follower.installing = 0;
    follower.bytes_in_flight = 0;
    for (LogIndex index = std::max(follower.durable_to, entries.base()) + 1; index < follower.next; ++index)
        follower.bytes_in_flight += entries.at(index).value.size();
    commit_what_a_majority_has();
    refuse_if_disks_fail();
    bring_along(from, follower);
}

void ReplicatedLog::Impl::receive(store::quorum::NodeIndex from, const LogFetch& message) {
    if (role != Role::leading || message.from == 0) return;
    Follower& follower = followers.at(from);
    follower.heard_of = true;
    follower.patience = parts.resend_after;
    if (follower.installing != 0) return;
    follower.next = std::min(follower.next, message.from);
    follower.lacks_from = std::min(follower.lacks_from, follower.next);
    follower.bytes_in_flight = 0;
    bring_along(from, follower);
}

/// L1: an entry is committed once it is durable on a majority. This node counts once its own disk has the entry.
void ReplicatedLog::Impl::commit_what_a_majority_has() {
    std::vector<LogIndex> durable{durable_to()};
    for (const auto& [node, follower] : followers)
        durable.push_back(follower.durable_to);
    std::sort(durable.begin(), durable.end(), std::greater<>());
    const LogIndex reached = durable[std::size_t{parts.members} / 2];
    if (reached <= entries.committed()) return;
    commit(reached);
    append_queued();
}

/// Sends a follower its next entries, up to the limit in flight, and the commit index.
void ReplicatedLog::Impl::bring_along(store::quorum::NodeIndex node, Follower& follower) {
    if (follower.next <= entries.base() && follower.installing == 0) {
        follower.installing = entries.base();
        follower.next = entries.base() + 1;
        follower.resend_at = now + follower.patience;
        parts.send(node, LogInstall{entries.promised(), *entries.snapshot()});
    }
    if (follower.installing != 0) return;
    while (follower.next <= entries.last() && follower.next - follower.lacks_from < max_entries_in_flight &&
           follower.bytes_in_flight < max_bytes_in_flight)
        send_entries(node, follower);
    if (follower.told_committed < entries.committed()) send_entries(node, follower);
}

/// Sends one message with the next entries that fit into it, or none.
void ReplicatedLog::Impl::send_entries(store::quorum::NodeIndex node, Follower& follower) {
    LogAccept message{entries.promised(), entries.committed(), {}, said_that_disks_fail};
    std::size_t bytes = 0;
    const bool room = follower.bytes_in_flight < max_bytes_in_flight;
    while (room && follower.next <= entries.last() && message.decrees.size() < max_entries_in_flight) {
        const std::string& value = entries.at(follower.next).value;
        if (!message.decrees.empty() && bytes + value.size() > max_message_bytes) break;
        bytes += value.size();
        message.decrees.push_back({follower.next++, entries.promised(), value});
    }
    follower.bytes_in_flight += bytes;
    follower.told_committed = entries.committed();
    follower.resend_at = now + follower.patience;
    parts.send(node, std::move(message));
}

/// Resends with backoff to followers that did not answer in time. A follower that has all entries gets an empty
/// LogAccept, which announces the leader.
void ReplicatedLog::Impl::resend(Instant at) {
    if (role == Role::preparing && prepare_again_at <= at) ask_for_promises();
    for (auto& [node, follower] : followers) {
        if (at < follower.resend_at) continue;
        if (follower.next > follower.lacks_from || follower.installing != 0) {
            follower.patience = std::min<Duration>(follower.patience * 2, parts.resend_after * max_patience);
            follower.next = follower.lacks_from;
            follower.bytes_in_flight = 0;
            follower.installing = 0;
        }
        bring_along(node, follower);
        if (follower.resend_at <= at) send_entries(node, follower);
    }
}

}  // namespace holdfast::consensus
