#include "codec/peer/random_messages.h"

#include <tuple>

#include "consensus/replicated_log.h"
#include "lease/limits.h"

namespace holdfast::peer {

namespace limits = core::limits;

std::uint64_t RandomMessages::number(std::uint64_t below) {
    switch (random_.below(6)) {
        case 0:
            return 0;
        case 1:
            return below - 1;
        case 2:
            return random_.below(below);
        default:
            return random_.below(std::min<std::uint64_t>(below, 1000));
    }
}

Instant RandomMessages::instant() {
    switch (random_.below(6)) {
        case 0:
            return Instant(max_future);
        case 1:
            return Instant(-max_past);
        case 2:
            return Instant();
        default:
            return Instant(Duration(static_cast<std::int64_t>(random_.below(120'000'000'000)) - 60'000'000'000));
    }
}

std::string RandomMessages::text(std::size_t most) {
    std::string text(random_.below(40) == 0 ? most : random_.below(std::min<std::size_t>(most, 20)), '\0');
    for (char& byte : text)
        byte = static_cast<char>(random_.next());
    return text;
}

core::Lease RandomMessages::lease(core::Token token) {
    core::Lease lease;
    lease.token = token;
    lease.predicate = core::all_predicates[random_.below(core::all_predicates.size())];
    lease.renewable = flag();
    lease.resumable = flag();
    lease.metered = flag();
    lease.ttl = Duration(static_cast<std::int64_t>(number(limits::ttl_ceiling.count() + 1)));
    lease.acquired_at = instant();
    lease.expires_at = instant();
    lease.held_since = instant();
    if (flag()) lease.priority = static_cast<core::Priority>(random_.next());
    if (flag()) lease.progress = core::Progress{random_.next(), instant()};
    lease.holder = name(limits::holder_bytes);
    lease.session = text(limits::session_bytes);
    lease.reason = text(limits::reason_bytes);
    lease.metadata = text(limits::metadata_bytes);
    if (flag()) lease.acquired_wall_ms = static_cast<std::int64_t>(number(limits::wall_ms_ceiling));
    return lease;
}

core::Waiter RandomMessages::waiter() {
    core::Waiter waiter;
    waiter.id = random_.next();
    waiter.priority = static_cast<core::Priority>(random_.next());
    waiter.agent = flag();
    waiter.predicate = core::all_predicates[random_.below(core::all_predicates.size())];
    waiter.until = instant();
    waiter.holder = name(limits::holder_bytes);
    waiter.session = text(limits::session_bytes);
    return waiter;
}

core::RelativeRecord RandomMessages::record() {
    core::RelativeRecord travelling;
    core::Record& record = travelling.record;
    core::Token token = random_.below(1000);
    for (std::size_t left = random_.below(5); left > 0; --left)
        record.leases.push_back(lease(token += 1 + random_.below(1ULL << 40)));
    for (std::size_t left = random_.below(5); left > 0; --left)
        record.ended.push_back(
            {1 + number(core::token_limit - 1), static_cast<core::Ending>(random_.below(3)), instant()});
    for (std::size_t left = random_.below(4); left > 0; --left)
        record.waiters.push_back(waiter());
    for (std::size_t left = random_.below(3); left > 0; --left)
        record.reserved.push_back({lease(1 + number(core::token_limit - 1)), instant()});
    for (std::size_t left = random_.below(3); left > 0; --left)
        record.past.push_back({name(limits::holder_bytes), instant(),
                               Duration(1 + static_cast<std::int64_t>(number(limits::quota_ceiling.count())))});
    record.last_token = number(core::token_limit);
    return travelling;
}

core::Ballot RandomMessages::ballot() {
    return {number(ballot_limit), static_cast<core::BootNumber>(random_.next()),
            static_cast<core::NodeIndex>(random_.below(max_members))};
}

core::ReadReply RandomMessages::seen() {
    core::ReadReply seen{random_.next(), flag(), {}};
    for (std::size_t left = random_.below(4); left > 0; --left)
        seen.entries.push_back({name(limits::resource_bytes), record()});
    return seen;
}

core::QuorumMessage RandomMessages::quorum(std::size_t kind) {
    switch (kind) {
        case 0:
            return core::Prepare{name(limits::resource_bytes), ballot()};
        case 1:
            return core::Accept{name(limits::resource_bytes), ballot(), ballot(), record()};
        case 2:
            return core::Vote{ballot(), flag(), flag(), ballot(), number(core::token_limit), ballot(), record()};
        case 3:
            return core::ReadRequest{random_.next(), static_cast<core::ReadRequest::Kind>(random_.below(3)),
                                     name(limits::resource_bytes), static_cast<std::uint32_t>(number(max_seen + 1))};
        default:
            return seen();
    }
}

core::LogBallot RandomMessages::log_ballot() {
    return {number(core::token_limit), static_cast<core::NodeIndex>(random_.below(max_members))};
}

core::LogSnapshot RandomMessages::snapshot() {
    return {number(ballot_limit), text(100'000)};
}

std::vector<core::LogDecree> RandomMessages::decrees() {
    std::vector<core::LogDecree> decrees;
    for (std::size_t left = random_.below(5); left > 0; --left)
        decrees.push_back({number(ballot_limit), log_ballot(), text(core::ReplicatedLog::max_value_bytes)});
    return decrees;
}

core::LogMessage RandomMessages::log(std::size_t kind) {
    switch (kind) {
        case 0:
            return core::LogPrepare{log_ballot(), number(ballot_limit)};
        case 1: {
            core::LogPromise promise{log_ballot(), flag(), log_ballot(), number(ballot_limit), {}, decrees()};
            if (flag()) promise.snapshot = snapshot();
            return promise;
        }
        case 2:
            return core::LogAccept{log_ballot(), number(ballot_limit), decrees(), flag()};
        case 3:
            return core::LogAccepted{log_ballot(), flag(), log_ballot(), number(ballot_limit), flag()};
        case 4:
            return core::LogFetch{number(ballot_limit)};
        case 5:
            return core::LogInstall{log_ballot(), snapshot()};
        case 6:
            return core::LogSubmit{random_.next(), text(core::ReplicatedLog::max_value_bytes)};
        default:
            return core::LogSubmitted{random_.next(), number(ballot_limit)};
    }
}

Message RandomMessages::of_kind(std::size_t kind) {
    constexpr std::size_t of_quorum = std::variant_size_v<core::QuorumMessage>;
    if (kind < of_quorum) return quorum(kind);
    return log(kind - of_quorum);
}

namespace {

auto fields(const core::LogPrepare& m) {
    return std::tie(m.ballot, m.from);
}
auto fields(const core::LogPromise& m) {
    return std::tie(m.ballot, m.granted, m.promised, m.committed, m.snapshot, m.decrees);
}
auto fields(const core::LogAccept& m) {
    return std::tie(m.ballot, m.committed, m.decrees, m.disks_fail);
}
auto fields(const core::LogAccepted& m) {
    return std::tie(m.ballot, m.granted, m.promised, m.durable_to, m.disk_fails);
}
auto fields(const core::LogFetch& m) {
    return std::tie(m.from);
}
auto fields(const core::LogInstall& m) {
    return std::tie(m.ballot, m.snapshot);
}
auto fields(const core::LogSubmit& m) {
    return std::tie(m.number, m.value);
}
auto fields(const core::LogSubmitted& m) {
    return std::tie(m.number, m.index);
}

bool same_log(const core::LogMessage& a, const core::LogMessage& b) {
    if (a.index() != b.index()) return false;
    return std::visit([&](const auto& one) { return fields(one) == fields(std::get<std::decay_t<decltype(one)>>(b)); },
                      a);
}

}  // namespace

bool same(const Message& a, const Message& b) {
    if (a.index() != b.index()) return false;
    if (a.index() == 1) return same_log(std::get<1>(a), std::get<1>(b));
    return std::get<0>(a) == std::get<0>(b);
}

}  // namespace holdfast::peer
