#include "store/quorum/acceptor.h"

#include <algorithm>

#include "lease/limits.h"
#include "store/cas/changes.h"
#include "store/memory/memory_store.h"
#include "store/quorum/ballot_table.h"

namespace holdfast::store::quorum {
namespace {

/// How far ahead of need the ceiling is raised: at a hundred thousand attempts a second, it covers more than a minute
/// without an answer from the disk. A higher ceiling is requested when half of it is used up.
constexpr lease::Token reserve = lease::Token{1} << 24;

constexpr std::size_t max_name_bytes = lease::limits::resource_bytes + lease::limits::namespace_bytes + 2;

class Read final : public Update {
 public:
    explicit Read(lease::Record& into) : into_(into) {}
    Effect apply(lease::Record& record, const lease::Neighbours&, Instant) override {
        into_ = record;
        return Effect::none;
    }
    void done(Result<void>) override {}

 private:
    lease::Record& into_;
};

class Overwrite final : public Update {
 public:
    using Told = std::function<void(const lease::Record& before, const lease::Record& after)>;
    explicit Overwrite(lease::Record record, Told told = {}) : record_(std::move(record)), told_(std::move(told)) {}
    Effect apply(lease::Record& record, const lease::Neighbours&, Instant now) override {
        lease::settle(record_, now);
        if (told_) told_(record, record_);
        const bool freed = cas::frees_something(record, record_);
        record = std::move(record_);
        return freed ? Effect::freed : Effect::changed;
    }
    void done(Result<void>) override {}

 private:
    lease::Record record_;
    Told told_;
};

/// Collects the records that overlap with one, as far as they can block a request.
class Gather final : public Update {
 public:
    Gather(ReadReply& reply, std::size_t most) : reply_(reply), most_(most) {}
    Effect apply(lease::Record&, const lease::Neighbours& neighbours, Instant now) override {
        // Everything conflicts with this predicate, so all overlapping records are visited (G2).
        neighbours.visit(lease::Predicate::mutates, [&](std::string_view resource, const lease::Record& record) {
            lease::Record shown = record;
            lease::settle(shown, now);
            shown.ended.clear();
            shown.past.clear();
            if (shown.empty()) return true;
            if (reply_.entries.size() >= most_) {
                reply_.cut = true;
                return false;
            }
            reply_.entries.push_back({std::string(resource), cas::to_relative(std::move(shown), now)});
            return true;
        });
        return Effect::none;
    }
    void done(Result<void>) override {}

 private:
    ReadReply& reply_;
    std::size_t most_;
};

lease::Token highest_in(const lease::Record& record) {
    lease::Token highest = 0;
    for (const lease::Lease& lease : record.leases)
        highest = std::max(highest, lease.token);
    for (const lease::Reservation& kept : record.reserved)
        highest = std::max(highest, kept.lease.token);
    return highest;
}

/// Above every ballot with this counter, and below every one with the next: boots are numbered from 1. It names an
/// existing node, since it travels in refusals.
Ballot end_of(std::uint64_t counter) {
    return {counter + 1, 0, 0};
}

}  // namespace

struct Acceptor::Impl {
    explicit Impl(const Parts& parts)
        : config(parts.config),
          listener(parts.listener),
          records(parts.listener, parts.hash_key),
          ballots(parts.hash_key, {config.ballot_kept(), 4 * config.attempt_time}),
          silent_until(parts.silent_until) {
        highest_token = ceiling = needed = parts.highest_token;
        if (silent_until > Instant{}) ballots.forget_up_to(end_of(ceiling));
    }

    bool silent() const { return now < silent_until; }
    bool is_strange(std::string_view resource, Ballot ballot) const {
        return ballot.node >= config.members || resource.size() > max_name_bytes;
    }

    bool within_ceiling(std::uint64_t number) {
        needed = std::max(needed, number);
        return number <= ceiling;
    }

    lease::Record read(std::string_view resource) {
        lease::Record record;
        Read reading(record);
        records.update(resource, reading);
        return record;
    }

