#include "codec/peer/message_codec.h"
#include "codec/peer/peer_messages.h"
#include "consensus/replicated_log.h"

namespace holdfast::codec::peer {
namespace {

static_assert(consensus::ReplicatedLog::max_snapshot_bytes + consensus::ReplicatedLog::max_bytes_in_flight <
                  max_frame_bytes,
              "a promise travels whole");

void write(const consensus::LogBallot& ballot, pb::LogBallot& to) {
    to.set_term(ballot.term);
    to.set_node(ballot.node);
}

void write(const consensus::LogSnapshot& snapshot, pb::LogSnapshot& to) {
    to.set_index(snapshot.index);
    to.set_state(snapshot.state);
}

void write_all(const std::vector<consensus::LogDecree>& decrees,
               google::protobuf::RepeatedPtrField<pb::LogDecree>& to) {
    to.Reserve(static_cast<int>(decrees.size()));
    for (const consensus::LogDecree& decree : decrees) {
        pb::LogDecree& added = *to.Add();
        added.set_index(decree.index);
        write(decree.ballot, *added.mutable_ballot());
        added.set_value(decree.value);
    }
}

void write(const consensus::LogPrepare& prepare, pb::Message& to) {
    write(prepare.ballot, *to.mutable_log_prepare()->mutable_ballot());
    to.mutable_log_prepare()->set_from(prepare.from);
}

void write(const consensus::LogPromise& promise, pb::Message& to) {
    pb::LogPromise& wire = *to.mutable_log_promise();
    write(promise.ballot, *wire.mutable_ballot());
    wire.set_granted(promise.granted);
    write(promise.promised, *wire.mutable_promised());
    wire.set_committed(promise.committed);
    if (promise.snapshot) write(*promise.snapshot, *wire.mutable_snapshot());
    write_all(promise.decrees, *wire.mutable_decrees());
}

void write(const consensus::LogAccept& accept, pb::Message& to) {
    pb::LogAccept& wire = *to.mutable_log_accept();
    write(accept.ballot, *wire.mutable_ballot());
    wire.set_committed(accept.committed);
    write_all(accept.decrees, *wire.mutable_decrees());
    wire.set_disks_fail(accept.disks_fail);
}

void write(const consensus::LogAccepted& accepted, pb::Message& to) {
    pb::LogAccepted& wire = *to.mutable_log_accepted();
    write(accepted.ballot, *wire.mutable_ballot());
    wire.set_granted(accepted.granted);
    write(accepted.promised, *wire.mutable_promised());
    wire.set_durable_to(accepted.durable_to);
    wire.set_disk_fails(accepted.disk_fails);
}

void write(const consensus::LogFetch& fetch, pb::Message& to) {
    to.mutable_log_fetch()->set_from(fetch.from);
}

void write(const consensus::LogInstall& install, pb::Message& to) {
    write(install.ballot, *to.mutable_log_install()->mutable_ballot());
    write(install.snapshot, *to.mutable_log_install()->mutable_snapshot());
}

void write(const consensus::LogSubmit& submit, pb::Message& to) {
    to.mutable_log_submit()->set_number(submit.number);
    to.mutable_log_submit()->set_value(submit.value);
}

void write(const consensus::LogSubmitted& submitted, pb::Message& to) {
    to.mutable_log_submitted()->set_number(submitted.number);
    to.mutable_log_submitted()->set_index(submitted.index);
}

consensus::LogBallot read(const pb::LogBallot& from, Check& check) {
    check.that(from.term() < lease::token_limit, "a term is out of range");
    return consensus::LogBallot{from.term(), read_node(from.node(), check)};
}

consensus::LogIndex read_index(std::uint64_t from, Check& check) {
    check.that(from < ballot_limit, "an index of the log is out of range");
    return from;
}

void read_value(const std::string& from, std::string& to, Check& check) {
    if (check.that(from.size() <= consensus::ReplicatedLog::max_value_bytes, "an entry of the log is too long"))
        to = from;
}

consensus::LogSnapshot read(const pb::LogSnapshot& from, Check& check) {
    consensus::LogSnapshot snapshot{read_index(from.index(), check), {}};
    if (check.that(from.state().size() <= consensus::ReplicatedLog::max_snapshot_bytes, "a snapshot is too long"))
        snapshot.state = from.state();
    return snapshot;
}

void read_all(const google::protobuf::RepeatedPtrField<pb::LogDecree>& from, std::vector<consensus::LogDecree>& to,
              Check& check) {
    const auto count = static_cast<std::size_t>(from.size());
    if (!check.that(count <= max_decrees, "there are too many entries of the log")) return;
    to.reserve(count);
    for (const pb::LogDecree& decree : from) {
        consensus::LogDecree& added = to.emplace_back();
        added.index = read_index(decree.index(), check);
        added.ballot = read(decree.ballot(), check);
        read_value(decree.value(), added.value, check);
        if (check.fails()) return;
    }
}

consensus::LogPrepare read(const pb::LogPrepare& from, Check& check) {
    consensus::LogPrepare prepare;
    prepare.ballot = read(from.ballot(), check);
    prepare.from = read_index(from.from(), check);
    return prepare;
}

consensus::LogPromise read(const pb::LogPromise& from, Check& check) {
    consensus::LogPromise promise;
    promise.ballot = read(from.ballot(), check);
    promise.granted = from.granted();
    promise.promised = read(from.promised(), check);
    promise.committed = read_index(from.committed(), check);
    if (from.has_snapshot()) promise.snapshot = read(from.snapshot(), check);
    read_all(from.decrees(), promise.decrees, check);
    return promise;
}

consensus::LogAccept read(const pb::LogAccept& from, Check& check) {
    consensus::LogAccept accept;
    accept.ballot = read(from.ballot(), check);
    accept.committed = read_index(from.committed(), check);
    read_all(from.decrees(), accept.decrees, check);
    accept.disks_fail = from.disks_fail();
    return accept;
}

consensus::LogAccepted read(const pb::LogAccepted& from, Check& check) {
    consensus::LogAccepted accepted;
    accepted.ballot = read(from.ballot(), check);
    accepted.granted = from.granted();
    accepted.promised = read(from.promised(), check);
    accepted.durable_to = read_index(from.durable_to(), check);
    accepted.disk_fails = from.disk_fails();
    return accepted;
}

consensus::LogFetch read(const pb::LogFetch& from, Check& check) {
    consensus::LogFetch fetch;
    fetch.from = read_index(from.from(), check);
    return fetch;
}

consensus::LogInstall read(const pb::LogInstall& from, Check& check) {
    consensus::LogInstall install;
    install.ballot = read(from.ballot(), check);
    install.snapshot = read(from.snapshot(), check);
    return install;
}

consensus::LogSubmit read(const pb::LogSubmit& from, Check& check) {
    consensus::LogSubmit submit;
    submit.number = from.number();
    read_value(from.value(), submit.value, check);
    return submit;
}

consensus::LogSubmitted read(const pb::LogSubmitted& from, Check& check) {
    consensus::LogSubmitted submitted;
    submitted.number = from.number();
    submitted.index = read_index(from.index(), check);
    return submitted;
}

}  // namespace

void write(const consensus::LogMessage& message, pb::Message& to) {
    std::visit([&](const auto& one) { write(one, to); }, message);
}

std::optional<consensus::LogMessage> read_log(const pb::Message& from, Check& check) {
    switch (from.kind_case()) {
        case pb::Message::kLogPrepare:
            return read(from.log_prepare(), check);
        case pb::Message::kLogPromise:
            return read(from.log_promise(), check);
        case pb::Message::kLogAccept:
            return read(from.log_accept(), check);
        case pb::Message::kLogAccepted:
            return read(from.log_accepted(), check);
        case pb::Message::kLogFetch:
            return read(from.log_fetch(), check);
        case pb::Message::kLogInstall:
            return read(from.log_install(), check);
        case pb::Message::kLogSubmit:
            return read(from.log_submit(), check);
        case pb::Message::kLogSubmitted:
            return read(from.log_submitted(), check);
        default:
            return std::nullopt;
    }
}

}  // namespace holdfast::codec::peer
