#include "client/sessions/lease_manager_core.h"

#include <algorithm>
#include <fmt/format.h>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/code.h"
#include "base/rendezvous.h"
#include "base/text.h"
#include "client/sessions/instance_id.h"
#include "codec/resp/resp_command.h"

namespace holdfast {
namespace {

Failure refused(Code code, std::string message) {
    return {.outcome = Outcome::refused, .code = std::string(name_of(code)), .message = std::move(message)};
}

RendezvousHash hash_of(PreferenceHash hash) {
    return hash == PreferenceHash::fnv1a ? RendezvousHash::fnv1a : RendezvousHash::xxh64;
}

/// Converts an instant of the holder's clock to the wall clock, for display.
std::chrono::system_clock::time_point wall_time_of(HolderInstant instant, HolderInstant now) {
    return std::chrono::system_clock::now() -
           std::chrono::duration_cast<std::chrono::system_clock::duration>(now - instant);
}

client::sessions::SessionLeases::Rules lease_rules(const std::string& instance, const LeaseManagerOptions& options) {
    const OwnershipTimings& timings = options.timings;
    return {.instance = instance,
            .ttl = timings.lease_ttl,
            .renew_every = timings.renew_every,
            .look_every = timings.refresh_every,
            .try_every = timings.try_every,
            .chance = timings.chance.count() > 0 ? timings.chance : timings.refresh_every,
            .hash = hash_of(options.hash)};
}

Backoff::Limits backoff_limits(Duration try_every) {
    return {std::min<Duration>(50ms, try_every), std::min<Duration>(1600ms, try_every)};
}

}  // namespace

LeaseManager::Core::Core(LeaseManagerOptions given, const codec::resp::RedisAddress& address)
    : options(std::move(given)),
      instance(options.instance_id.empty() ? client::sessions::fresh_instance_id() : options.instance_id),
      commands_(instance, options.timings.lease_ttl, options.timings.node_ttl),
      connection_(address),
      leases_(lease_rules(instance, options), holder_clock_now()),
      roll_({instance, options.timings.heartbeat_every, options.timings.refresh_every}, holder_clock_now()),
      random_(random_seed()),
      backoff_(backoff_limits(options.timings.try_every)) {}

LeaseManager::Core::~Core() {
    stop(0s);
}

std::shared_ptr<LeaseManager::Core> LeaseManager::Core::make(LeaseManagerOptions options) {
    const auto destroy_unless_forked = [](const Core* core) {
        if (core->born == client::forks()) delete core;
    };
    const auto address =
        codec::resp::parse_redis(codec::resp::default_redis(options.redis));  // start() reports a malformed one
    return {new Core(std::move(options), address ? *address : codec::resp::RedisAddress{}), destroy_unless_forked};
}

std::optional<Failure> LeaseManager::Core::start() {
    if (auto problem = problem_of(options)) return problem;
    const Lock lock(mutex_);
    if (started_ || retired_) return refused(Code::already_started, "a lease manager is started once");
    try {
        talker_ = std::thread([this] { talk(); });
        watcher_ = std::thread([this] { watch(); });
    } catch (const std::system_error& error) {
        stopping_ = watch_over_ = true;
        talk_alarm_.wake();
        return refused(Code::no_thread, std::string("cannot start a thread: ") + error.what());
    }
    started_ = true;
    return std::nullopt;
}

void LeaseManager::Core::retire() {
    const Lock lock(mutex_);
    if (std::exchange(retired_, true)) return;
    farewell_due_ = true;
    const HolderInstant now = holder_clock_now();
    leases_.retire(now);
    changed(now);
}

bool LeaseManager::Core::stop(Duration patience) {
    retire();
    Lock lock(mutex_);
    stopping_ = true;
    patience_ends_ = holder_clock_now() + patience;
    talk_alarm_.wake();
    const auto longest = patience + options.timings.timeout + 100ms;
    if (talker_.joinable()) settled_.wait_for(lock, longest, [this] { return talk_over_; });
    connection_.stop();
    watch_over_ = true;
    watch_alarm_.wake();
    std::thread talker = std::exchange(talker_, {});
    const bool from_a_callback = watcher_.get_id() == std::this_thread::get_id();  // joined by the destructor then
    std::thread watcher = from_a_callback ? std::thread{} : std::exchange(watcher_, {});
    lock.unlock();
    if (talker.joinable()) talker.join();
    if (watcher.joinable()) watcher.join();
    lock.lock();
    for (const std::string& session : leases_.sessions())  // sessions that were not handed over must not be used either
        table_.remove(session);
    return handed_over_;
}

std::optional<Failure> LeaseManager::Core::problem_with(const std::string& session) const {
    if (options.any_session_id ? client::sessions::is_plain_session_id(session) : client::sessions::is_uuid(session))
        return std::nullopt;
    const std::string shown = session.substr(0, 64);
    if (options.any_session_id)
        return refused(Code::invalid_session,
                       fmt::format("'{}' is not a session id: it must have 1 to 256 bytes, no blanks and no control "
                                   "characters",
                                   shown));
    return refused(Code::invalid_session, fmt::format("'{}' is not a session id: it must be a UUID, as in "
                                                      "123e4567-e89b-12d3-a456-426614174000, unless any id is allowed",
                                                      shown));
}

std::optional<Failure> LeaseManager::Core::add(const std::vector<std::string>& sessions) {
    for (const std::string& session : sessions)
        if (auto problem = problem_with(session)) return problem;
    const Lock lock(mutex_);
    if (retired_) return refused(Code::stopped, "this lease manager was stopped");
    std::size_t fresh = 0;
    for (const std::string& session : sessions)
        fresh += leases_.find(session) == nullptr ? 1 : 0;
    if (leases_.size() + fresh > options.sessions_max)
        return refused(
            Code::too_many_sessions,
            fmt::format("these would be more than the {} sessions that one instance may have", options.sessions_max));
    const HolderInstant now = holder_clock_now();
    for (const std::string& session : sessions)
        leases_.want(session, now);
    changed(now);
    return std::nullopt;
}

Taken LeaseManager::Core::try_acquire(const std::string& session, const std::stop_token& stop) {
    const auto cancelled = [] {
        return Taken{false, Failure{.outcome = Outcome::cancelled,
                                    .code = "cancelled",
                                    .message = "the program broke the attempt off"}};
    };
    if (stop.stop_requested()) return cancelled();
    if (auto problem = problem_with(session)) return {false, std::move(problem)};
    Lock lock(mutex_);
    if (retired_ || !started_) return {false, refused(Code::stopped, "this lease manager is not running")};
    const auto* known = leases_.find(session);
    if (known == nullptr && leases_.size() >= options.sessions_max)
        return {false, refused(Code::too_many_sessions, "this instance looks after too many sessions already")};
    const HolderInstant now = holder_clock_now();
    const bool was_tried_for = leases_.is_tried_for(session);
    leases_.ask_for(session, now);
    changed(now);
    if (is_owned(session)) return {true, {}};
    known = leases_.find(session);
    const std::uint64_t before = known != nullptr ? known->verdicts : 0;
    settled_.wait_for(lock, stop, options.timings.timeout * 2, [&] {
        const auto* one = leases_.find(session);
        return talk_over_ || one == nullptr || one->held() || one->verdicts != before;
    });
    if (stop.stop_requested()) {
        if (!was_tried_for) leases_.let_go(session, holder_clock_now());
        changed(holder_clock_now());
        return cancelled();
    }
    if (is_owned(session)) return {true, {}};
    return {false, why_not(session)};
}

Failure LeaseManager::Core::why_not(const std::string& session) const {
    const auto* known = leases_.find(session);
    if (known == nullptr) return refused(Code::stopped, "this session was let go of");
    if (known->state == Ownership::other) {
        Failure failure{.outcome = Outcome::busy, .code = "busy", .message = known->owner + " owns it"};
        failure.conflicts.push_back({.resource = session, .holder = known->owner});
        return failure;
    }
    if (known->unanswered || known->verdicts == 0) {
        if (trouble_) return *trouble_;
        return {.outcome = Outcome::unreachable,
                .code = "unreachable",
                .message = "no answer from " + connection_.address().shown()};
    }
    if (holder_clock_now() < closed_until_ && trouble_) return *trouble_;
    if (known->preferred.empty())
        return {.outcome = Outcome::busy, .code = "not_preferred", .message = "cluster membership is not known yet"};
    return {.outcome = Outcome::busy,
            .code = "not_preferred",
            .message = fmt::format("it is free, and its preferred owner {} has its chance first", known->preferred)};
}

void LeaseManager::Core::release(const std::string& session) {
    const Lock lock(mutex_);
    const HolderInstant now = holder_clock_now();
    leases_.let_go(session, now);
    changed(now);
}

bool LeaseManager::Core::is_owned(std::string_view session) const noexcept {
    return born == client::forks() && table_.held_by(session, holder_clock_now);
}

std::shared_ptr<client::sessions::OwnedUntil> LeaseManager::Core::begin_poll(const std::string& session) {
    const Lock lock(mutex_);
    auto until = table_.get(session);
    if (born != client::forks() || until == nullptr || !until->held_by(holder_clock_now)) return nullptr;
    return leases_.begin_poll(session, holder_clock_now()) ? until : nullptr;
}

void LeaseManager::Core::end_poll(const std::string& session) {
    const Lock lock(mutex_);
    const HolderInstant now = holder_clock_now();
    leases_.end_poll(session, now);
    changed(now);
}

std::vector<std::string> LeaseManager::Core::owned_sessions() const {
    const Lock lock(mutex_);
    auto owned = leases_.owned();
    std::erase_if(owned, [this](const std::string& session) { return !is_owned(session); });
    return owned;
}

std::vector<std::string> LeaseManager::Core::live_nodes() const {
    const Lock lock(mutex_);
    return {leases_.live().begin(), leases_.live().end()};
}

std::string LeaseManager::Core::preferred_owner(const std::string& session) const {
    const Lock lock(mutex_);
    return std::string(holdfast::preferred_owner(leases_.live(), session, hash_of(options.hash)));
}

SessionInfo LeaseManager::Core::info_of(const std::string& session,
                                        const client::sessions::SessionLeases::Session& known,
                                        HolderInstant now) const {
    const bool held = known.held() && known.deadlines.held(now);
    SessionInfo info{.session = session,
                     .state = known.held() && !held ? Ownership::unknown : known.state,
                     .owner = known.owner,
                     .preferred = known.preferred,
                     .remaining = held ? known.deadlines.end() - now : Duration{0},
                     .polls = known.polls,
                     .handing_over = known.handing};
    if (held) {
        info.acquired_at = wall_time_of(known.acquired, now);
        info.renewed_at = wall_time_of(known.renewed, now);
    }
    return info;
}

SessionInfo LeaseManager::Core::info(const std::string& session) const {
    const Lock lock(mutex_);
    const auto* known = leases_.find(session);
    if (known != nullptr) return info_of(session, *known, holder_clock_now());
    SessionInfo unknown{.session = session};
    unknown.preferred = holdfast::preferred_owner(leases_.live(), session, hash_of(options.hash));
    return unknown;
}

std::vector<SessionInfo> LeaseManager::Core::sessions() const {
    const Lock lock(mutex_);
    const HolderInstant now = holder_clock_now();
    std::vector<SessionInfo> all;
    for (const std::string& session : leases_.sessions())
        all.push_back(info_of(session, *leases_.find(session), now));
    return all;
}

namespace {

/// The limit on commands in one round trip; 1,000 renewals are about 150 KiB.
constexpr std::size_t max_batch = 1'000;

bool is_fatal(const codec::resp::Value& answer) {
    return answer.is_error() && (answer.text.starts_with("NOAUTH") || answer.text.starts_with("LOADING") ||
                                 answer.text.starts_with("NOPERM"));
}

Failure failure_of(const Error& error) {
    const bool refused = error.code == Code::refused;
    return {.outcome = refused ? Outcome::refused : Outcome::unreachable,
            .code = std::string(error.code.name()),
            .message = error.message};
}

}  // namespace

void LeaseManager::Core::talk() {
    Lock lock(mutex_);
    for (;;) {
        const HolderInstant now = holder_clock_now();
        if (is_done(now)) break;
        if (trouble_ && code_in(trouble_->code) == Code::recovering && now >= closed_until_) tell(std::nullopt);
        HolderInstant due = leases_.next();
        if (!retired_) due = std::min(due, roll_.next());
        if (farewell_due_) due = now;
        if (closed_until_ > now) due = std::min(due, closed_until_);
        due = std::max(due, retry_at_);
        if (stopping_ && now < patience_ends_) due = std::min(due, patience_ends_);
        if (due <= now) {
            round(lock);
            continue;
        }
        lock.unlock();
        talk_alarm_.sleep_until(due);
        lock.lock();
    }
    handed_over_ = leases_.size() == 0 && !farewell_due_ && !release_unanswered_;
    talk_over_ = true;
    settled_.notify_all();
}

bool LeaseManager::Core::is_done(HolderInstant now) const {
    if (!stopping_) return false;
    if (leases_.size() == 0 && !farewell_due_) return true;
    if (now < patience_ends_) return false;
    const bool round_trip_helps = connected_ && (farewell_due_ || !leases_.only_polls_left());
    return !round_trip_helps || now >= patience_ends_ + options.timings.timeout;
}

/// REQUIRES: the lock is held; it is released during network I/O.
void LeaseManager::Core::round(Lock& lock) {
    if (connect(lock)) exchange(lock);
    leases_.end_overdue(holder_clock_now());
    changed(holder_clock_now());
}

/// Connects before the requests are chosen, since the choice depends on the state of the store.
bool LeaseManager::Core::connect(Lock& lock) {
    lock.unlock();
    const auto opened = connection_.open(options.timings.timeout);
    lock.lock();
    Result<void> ready;
    if (!opened)
        ready = opened.error();
    else if (*opened)
        ready = greet(lock);
    if (ready) return true;
    const HolderInstant now = holder_clock_now();
    failed(ready.error(), now);
    nobody_answered(leases_.take_due(now, SIZE_MAX), now);
    return false;
}

Result<void> LeaseManager::Core::greet(Lock& lock) {
    client::sessions::RespConnection::Batch batch;
    codec::resp::write_command(batch.bytes, {"INFO", "server"});
    codec::resp::write_command(batch.bytes, {"SCRIPT", "LOAD", client::sessions::renew_script});
    codec::resp::write_command(batch.bytes, {"SCRIPT", "LOAD", client::sessions::release_script});
    batch.commands = 3;
    lock.unlock();
    const auto answers = connection_.exchange(batch, options.timings.timeout);
    const HolderInstant heard = holder_clock_now();
    lock.lock();
    if (!answers) return answers.error();
    if (is_fatal(answers->front())) {
        connection_.reset();
        return Error{Code::refused,
                     fmt::format("{} refused: {}", connection_.address().shown(), answers->front().text)};
    }
    backoff_.reset();
    connected_ = true;
    roll_.unanswered(heard);  // earlier requests are lost, and the heartbeat may be gone
    const auto age = client::sessions::LeaseCommands::read_memory_age(answers->front());
    const Duration wait = options.timings.restart_wait.value_or(options.timings.lease_ttl);
    // Counted from the answer, not from the request: the age may have been read just before the answer arrived.
    closed_until_ = age && *age < wait ? heard + wait - *age : HolderInstant{};
    leases_.take_nothing_until(closed_until_);
    if (closed_until_ == HolderInstant{}) {
        tell(std::nullopt);
        return {};
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(closed_until_ - heard);
    Failure young{.outcome = Outcome::uncertain, .code = "recovering", .retry_in = left};
    young.message =
        fmt::format("{} was started a moment ago and may have forgotten who owns what; nothing new is taken for {}",
                    connection_.address().shown(), format_duration(left));
    tell(std::move(young));
    return {};
}

void LeaseManager::Core::exchange(Lock& lock) {
    HolderInstant now = holder_clock_now();
    const auto roll = retired_ ? std::vector<client::sessions::Membership::Request>{} : roll_.take_due(now);
    auto requests = leases_.take_due(now, max_batch);
    changed(now);
    client::sessions::RespConnection::Batch batch;
    const bool farewell = farewell_due_;
    if (farewell) commands_.write_farewell(batch.bytes);
    for (const auto& request : roll) {
        if (request.ask == client::sessions::Membership::Ask::heartbeat) commands_.write_heartbeat(batch.bytes);
        if (request.ask == client::sessions::Membership::Ask::scan)
            client::sessions::LeaseCommands::write_scan(batch.bytes, request.argument);
        if (request.ask == client::sessions::Membership::Ask::ttl)
            client::sessions::LeaseCommands::write_node_ttl(batch.bytes, request.argument);
    }
    for (const auto& request : requests)
        commands_.write(batch.bytes, request);
    batch.commands = (farewell ? 1 : 0) + roll.size() + requests.size();
    if (batch.commands == 0) return;
    lock.unlock();
    const auto answers = connection_.exchange(batch, options.timings.timeout);
    lock.lock();
    now = holder_clock_now();
    if (!answers) {
        failed(answers.error(), now);
        return nobody_answered(requests, now);
    }
    auto value = answers->begin();
    if (farewell) {
        farewell_due_ = false;
        ++value;
    }
    for (const auto& request : roll)
        roll_.answer(request, *value++, now);
    std::vector<client::sessions::LeaseRequest> unknown_scripts;
    for (const auto& request : requests) {
        if (client::sessions::LeaseCommands::is_unknown_script(*value))
            unknown_scripts.push_back(request);
        else
            answer(request, *value, now);
        ++value;
    }
    hear_roll(now);
    repeat_in_full(lock, unknown_scripts);
}

void LeaseManager::Core::hear_roll(HolderInstant now) {
    const bool read_whole = roll_.take_news();
    if (read_whole && !retired_) leases_.set_live(roll_.live(), now);
    if (read_whole && trouble_ && code_in(trouble_->code) == Code::too_many_nodes) tell(std::nullopt);
    if (roll_.take_endless())
        tell(failure_of(
            {Code::too_many_nodes, connection_.address().shown() + " has too many instances or keys to read"}));
}

/// Repeats requests with the full scripts, after another client has flushed the script cache.
void LeaseManager::Core::repeat_in_full(Lock& lock, const std::vector<client::sessions::LeaseRequest>& requests) {
    if (requests.empty()) return;
    client::sessions::RespConnection::Batch batch;
    for (const auto& request : requests)
        commands_.write_in_full(batch.bytes, request);
    batch.commands = requests.size();
    lock.unlock();
    const auto answers = connection_.exchange(batch, options.timings.timeout);
    lock.lock();
    const HolderInstant now = holder_clock_now();
    if (!answers) {
        failed(answers.error(), now);
        return nobody_answered(requests, now);
    }
    for (std::size_t i = 0; i < requests.size(); ++i)
        answer(requests[i], (*answers)[i], now);
}

void LeaseManager::Core::answer(const client::sessions::LeaseRequest& request, const codec::resp::Value& value,
                                HolderInstant now) {
    const client::sessions::LeaseAnswer meaning = client::sessions::LeaseCommands::read(request, value);
    if (value.is_error()) {
        refused_ = request.ask;
        tell(failure_of({Code::refused, fmt::format("{} answered: {}", connection_.address().shown(), value.text)}));
    } else if (trouble_ && code_in(trouble_->code) == Code::refused && refused_ == request.ask) {
        tell(std::nullopt);  // only the same kind of request clears it: a full store still answers reads
    }
    leases_.answer(request, meaning, now);
}

void LeaseManager::Core::nobody_answered(const std::vector<client::sessions::LeaseRequest>& requests,
                                         HolderInstant now) {
    for (const auto& request : requests) {
        release_unanswered_ |= retired_ && request.ask == client::sessions::Ask::release;
        leases_.answer(request, {}, now);
    }
}

void LeaseManager::Core::failed(const Error& error, HolderInstant now) {
    connected_ = false;
    roll_.unanswered(now);
    retry_at_ = now + backoff_.next(random_);
    tell(failure_of(error));
}

/// Reports each trouble once, no matter how often it occurs.
void LeaseManager::Core::tell(std::optional<Failure> trouble) {
    const auto code = [](const std::optional<Failure>& one) { return one ? one->code : std::string{}; };
    const bool same = code(trouble) == code(trouble_);
    trouble_ = trouble;
    if (same) return;
    news_.push_back({std::nullopt, std::move(trouble)});
    watch_alarm_.wake();
}

/// REQUIRES: the lock is held. To be called after every change of ownership or of the schedule.
void LeaseManager::Core::changed(HolderInstant now) {
    apply_changes(now);
    settled_.notify_all();
    talk_alarm_.wake();
    watch_alarm_.wake();
}

void LeaseManager::Core::apply_changes(HolderInstant now) {
    for (auto& change : leases_.take_changes()) {
        const bool held = change.to == Ownership::owned || change.to == Ownership::uncertain;
        if (change.forgotten)
            table_.remove(change.session);
        else if (held)
            table_.add(change.session)->hold_until(change.end, now);
        else if (const auto until = table_.get(change.session))
            until->finish();
        if (change.from != change.to)
            news_.push_back({OwnershipChange{.session = change.session,
                                             .from = change.from,
                                             .to = change.to,
                                             .owner = change.owner,
                                             .at = std::chrono::system_clock::now()},
                             {}});
    }
}

void LeaseManager::Core::watch() {
    Lock lock(mutex_);
    while (!watch_over_ || !news_.empty()) {
        leases_.end_overdue(holder_clock_now());
        apply_changes(holder_clock_now());
        const auto news = std::exchange(news_, {});
        const HolderInstant next = leases_.next_end();
        const bool last = watch_over_;
        lock.unlock();
        for (const auto& [change, trouble] : news) {
            if (change && options.on_change) options.on_change(*change);
            if (!change && options.on_connection) options.on_connection(trouble);
        }
        if (!last) watch_alarm_.sleep_until(next);
        lock.lock();
    }
}

}  // namespace holdfast