    /// `entry` is the register's, or null if it has none.
    Vote vote(Ballot ballot, bool accepting, const BallotEntry* entry) const {
        Vote vote;
        vote.ballot = ballot;
        vote.accepting = accepting;
        vote.promised = entry == nullptr ? ballots.forgotten() : entry->promised;
        vote.highest_token = highest_token;
        return vote;
    }

    std::optional<Vote> prepare(const Prepare& message) {
        if (silent() || is_strange(message.resource, message.ballot)) return std::nullopt;
        BallotEntry* entry = ballots.find(message.resource);
        Vote answer = vote(message.ballot, false, entry);
        if (message.ballot < answer.promised || !within_ceiling(message.ballot.counter)) return answer;
        if (entry == nullptr) entry = ballots.add(message.resource, now);
        if (entry == nullptr) return answer;
        entry->chosen = false;
        entry->promised = message.ballot;
        entry->touched = now;
        answer.granted = true;
        answer.accepted = entry->accepted;
        answer.record = cas::to_relative(read(message.resource), now);  // Q5: settled, but with its ballot
        return answer;
    }

    std::optional<Vote> accept(Accept message) {
        if (silent() || is_strange(message.resource, message.ballot)) return std::nullopt;
        BallotEntry* entry = ballots.find(message.resource);
        Vote answer = vote(message.ballot, true, entry);
        if (entry != nullptr && message.ballot == entry->promised) entry->chosen = false;  // Q2: used, even if refused
        const bool heard_before = entry != nullptr && entry->accepted == message.ballot;
        const lease::Token highest = highest_in(message.record.record);
        const bool too_low = message.ballot < answer.promised;
        answer.granted = heard_before;
        if (heard_before || too_low) return answer;
        const bool known_after_restart =
            within_ceiling(highest) && within_ceiling(message.ballot.counter) && within_ceiling(message.next.counter);
        if (!known_after_restart) return answer;
        if (entry == nullptr) entry = ballots.add(message.resource, now);
        if (entry == nullptr) return answer;
        const bool own_next = message.next.node == message.ballot.node && message.next.boot == message.ballot.boot;
        *entry = {own_next ? std::max(message.ballot, message.next) : message.ballot, message.ballot, now, false};
        Overwrite overwrite(cas::to_absolute(std::move(message.record), now),
                            [&](const lease::Record& before, const lease::Record& after) {
                                cas::tell_changes({message.resource, before, after, now}, config.rates(), listener);
                            });
        records.update(message.resource, overwrite);
        answer.highest_token = highest_token = std::max(highest_token, highest);
        answer.granted = true;
        return answer;
    }

    std::optional<ReadReply> answer(const ReadRequest& message) {
        if (silent() || message.name.size() > max_name_bytes) return std::nullopt;
        ReadReply reply;
        reply.number = message.number;
        const std::size_t most = std::min<std::size_t>(message.most, lease::limits::obstacles + 1);
        if (message.kind == ReadRequest::Kind::overlapping) {
            Gather gather(reply, most);
            records.update(message.name, gather);
            return reply;
        }
        const auto which =
            message.kind == ReadRequest::Kind::of_holder ? Store::Which::active : Store::Which::active_or_reserved;
        records.leases_of(message.name, which, most, [&](Result<std::vector<lease::LeaseName>> names) {
            for (lease::LeaseName& name : *names) {
                ReadReply::Entry& entry = reply.entries.emplace_back();
                entry.resource = std::move(name.resource);
                lease::Lease& lease = entry.record.record.leases.emplace_back();
                lease.token = name.token;
                lease.holder = message.name;
            }
        });
        reply.cut = reply.entries.size() >= most;
        return reply;
    }

