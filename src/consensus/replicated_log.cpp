#include "consensus/replicated_log.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "consensus/replicated_log_impl.h"

namespace holdfast::consensus {

ReplicatedLog::ReplicatedLog(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

ReplicatedLog::~ReplicatedLog() = default;

void ReplicatedLog::advance(Instant now) {
    impl_->now = now;
    impl_->submissions.give_up(now);
    impl_->resend(now);
    impl_->settle();
}

Instant ReplicatedLog::next_due() const {
    Instant due = std::min(impl_->submissions.due(), impl_->writer.due());
    if (impl_->takeover) due = std::min(due, impl_->prepare_again_at);
    for (const auto& [node, follower] : impl_->followers)
        due = std::min(due, follower.resend_at);
    return due;
}

void ReplicatedLog::receive(store::quorum::NodeIndex from, const LogMessage& message) {
    if (from == impl_->parts.node || from >= impl_->parts.members) return;
    std::visit([&](const auto& one) { impl_->receive(from, one); }, message);
    impl_->settle();
}

void ReplicatedLog::lead(lease::Token term) {
    impl_->lead(term);
    impl_->settle();
}

void ReplicatedLog::follow(std::optional<store::quorum::NodeIndex> leader) {
    impl_->stop_leading();
    if (std::exchange(impl_->leader, leader) != leader) impl_->fetch_missing(true);
    impl_->settle();
}

bool ReplicatedLog::leads() const {
    return impl_->role == Impl::Role::leading && impl_->entries.committed() >= impl_->recovered_to;
}

std::optional<store::quorum::NodeIndex> ReplicatedLog::leader() const {
    return impl_->leader;
}

void ReplicatedLog::append(std::string value, Callback<Result<LogIndex>> done) {
    HOLDFAST_ASSERT(!value.empty());
    impl_->append(std::move(value), std::move(done));
    impl_->settle();
}

LogIndex ReplicatedLog::committed() const {
    return impl_->entries.committed();
}

LogIndex ReplicatedLog::applied() const {
    return impl_->applied;
}

LogBallot ReplicatedLog::ballot() const {
    return impl_->entries.promised();
}

std::optional<LogIndex> ReplicatedLog::durable_on(store::quorum::NodeIndex node) const {
    const auto found = impl_->followers.find(node);
    if (found == impl_->followers.end() || !found->second.heard_of) return std::nullopt;
    return found->second.durable_to;
}

// ---- every node: accept, commit, apply ----

namespace {

/// An entry that a majority has accepted is chosen, and a single member is a majority.
LogFound known_by(std::uint8_t members, LogFound found) {
    if (members == 1 && !found.decrees.empty()) found.committed = found.decrees.back().index;
    return found;
}

}  // namespace

ReplicatedLog::Impl::Impl(Parts given)
    : parts(std::move(given)),
      entries(known_by(parts.members, std::move(parts.found))),
      writer({parts.disk, parts.resend_after, [this](const LogWrite& write) { on_durable(write); },
              [this](const Error& error) { on_disk_failed(error); }}),
      submissions(Random(parts.seed).next() >> 16) {
    HOLDFAST_ASSERT(parts.members > 0 && parts.node < parts.members);
    if (entries.snapshot()) parts.install(entries.snapshot()->state);
    applied = entries.base();
    apply_committed();
}

void ReplicatedLog::Impl::receive(store::quorum::NodeIndex from, const LogPrepare& message) {
    if (message.ballot.node != from) return;
    follow_ballot(from, message.ballot);
    reply_when_durable({Promised{message.from}, from, message.ballot});
}

void ReplicatedLog::Impl::receive(store::quorum::NodeIndex from, const LogAccept& message) {
    if (message.ballot.node != from) return;
    follow_ballot(from, message.ballot);
    if (message.ballot < entries.promised()) return reply_when_durable({Accepted{}, from, message.ballot});
    for (const LogDecree& decree : message.decrees)
        if (decree.index == entries.held_to() + 1) accept(decree.value);
    reply_when_durable({Accepted{}, from, message.ballot});
    const bool gap = !message.decrees.empty() && message.decrees.back().index > entries.held_to();
    // The leader's commit index holds here only for entries accepted under its ballot.
    commit(std::min(message.committed, entries.held_to()));
    if (gap || message.committed > entries.held_to()) fetch_missing(false);
    if (message.disks_fail) submissions.disks_fail_elsewhere();
}

void ReplicatedLog::Impl::receive(store::quorum::NodeIndex from, const LogInstall& message) {
    if (message.ballot.node != from) return;
    follow_ballot(from, message.ballot);
    if (message.ballot == entries.promised() && message.snapshot.index > entries.committed()) install(message.snapshot);
    reply_when_durable({Accepted{}, from, message.ballot});
}

void ReplicatedLog::Impl::receive(store::quorum::NodeIndex, const LogSubmitted& message) {
    submissions.forwarded_is_at(message.number, message.index);
    submissions.applied_to(applied);
}

/// Follows a ballot that is not below the promised one. A deposed leader stops leading (L1).
void ReplicatedLog::Impl::follow_ballot(store::quorum::NodeIndex leading, LogBallot ballot) {
    if (ballot < entries.promised()) return;
    if (ballot > entries.promised()) {
        stop_leading();
        entries.promise(ballot);
        writer.promise(ballot);
    }
    leader = leading;
}

/// Keeps one reply of each kind per node: the last covers those before it.
void ReplicatedLog::Impl::reply_when_durable(Reply reply) {
    reply.after = writer.asked();
    std::erase_if(replies, [&](const Reply& other) {
        return other.to == reply.to && other.what.index() == reply.what.index() && other.ballot <= reply.ballot;
    });
    replies.push_back(std::move(reply));
}

void ReplicatedLog::Impl::send_replies() {
    std::vector<Reply> waiting;
    for (Reply& reply : std::exchange(replies, {})) {
        const bool refused = reply.ballot < entries.promised();
        if (refused || reply.after <= writer.durable())
            send_reply(reply);
        else
            waiting.push_back(std::move(reply));
    }
    replies = std::move(waiting);
}

void ReplicatedLog::Impl::send_reply(const Reply& reply) {
    const bool granted = reply.ballot == entries.promised();
    if (const auto* promised = std::get_if<Promised>(&reply.what))
        parts.send(reply.to, promise_of(reply, promised->from));
    else
        parts.send(reply.to, LogAccepted{reply.ballot, granted, entries.promised(), granted ? durable_to() : 0});
}

LogPromise ReplicatedLog::Impl::promise_of(const Reply& reply, LogIndex from) const {
    LogPromise promise{.ballot = reply.ballot,
                       .granted = reply.ballot == entries.promised(),
                       .promised = entries.promised(),
                       .committed = entries.committed(),
                       .snapshot = {},
                       .decrees = {}};
    if (!promise.granted) return promise;
    if (from <= entries.base()) promise.snapshot = entries.snapshot();
    promise.decrees = entries.from(std::max(from, entries.base() + 1));
    return promise;
}

LogIndex ReplicatedLog::Impl::durable_to() const {
    return entries.durable_to();
}

/// Asks the leader for the entries after held_to(). Repeats the same request only after a while, unless `again`.
void ReplicatedLog::Impl::fetch_missing(bool again) {
    const LogIndex from = entries.held_to() + 1;
    if (!again && fetched_from == from && now < fetch_again_at) return;
    if (!leader || *leader == parts.node) return;
    fetched_from = from;
    fetch_again_at = now + parts.resend_after;
    parts.send(*leader, LogFetch{from});
}

void ReplicatedLog::Impl::accept(std::string value) {
    writer.accept({entries.held_to() + 1, entries.promised(), value});
    entries.accept(std::move(value));
}

void ReplicatedLog::Impl::install(LogSnapshot snapshot) {
    parts.install(snapshot.state);
    applied = snapshot.index;
    bytes_since_snapshot = 0;
    writer.snapshot(snapshot);
    writer.commit(snapshot.index);
    entries.install(std::move(snapshot));
    submissions.applied_to(applied);
}

void ReplicatedLog::Impl::commit(LogIndex index) {
    if (index <= entries.committed()) return;
    if (role == Role::leading)
        for (LogIndex done = entries.committed() + 1; done <= index; ++done)
            bytes_not_committed -= entries.at(done).value.size();
    entries.commit(index);
    writer.commit(index);
    apply_committed();
}

void ReplicatedLog::Impl::apply_committed() {
    while (applied < entries.committed()) {
        const LogEntries::Entry& entry = entries.at(++applied);
        bytes_since_snapshot += entry.value.size();
        if (!entry.value.empty()) parts.apply(applied, entry.value);
    }
    submissions.applied_to(applied);
    fold();
}

void ReplicatedLog::Impl::fold() {
    if (applied - entries.base() < parts.entries_before_snapshot && bytes_since_snapshot < bytes_before_snapshot)
        return;
    LogSnapshot snapshot{applied, parts.take_snapshot()};
    bytes_since_snapshot = 0;
    writer.snapshot(snapshot);
    entries.install(std::move(snapshot));
}

void ReplicatedLog::Impl::on_durable(const LogWrite& write) {
    entries.written(write);
    disk_failure.reset();
    if (role == Role::preparing && writer.durable() >= own_promise_after) {
        takeover->own_promise(parts.node);
        take_over_if_promised();
    }
    if (role == Role::leading) commit_what_a_majority_has();
    settle();
}

void ReplicatedLog::Impl::on_disk_failed(const Error& error) {
    disk_failure = error;
    report_disk_failure();
    refuse_if_disks_fail();
    settle();
}

/// Reports to the leader at once that the disk fails the write it waits for. The write is retried all the same.
void ReplicatedLog::Impl::report_disk_failure() {
    for (const Reply& reply : replies)
        if (std::holds_alternative<Accepted>(reply.what) && reply.ballot == entries.promised())
            parts.send(reply.to, LogAccepted{reply.ballot, true, reply.ballot, durable_to(), true});
}

void ReplicatedLog::Impl::append(std::string value, LogSubmissions::Done done) {
    LogSubmissions::Waiting waiting{{std::move(done), parts.node, 0}, now + parts.give_up_after, {}};
    if (auto room = submissions.check_room(value.size()); !room) return waiting.asker.done(room.error());
    if (role != Role::follower) {
        waiting.value = std::move(value);
        submissions.queue(std::move(waiting));
        return append_queued();
    }
    if (!leader || *leader == parts.node)
        return waiting.asker.done(Error{Code::unavailable, "nobody leads the log at the moment; try again in a while"});
    const std::uint64_t number = submissions.forward(std::move(waiting));
    parts.send(*leader, LogSubmit{number, std::move(value)});
}

void ReplicatedLog::Impl::settle() {
    writer.flush(now);
    send_replies();
    if (answering) return;
    answering = true;
    while (auto answer = submissions.take_answer())
        say(std::move(*answer));
    answering = false;
}

void ReplicatedLog::Impl::say(LogSubmissions::Answer answer) {
    LogSubmissions::Asker& asker = answer.asker;
    if (asker.node == parts.node) return asker.done(std::move(answer.outcome));
    if (answer.outcome || answer.certainly_not)
        parts.send(asker.node, LogSubmitted{asker.number, answer.outcome ? *answer.outcome : 0});
}

}  // namespace holdfast::consensus
