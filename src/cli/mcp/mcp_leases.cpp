#include "cli/mcp/mcp_leases.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/code.h"
#include "client/keeper.h"
#include "client/lease_state.h"

namespace holdfast::cli::mcp {
namespace {

/// Beyond this limit the oldest losses are dropped: a model that never asks must not exhaust memory.
constexpr std::size_t max_lost = 1000;
/// One lease has few spellings.
constexpr std::size_t max_paths = 16;

/// The reason of a loss, in words for a model.
Error told(const Failure& lost) {
    const ErrorCode code = ErrorCode::named(lost.code);
    if (code == Code::stale_epoch) return {code, "a newer process of this agent has taken over"};
    // Expiry alone explains nothing.
    if (code == Code::unreachable || code == Code::lease_expired) return {{}, "it could not be renewed in time"};
    return {code, lost.message};
}

}  // namespace

McpLeases::McpLeases(std::shared_ptr<client::Transport> transport, const McpAgent& agent)
    : transport_(std::move(transport)), agent_(agent) {}

/// A kept lease and its client keep each other alive.
McpLeases::~McpLeases() {
    for (const auto& [id, entry] : leases_)
        entry.lease->abandon();
}

std::shared_ptr<Client::Core> McpLeases::client() {
    const std::lock_guard lock(mutex_);
    if (!client_)
        client_ = Client::Core::make(
            {.transport = transport_, .holder = agent_.holder(), .timeout = answer_timeout, .problem = {}});
    if (const auto epoch = agent_.epoch()) client_->epoch->set(*epoch);
    return client_;
}

std::variant<client::Timing, Failure> McpLeases::acquire(std::vector<Intent> intents, AcquireOptions options) {
    options.session = agent_.session();
    options.name_space = agent_.name_space();
    auto result = client::Acquiring(client(), std::move(intents), options).take();
    if (auto* failure = std::get_if<Failure>(&result)) return std::move(*failure);
    const auto& taken = std::get<client::Acquiring::Taken>(result);
    for (const Grant& grant : taken.grants)
        keep(grant, taken.deadlines);
    return taken.timing;
}

Result<std::vector<client::RenewReply>> McpLeases::renew(client::Transport& way, const std::vector<std::string>& ids,
                                                         std::optional<Duration> ttl) {
    client::NamedLeases names = agent_.named(ids);
    names.ttl = ttl;
    const HolderInstant sent_at = holder_clock_now();
    auto replies = way.renew(names, answer_timeout);
    if (!replies) return replies;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        client::RenewReply& reply = (*replies)[i];
        if (const auto* error = std::get_if<Error>(&reply)) {
            if (client::means_lost(error->code)) lose(ids[i], *error);
            continue;
        }
        const auto& [timing, grant] = std::get<client::Renewed>(reply);
        const HolderInstant now = holder_clock_now();
        const lease::HolderDeadlines deadlines{
            lease::TimedAnswer{.sent_at = sent_at, .arrived_at = now, .timeline = timing.timeline, .ttl = timing.ttl}};
        if (deadlines.held(now))
            keep(grant, deadlines);
        else
            reply = Error{Code::unreachable, "the server's answer came too late to be of use"};
    }
    return replies;
}

Result<client::ReleaseReply> McpLeases::release(client::Transport& way, const std::string& id, Duration within) {
    forget(id);
    auto replies = way.release(agent_.named({id}), within);
    if (!replies) return replies.error();
    return std::move(replies->front());
}

/// Adds the lease, or gives one that is held new deadlines.
void McpLeases::keep(Grant grant, const lease::HolderDeadlines& deadlines) {
    const auto core = client();
    const std::lock_guard lock(mutex_);
    auto& place = leases_[grant.id].lease;
    const auto before = place;
    if (before) grant = before->grants.front();
    place = std::make_shared<Lease::State>(std::vector{std::move(grant)}, agent_.session(), deadlines, core);
    core->keeper.add({place, deadlines});
    if (before) before->abandon();
}

void McpLeases::forget(const std::string& id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = leases_.extract(id)) found.mapped().lease->abandon();
}

void McpLeases::remember_path(const std::string& id, const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found != leases_.end() && found->second.paths.size() < max_paths) found->second.paths.insert(path);
}

void McpLeases::lose(const std::string& id, const Error& why) {
    const std::lock_guard lock(mutex_);
    move_lost();
    const auto found = leases_.extract(id);
    if (!found) return;
    const auto& lease = found.mapped().lease;
    lease->abandon();
    remember_lost({id, lease->grants.front().resource, why.code, why.message});
}

void McpLeases::remember_lost(Lost lost) {
    if (lost_.size() == max_lost) lost_.erase(lost_.begin());
    lost_.push_back(std::move(lost));
}

/// A lease whose deadline has passed is not held, and lost as soon as its keeper has said why. REQUIRES: the lock is
/// held.
void McpLeases::move_lost() {
    for (auto at = leases_.begin(); at != leases_.end();) {
        const auto lost = at->second.lease->lost();
        if (!lost) {
            ++at;
            continue;
        }
        const Error why = told(*lost);
        remember_lost({at->first, at->second.lease->grants.front().resource, why.code, why.message});
        at->second.lease->abandon();
        at = leases_.erase(at);
    }
}

bool McpLeases::holds(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    return found != leases_.end() && found->second.lease->held();
}

std::vector<McpLeases::Held> McpLeases::held() {
    const std::lock_guard lock(mutex_);
    std::vector<Held> list;
    for (const auto& [id, entry] : leases_) {
        const Duration left = entry.lease->remaining().end;
        if (left <= Duration::zero()) continue;
        list.push_back({entry.lease->grants.front(), left, entry.paths});
    }
    return list;
}

std::size_t McpLeases::size() {
    return held().size();
}

std::vector<McpLeases::Lost> McpLeases::take_lost() {
    const std::lock_guard lock(mutex_);
    move_lost();
    return std::exchange(lost_, {});
}

}  // namespace holdfast::cli::mcp