    const QuorumConfig config;
    StoreListener& listener;
    memory::MemoryStore records;
    BallotTable ballots;
    Instant now;
    Instant silent_until;
    lease::Token highest_token = 0;
    lease::Token ceiling = 0;
    lease::Token needed = 0;  ///< the highest token or counter requested
    lease::Token asked = 0;   ///< the highest ceiling requested
};

Acceptor::Acceptor(Parts parts) : impl_(std::make_unique<Impl>(parts)) {}

Acceptor::~Acceptor() = default;

bool Acceptor::advance(Instant now, std::size_t steps) {
    impl_->now = now;
    const bool more = impl_->records.advance(now, steps);
    const auto is_empty = [&](std::string_view resource) { return impl_->read(resource).empty(); };
    return impl_->ballots.advance(now, steps, is_empty) || more;
}

Instant Acceptor::next_due() const {
    return std::min(impl_->records.next_due(), impl_->ballots.next_due());
}

std::optional<Vote> Acceptor::prepare(const Prepare& message) {
    return impl_->prepare(message);
}

std::optional<Vote> Acceptor::accept(Accept message) {
    return impl_->accept(std::move(message));
}

std::optional<ReadReply> Acceptor::answer(const ReadRequest& message) {
    return impl_->answer(message);
}

void Acceptor::raise_token_ceiling(lease::Token durable) {
    impl_->ceiling = std::max(impl_->ceiling, durable);
}

std::optional<lease::Token> Acceptor::wants_ceiling() {
    const lease::Token needed = std::max(impl_->needed, impl_->highest_token);
    const lease::Token reserved = std::max(impl_->ceiling, impl_->asked);
    if (needed + reserve / 2 <= reserved || reserved >= lease::token_limit) return std::nullopt;
    impl_->asked = std::min(needed + reserve, lease::token_limit);
    return impl_->asked;
}

lease::Token Acceptor::highest_token() const {
    return impl_->highest_token;
}

void Acceptor::expect_counter(std::uint64_t counter) {
    impl_->needed = std::max(impl_->needed, counter);
}

bool Acceptor::admits_counter(std::uint64_t counter) const {
    return counter <= impl_->ceiling;
}

lease::Token Acceptor::token_headroom() const {
    const lease::Token used = std::max(impl_->highest_token, impl_->needed);
    return impl_->ceiling > used ? impl_->ceiling - used : 0;
}

Duration Acceptor::silent_for() const {
    return impl_->silent() ? impl_->silent_until - impl_->now : Duration::zero();
}

void Acceptor::mark_chosen(std::string_view resource, Ballot ballot, Ballot next) {
    BallotEntry* entry = impl_->ballots.find(resource);
    if (entry != nullptr && entry->accepted == ballot && entry->promised == next) entry->chosen = true;
}

std::optional<Acceptor::Chosen> Acceptor::chosen(std::string_view resource) {
    BallotEntry* entry = impl_->ballots.find(resource);
    if (entry == nullptr || !entry->chosen || impl_->silent()) return std::nullopt;
    entry->chosen = false;  // Q2: the promised ballot is used once, whatever the outcome
    return Chosen{entry->promised, impl_->read(resource)};
}

void Acceptor::for_each_register(const Visit& visit) const {
    impl_->ballots.for_each([&](const std::string& resource, const BallotEntry& entry) {
        visit(resource, {entry.promised, entry.accepted}, impl_->read(resource));
    });
}

void Acceptor::restore(std::string_view resource, const RegisterBallots& ballots, const lease::Record& record) {
    BallotEntry* entry = impl_->ballots.find(resource);
    if (entry == nullptr) entry = impl_->ballots.add(resource, impl_->now);
    if (entry == nullptr) return;
    *entry = {ballots.promised, ballots.accepted, impl_->now, false};
    impl_->highest_token = std::max(impl_->highest_token, highest_in(record));
    Overwrite overwrite(record);
    impl_->records.update(resource, overwrite);
}

Ballot Acceptor::forgotten() const {
    return impl_->ballots.forgotten();
}

void Acceptor::restore_forgotten(Ballot ballot) {
    impl_->ballots.forget_up_to(ballot);
}

const memory::MemoryStore& Acceptor::records() const {
    return impl_->records;
}

memory::MemoryStore& Acceptor::records() {
    return impl_->records;
}

}  // namespace holdfast::store::quorum
