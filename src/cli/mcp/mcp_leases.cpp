#include "cli/mcp/mcp_leases.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/code.h"
#include "cli/api.h"
#include "client/lease_state.h"

namespace holdfast::cli::mcp {
namespace {

/// No valid timeline is longer; a larger value is malformed, and could overflow.
constexpr std::uint64_t max_milliseconds = std::uint64_t{1000} * 60 * 60 * 24 * 365;
/// Beyond this limit the oldest losses are dropped: a model that never asks must not exhaust memory.
constexpr std::size_t max_lost = 1000;
/// One lease has few spellings.
constexpr std::size_t max_paths = 16;
/// For one renewal message.
constexpr Duration renewal_timeout = 10s;

std::optional<lease::HolderDeadlines> deadlines_in(const JsonValue& lease, const McpLeases::Asked& asked,
                                                   HolderInstant now) {
    const auto ms = [](const JsonValue& object, std::string_view field) {
        const std::uint64_t number = object[field].number;
        return std::chrono::milliseconds{number <= max_milliseconds ? number : 0};
    };
    const JsonValue& timeline = lease["timeline"];
    const lease::Timeline read{ms(timeline, "renew_in_ms"), ms(timeline, "soft_terminate_in_ms"),
                               ms(timeline, "hard_terminate_in_ms"), ms(timeline, "expires_in_ms")};
    const auto ttl = ms(lease, "ttl_ms");
    if (read.expires_in <= 0s || ttl <= 0s) return std::nullopt;
    return lease::HolderDeadlines{lease::TimedAnswer{
        .sent_at = asked.sent_at, .arrived_at = now, .timeline = read, .ttl = ttl, .waited = asked.waited}};
}

/// The reason of a loss, in words for a model.
Error told(const Failure& lost) {
    const auto code = code_in(lost.code);
    if (code == Code::stale_epoch) return {lost.code, "a newer process of this agent has taken over"};
    // Expiry alone explains nothing.
    if (lost.code == "unreachable" || code == Code::lease_expired) return {"", "it could not be renewed in time"};
    return {lost.code, lost.message};
}

}  // namespace

McpLeases::McpLeases(std::shared_ptr<client::Transport> transport, const McpAgent& agent)
    : transport_(std::move(transport)), agent_(agent) {}

/// A kept lease and its client keep each other alive.
McpLeases::~McpLeases() {
    for (const auto& [id, entry] : leases_)
        entry.lease->abandon();
}

/// REQUIRES: the lock is held.
const std::shared_ptr<Client::Core>& McpLeases::client() {
    if (!client_)
        client_ = Client::Core::make(
            {.transport = transport_, .holder = agent_.holder(), .timeout = renewal_timeout, .problem = {}});
    if (const auto epoch = agent_.epoch()) client_->epoch->set(*epoch);
    return client_;
}

McpLeases::Asked McpLeases::asked(const JsonValue& answer, HolderInstant sent_at) {
    const std::uint64_t waited = answer["waited_ms"].number;
    return {sent_at, std::chrono::milliseconds{waited <= max_milliseconds ? waited : 0}};
}

bool McpLeases::needs_renewal(const JsonValue& lease, const Asked& asked) {
    const HolderInstant now = holder_clock_now();
    const auto deadlines = deadlines_in(lease, asked, now);
    return deadlines && deadlines->renew_at() <= now;
}

bool McpLeases::keep(const JsonValue& lease, const Asked& asked) {
    const std::string id = lease["id"].text;
    const HolderInstant now = holder_clock_now();
    const auto deadlines = deadlines_in(lease, asked, now);
    if (id.empty() || !deadlines || !deadlines->held(now)) return false;
    const Grant grant{id, lease["resource"].text, lease["predicate"].text, lease["token"].number};
    const std::lock_guard lock(mutex_);
    const auto kept = std::make_shared<Lease::State>(std::vector{grant}, agent_.session(), *deadlines, client());
    client_->keeper.add({kept, *deadlines});
    if (const auto before = std::exchange(leases_[id].lease, kept)) before->abandon();
    return true;
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
        const Grant& grant = entry.lease->grants.front();
        list.push_back({id, grant.resource, grant.predicate, grant.token, left, entry.paths});
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
