#include "client/agent/agent_core.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/clock.h"
#include "base/code.h"
#include "base/random.h"
#include "client/messages.h"

namespace holdfast {

namespace {

LeftBehind to_left_behind(const client::VerifiedLease& lease) {
    return {lease.id, lease.resource, lease.state == "ACTIVE",
            std::chrono::floor<std::chrono::milliseconds>(lease.remaining)};
}

}  // namespace

Failure to_failure(const Error& error) {
    const bool silent =
        error.code == Code::unreachable || error.code == Code::cancelled || error.code == Code::bad_answer;
    const Outcome outcome = silent ? Outcome::unreachable : client::outcome_of(error.code, 400);
    const ErrorCode code = silent ? Code::unreachable : error.code;
    return {.outcome = outcome, .code = std::string(code.name()), .message = error.message};
}

Agent::Core::Core(std::shared_ptr<Client::Core> of, AgentOptions options)
    : client(std::move(of)),
      asks(client->transport->twin()),
      options_(std::move(options)),
      file_(options_.state_file) {}

std::optional<Failure> Agent::Core::start() {
    const std::lock_guard one_at_a_time(starting_);
    if (started_) return std::nullopt;
    if (client->problem) return to_failure(*client->problem);
    if (digest().epoch == 0) {
        if (const auto loaded = load(); !loaded) return to_failure(loaded.error());
    }
    if (const auto settled = settle_life(); !settled) return to_failure(settled.error());
    started_ = true;
    return std::nullopt;
}

/// Determines the epoch of this incarnation and saves it. Without a digest only the server knows the last epoch.
Result<void> Agent::Core::load() {
    std::unique_lock lock(mutex_);
    auto loaded = file_.load();
    lock.unlock();
    if (!loaded) return loaded.error();
    client::agent::Digest next;
    if (*loaded) {
        next = std::move(**loaded);
        if (next.id != client->holder)
            return Error{Code::invalid_argument,
                         fmt::format("the digest belongs to the agent '{}', not to this one", next.id)};
        ++next.epoch;
    } else {
        const auto known = register_life(std::nullopt);
        if (!known) return known.error();
        next.id = client->holder;
        next.session = random_hex(8);
        next.epoch = known->created ? known->epoch : known->epoch + 1;
    }
    if (auto saved = save(std::move(next)); !saved) return saved.error();
    return {};
}

/// The priority of the first incarnation is kept by every later one (G5).
Result<client::AgentKnown> Agent::Core::register_life(std::optional<std::uint64_t> epoch) {
    const auto kept = digest().priority;
    return asks->register_agent({client->holder, kept ? kept : options_.priority, epoch}, client->timeout);
}

/// Registers the saved epoch, and asks the server which leases of the previous incarnation are left (R3).
Result<void> Agent::Core::settle_life() {
    client::agent::Digest life = digest();
    client->epoch->set(life.epoch);
    const auto known = register_life(life.epoch);
    if (!known) return known.error();
    if (life.priority != known->priority) {
        life.priority = known->priority;
        if (auto saved = save(std::move(life)); !saved) return saved.error();
    }
    const auto verified = verify();
    if (!verified) return verified.error();
    const std::lock_guard lock(mutex_);
    left_.clear();
    std::transform(verified->begin(), verified->end(), std::back_inserter(left_), to_left_behind);
    return {};
}

std::optional<Failure> Agent::Core::begin_next_life() {
    let_go_of_left_behind();
    client::agent::Digest next = digest();
    ++next.epoch;
    if (auto saved = save(std::move(next)); !saved) return to_failure(saved.error());
    if (const auto settled = settle_life(); !settled) return to_failure(settled.error());
    return std::nullopt;
}

Result<void> Agent::Core::save(client::agent::Digest digest) {
    const std::lock_guard lock(mutex_);
    if (auto saved = file_.save(digest); !saved) return saved;
    digest_ = std::move(digest);
    return {};
}

std::optional<Failure> Agent::Core::save_checkpoint(std::string checkpoint) {
    if (const auto checked = client::agent::check_checkpoint(checkpoint); !checked) return to_failure(checked.error());
    if (auto failure = start()) return failure;
    const std::lock_guard lock(mutex_);
    client::agent::Digest next = digest_;
    next.checkpoint = std::move(checkpoint);
    if (const auto saved = file_.save(next); !saved) return to_failure(saved.error());
    digest_ = std::move(next);
    return std::nullopt;
}

std::optional<Failure> Agent::Core::save_pending(std::vector<Intent> intents) {
    const std::lock_guard lock(mutex_);
    client::agent::Digest next = digest_;
    next.pending = std::move(intents);
    if (const auto saved = file_.save(next); !saved) return to_failure(saved.error());
    digest_ = std::move(next);
    return std::nullopt;
}

client::agent::Digest Agent::Core::digest() const {
    const std::lock_guard lock(mutex_);
    return digest_;
}

std::vector<LeftBehind> Agent::Core::left_behind() const {
    const std::lock_guard lock(mutex_);
    return left_;
}

void Agent::Core::leave_behind(const std::vector<Grant>& grants) {
    const std::lock_guard lock(mutex_);
    for (const auto& grant : grants)
        left_.push_back({grant.id, grant.resource, false, {}});
}

/// Best effort: a lease whose release does not reach the server ends by itself.
void Agent::Core::let_go_of_left_behind() {
    client::NamedLeases names{client->holder, {}, client->epoch->get(), digest().session};
    {
        const std::lock_guard lock(mutex_);
        for (const auto& left : std::exchange(left_, {}))
            names.leases.push_back({left.lease, {}});
    }
    if (names.leases.empty()) return;
    [[maybe_unused]] const auto told =
        client->transport->release(names, std::min(client->timeout, client::max_release));
}

Result<std::vector<client::VerifiedLease>> Agent::Core::verify() const {
    return asks->verify_all({client->holder, {}, client->epoch->get()}, client->timeout);
}

std::optional<Failure> Agent::Core::declare_restart() {
    if (auto failure = start()) return failure;
    const auto told = client->transport->declare_restart({client->holder, {}, client->epoch->get()}, client->timeout);
    if (!told) return to_failure(told.error());
    {
        const std::lock_guard lock(mutex_);
        restarting_ = true;
    }
    stop({.outcome = Outcome::refused, .code = "agent_restarting", .message = "this agent is about to restart"});
    return std::nullopt;
}

bool Agent::Core::restarting() const {
    const std::lock_guard lock(mutex_);
    return restarting_;
}

void Agent::Core::stop(const Failure& why) {
    {
        const std::lock_guard lock(mutex_);
        if (!stopped_) stopped_ = why;
        changed_.notify_all();
    }
    asks->stop();
}

std::optional<Failure> Agent::Core::stopped() const {
    const std::lock_guard lock(mutex_);
    return stopped_;
}

/// Sleeps in small steps, because a condition variable does not count time in suspend and this clock does.
void Agent::Core::sleep_until(HolderInstant instant, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stopped_ && !stop.stop_requested()) {
        const HolderInstant now = holder_clock_now();
        if (now >= instant) return;
        changed_.wait_for(lock, stop, std::min<Duration>(instant - now, 1s), [this] { return stopped_.has_value(); });
    }
}

bool Agent::Core::enter() {
    const std::lock_guard lock(mutex_);
    return !std::exchange(working_, true);
}

void Agent::Core::leave() {
    const std::lock_guard lock(mutex_);
    working_ = false;
}

}  // namespace holdfast
