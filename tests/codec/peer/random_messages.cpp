#include "codec/peer/random_messages.h"

#include <tuple>

#include "consensus/replicated_log.h"
#include "lease/limits.h"

namespace holdfast::codec::peer {

namespace limits = lease::limits;

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

lease::Lease RandomMessages::lease(lease::Token token) {
    lease::Lease lease;
    lease.token = token;
    lease.predicate = lease::all_predicates[random_.below(lease::all_predicates.size())];
    lease.renewable = flag();
    lease.resumable = flag();
    lease.metered = flag();
    lease.ttl = Duration(1 + static_cast<std::int64_t>(number(lease::limits::ttl_ceiling.count())));
    lease.acquired_at = instant();
    lease.expires_at = instant();
    lease.held_since = flag() ? lease.acquired_at : instant();
    if (flag()) lease.priority = static_cast<lease::Priority>(random_.next());
    if (flag()) lease.progress = lease::Progress{random_.next(), instant()};
    lease.holder = name(lease::limits::holder_bytes);
    lease.session = text(lease::limits::session_bytes);
    lease.reason = text(lease::limits::reason_bytes);
    lease.metadata = text(lease::limits::metadata_bytes);
    if (flag()) lease.acquired_wall_ms = static_cast<std::int64_t>(number(lease::limits::wall_ms_ceiling));
    return lease;
}

lease::Waiter RandomMessages::waiter() {
    lease::Waiter waiter;
    waiter.id = random_.next() | 1;
    waiter.priority = static_cast<lease::Priority>(random_.next());
    waiter.agent = flag();
    waiter.predicate = lease::all_predicates[random_.below(lease::all_predicates.size())];
    waiter.until = instant();
    waiter.holder = name(lease::limits::holder_bytes);
    waiter.session = text(lease::limits::session_bytes);
    return waiter;
}

store::cas::RelativeRecord RandomMessages::record() {
    store::cas::RelativeRecord travelling;
    lease::Record& record = travelling.record;
    lease::Token token = random_.below(1000);
    for (std::size_t left = random_.below(5); left > 0; --left)
        record.leases.push_back(lease(token += 1 + random_.below(1ULL << 40)));
    for (std::size_t left = random_.below(5); left > 0; --left)
        record.ended.push_back(
            {1 + number(lease::token_limit - 1), static_cast<lease::Ending>(random_.below(3)), instant()});
    for (std::size_t left = random_.below(4); left > 0; --left)
        record.waiters.push_back(waiter());
    for (std::size_t left = random_.below(3); left > 0; --left)
        record.reserved.push_back({lease(1 + number(lease::token_limit - 1)), instant()});
    for (std::size_t left = random_.below(3); left > 0; --left)
        record.past.push_back({name(lease::limits::holder_bytes), instant(),
                               Duration(1 + static_cast<std::int64_t>(number(lease::limits::quota_ceiling.count())))});
    record.last_token = number(lease::token_limit);
    return travelling;
}

store::quorum::Ballot RandomMessages::ballot() {
    return {number(ballot_limit), static_cast<store::quorum::BootNumber>(random_.next()),
            static_cast<store::quorum::NodeIndex>(random_.below(max_members))};
}

store::quorum::ReadReply RandomMessages::seen() {
    store::quorum::ReadReply seen{random_.next(), flag(), {}};
    for (std::size_t left = random_.below(4); left > 0; --left)
        seen.entries.push_back({name(lease::limits::resource_bytes), record()});
    return seen;
}

store::quorum::QuorumMessage RandomMessages::quorum(std::size_t kind) {
    switch (kind) {
        case 0:
            return store::quorum::Prepare{name(lease::limits::resource_bytes), ballot()};
        case 1:
            return store::quorum::Accept{name(lease::limits::resource_bytes), ballot(), ballot(), record()};
        case 2:
            return store::quorum::Vote{ballot(), flag(),  flag(), ballot(), number(lease::token_limit),
                                       ballot(), record()};
        case 3:
            return store::quorum::ReadRequest{
                random_.next(), static_cast<store::quorum::ReadRequest::Kind>(random_.below(3)),
                name(lease::limits::resource_bytes), static_cast<std::uint32_t>(number(max_seen + 1))};
        default:
            return seen();
    }
}

consensus::LogBallot RandomMessages::log_ballot() {
    return {number(lease::token_limit), static_cast<store::quorum::NodeIndex>(random_.below(max_members))};
}

consensus::LogSnapshot RandomMessages::snapshot() {
    return {number(ballot_limit), text(100'000)};
}

std::vector<consensus::LogDecree> RandomMessages::decrees() {
    std::vector<consensus::LogDecree> decrees;
    for (std::size_t left = random_.below(5); left > 0; --left)
        decrees.push_back({number(ballot_limit), log_ballot(), text(consensus::ReplicatedLog::max_value_bytes)});
    return decrees;
}

consensus::LogMessage RandomMessages::log(std::size_t kind) {
    switch (kind) {
        case 0:
            return consensus::LogPrepare{log_ballot(), number(ballot_limit)};
        case 1: {
            consensus::LogPromise promise{log_ballot(), flag(), log_ballot(), number(ballot_limit), {}, decrees()};
            if (flag()) promise.snapshot = snapshot();
            return promise;
        }
        case 2:
            return consensus::LogAccept{log_ballot(), number(ballot_limit), decrees(), flag()};
        case 3:
            return consensus::LogAccepted{log_ballot(), flag(), log_ballot(), number(ballot_limit), flag()};
        case 4:
            return consensus::LogFetch{number(ballot_limit)};
        case 5:
            return consensus::LogInstall{log_ballot(), snapshot()};
        case 6:
            return consensus::LogSubmit{random_.next(), text(consensus::ReplicatedLog::max_value_bytes)};
        default:
            return consensus::LogSubmitted{random_.next(), number(ballot_limit)};
    }
}

Message RandomMessages::of_kind(std::size_t kind) {
    constexpr std::size_t of_quorum = std::variant_size_v<store::quorum::QuorumMessage>;
    if (kind < of_quorum) return quorum(kind);
    return log(kind - of_quorum);
}

namespace {

auto fields(const consensus::LogPrepare& m) {
    return std::tie(m.ballot, m.from);
}
auto fields(const consensus::LogPromise& m) {
    return std::tie(m.ballot, m.granted, m.promised, m.committed, m.snapshot, m.decrees);
}
auto fields(const consensus::LogAccept& m) {
    return std::tie(m.ballot, m.committed, m.decrees, m.disks_fail);
}
auto fields(const consensus::LogAccepted& m) {
    return std::tie(m.ballot, m.granted, m.promised, m.durable_to, m.disk_fails);
}
auto fields(const consensus::LogFetch& m) {
    return std::tie(m.from);
}
auto fields(const consensus::LogInstall& m) {
    return std::tie(m.ballot, m.snapshot);
}
auto fields(const consensus::LogSubmit& m) {
    return std::tie(m.number, m.value);
}
auto fields(const consensus::LogSubmitted& m) {
    return std::tie(m.number, m.index);
}

bool same_log(const consensus::LogMessage& a, const consensus::LogMessage& b) {
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

}  // namespace holdfast::codec::peer
