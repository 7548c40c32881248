#include "cli/mcp/mcp_leases.h"

#include <algorithm>

#include "base/code.h"
#include "cli/api.h"

namespace holdfast::cli::mcp {
namespace {

namespace json = boost::json;

/// No valid timeline is longer; a larger value is malformed, and could overflow.
constexpr std::int64_t max_milliseconds = std::int64_t{1000} * 60 * 60 * 24 * 365;
/// Beyond this limit the oldest losses are dropped: a model that never asks must not exhaust memory.
constexpr std::size_t max_lost = 1000;
/// One lease has few spellings.
constexpr std::size_t max_paths = 16;

Error not_in_time() {
    return {"", "it could not be renewed in time"};
}

std::optional<lease::HolderDeadlines> deadlines_in(const json::value& lease, HolderInstant sent_at, HolderInstant now) {
    const auto ms = [](const json::value& object, std::string_view field) {
        const std::int64_t number = number_of(object, field);
        return std::chrono::milliseconds{number > 0 && number <= max_milliseconds ? number : 0};
    };
    const json::value& timeline = field_of(lease, "timeline");
    const lease::Timeline read{ms(timeline, "renew_in_ms"), ms(timeline, "soft_terminate_in_ms"),
                               ms(timeline, "hard_terminate_in_ms"), ms(timeline, "expires_in_ms")};
    const auto ttl = ms(lease, "ttl_ms");
    if (read.expires_in <= 0s || ttl <= 0s) return std::nullopt;
    return lease::HolderDeadlines{
        lease::TimedAnswer{.sent_at = sent_at, .arrived_at = now, .timeline = read, .ttl = ttl}};
}

}  // namespace

HolderInstant McpLeases::counts_from(const json::value& grant, HolderInstant sent_at, HolderInstant now) {
    const std::int64_t waited = number_of(grant, "waited_ms");
    if (waited <= 0 || waited > max_milliseconds) return sent_at;
    return std::min(sent_at + std::chrono::milliseconds{waited}, now);
}

bool McpLeases::needs_renewal(const json::value& lease, HolderInstant sent_at, HolderInstant now) {
    const auto deadlines = deadlines_in(lease, sent_at, now);
    return deadlines && deadlines->renew_at() <= now;
}

bool McpLeases::keep(const json::value& lease, HolderInstant sent_at, HolderInstant now) {
    const std::string id = text_of(lease, "id");
    const auto deadlines = deadlines_in(lease, sent_at, now);
    if (id.empty() || !deadlines || !deadlines->held(now)) return false;
    const std::lock_guard lock(mutex_);
    std::set<std::string> paths;
    if (const auto known = leases_.find(id); known != leases_.end()) {
        keeper_.remove(known->second.key);
        names_.erase(known->second.key);
        paths = std::move(known->second.paths);
    }
    const client::Keeper::Key key = ++last_key_;
    leases_[id] = {key,
                   text_of(lease, "resource"),
                   text_of(lease, "predicate"),
                   static_cast<std::uint64_t>(number_of(lease, "token")),
                   std::move(paths),
                   {}};
    names_[key] = id;
    keeper_.add({key, *deadlines}, now);
    return true;
}

void McpLeases::forget(const std::string& id) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) return;
    keeper_.remove(found->second.key);
    names_.erase(found->second.key);
    leases_.erase(found);
}

void McpLeases::remember_path(const std::string& id, const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found != leases_.end() && found->second.paths.size() < max_paths) found->second.paths.insert(path);
}

void McpLeases::lose(const std::string& id, const Error& why) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) return;
    keeper_.remove(found->second.key);
    remember_lost(id, why);
}

void McpLeases::remember_lost(const std::string& id, const Error& why) {
    const auto found = leases_.find(id);
    if (found == leases_.end()) return;
    if (lost_.size() == max_lost) lost_.erase(lost_.begin());
    // Expiry alone explains nothing: report why the lease could not be renewed.
    const Error& refused = found->second.refused;
    const bool ran_out = why.code.empty() || code_in(why.code) == Code::lease_expired;
    const Error& cause = ran_out && !refused.code.empty() ? refused : why;
    lost_.push_back({id, found->second.resource, cause.code, cause.message});
    names_.erase(found->second.key);
    leases_.erase(found);
}

void McpLeases::drop_ended(HolderInstant now) {
    for (const client::Keeper::Key key : keeper_.take_ended(now))
        remember_lost(names_.at(key), not_in_time());
}

bool McpLeases::holds(const std::string& id, HolderInstant now) {
    const std::lock_guard lock(mutex_);
    drop_ended(now);
    return leases_.contains(id);
}

std::vector<McpLeases::Held> McpLeases::held(HolderInstant now) {
    const std::lock_guard lock(mutex_);
    drop_ended(now);
    std::vector<Held> list;
    for (const auto& [id, entry] : leases_)
        list.push_back(
            {id, entry.resource, entry.predicate, entry.token, keeper_.end_of(entry.key) - now, entry.paths});
    return list;
}

std::size_t McpLeases::size(HolderInstant now) {
    const std::lock_guard lock(mutex_);
    drop_ended(now);
    return leases_.size();
}

std::vector<McpLeases::Lost> McpLeases::take_lost(HolderInstant now) {
    const std::lock_guard lock(mutex_);
    drop_ended(now);
    return std::exchange(lost_, {});
}

std::vector<std::string> McpLeases::take_due(HolderInstant now) {
    const std::lock_guard lock(mutex_);
    drop_ended(now);
    std::vector<std::string> due;
    for (const client::Keeper::Key key : keeper_.take_due(now))
        due.push_back(names_.at(key));
    return due;
}

void McpLeases::answer(const json::value& result, HolderInstant sent_at, HolderInstant now) {
    const std::string id = text_of(result, "id");
    if (text_of(result, "result") == "RENEWED") {
        const auto deadlines = deadlines_in(field_of(result, "lease"), sent_at, now);
        if (!deadlines) return unanswered(id, now);
        return settle(id, client::RenewalGranted{*deadlines}, not_in_time(), now);
    }
    const json::value& error = field_of(result, "error");
    const std::string code = text_of(error, "code");
    settle(id, client::RenewalRejected{code}, {code, text_of(error, "message")}, now);
}

void McpLeases::unanswered(const std::string& id, HolderInstant now) {
    settle(id, client::RenewalUnanswered{}, not_in_time(), now);
}

void McpLeases::settle(const std::string& id, const client::RenewalAnswer& answer, const Error& why,
                       HolderInstant now) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) return;
    if (keeper_.answer(found->second.key, answer, now) == Outcome::lost) return remember_lost(id, why);
    if (std::holds_alternative<client::RenewalGranted>(answer)) found->second.refused = {};
    if (std::holds_alternative<client::RenewalRejected>(answer)) found->second.refused = why;
}

HolderInstant McpLeases::next() {
    const std::lock_guard lock(mutex_);
    return keeper_.next();
}

}  // namespace holdfast::cli::mcp
