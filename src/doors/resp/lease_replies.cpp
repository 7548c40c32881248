#include "doors/resp/lease_replies.h"

#include <algorithm>
#include <array>

#include "authority/acquisition.h"
#include "doors/resp/command_table.h"

namespace holdfast::doors::resp {

namespace {

constexpr std::size_t max_named = 3;  // conflicts named in an error of one line

std::string_view in_capitals(Code code, std::array<char, 32>& room) {
    const std::string_view name = name_of(code).substr(0, room.size());
    std::transform(name.begin(), name.end(), room.begin(), upper_case);
    return {room.data(), name.size()};
}

/// Rounds up, so that a retry after this time is not too early.
std::int64_t ms_up(Duration duration) {
    return to_ms(duration + Duration{1ms} - Duration{1});
}

std::string in_the_way(const authority::AcquireBusy& busy) {
    std::string text(advice_of(busy.code));
    std::size_t named = 0;
    for (const authority::NamedConflict& entry : busy.conflicts) {
        const lease::Conflict& conflict = entry.conflict;
        if (named == max_named) {
            text += ", and others";
            break;
        }
        text += named++ == 0 ? "; in the way: " : ", ";
        text += conflict.holder + " (";
        text += conflict.token == 0 ? "waiting" : to_string(conflict.predicate);
        text += conflict.reserved ? ", restarting" : "";
        text += " for " + std::to_string(to_ms(conflict.expires_in)) + " ms more)";
    }
    return text;
}

void pair(codec::resp::ReplyWriter& reply, std::string_view name, std::string_view value) {
    reply.bulk(name);
    reply.bulk(value);
}
void pair(codec::resp::ReplyWriter& reply, std::string_view name, std::int64_t value) {
    reply.bulk(name);
    reply.integer(value);
}

}  // namespace

std::string with_retry(std::string_view message, std::optional<Duration> retry_in) {
    std::string text(message);
    if (retry_in) text += "; retry_in_ms=" + std::to_string(ms_up(*retry_in));
    return text;
}

void put_error(codec::resp::ReplyWriter& reply, Code code, std::string_view detail, std::optional<Duration> retry_in) {
    std::array<char, 32> room;
    const std::string_view name = in_capitals(code, room);
    const std::string_view message = detail.empty() ? advice_of(code) : detail;
    if (!retry_in) return reply.error(name, message);
    reply.error(name, with_retry(message, retry_in));
}

void put_refused(codec::resp::ReplyWriter& reply, const authority::Refused& refused) {
    put_error(reply, refused.code, refused.detail, refused.retry_in);
}

void fail(Exchange& exchange, const Error& error) {
    auto reply = exchange.reply();
    put_error(reply, Code::invalid_argument, error.message);
    exchange.finish();
}

void put_busy(codec::resp::ReplyWriter& reply, const authority::AcquireBusy& busy) {
    const auto retry_in = busy.code == Code::cancelled ? std::nullopt : std::optional(busy.retry_in);
    put_error(reply, busy.code, in_the_way(busy), retry_in);
}

void put_told(codec::resp::ReplyWriter& reply, const ToldLease& told, Instant now) {
    const lease::Timeline timeline = lease::timeline_of(told.lease, now);
    const bool waited = told.waited > Duration::zero();
    reply.map(7U + (told.cut_from ? 1U : 0U) + (waited ? 1U : 0U) + (told.session.empty() ? 0U : 1U));
    pair(reply, "resource", told.resource);
    pair(reply, "token", static_cast<std::int64_t>(told.lease.token));
    pair(reply, "ttl_ms", to_ms(told.lease.ttl));
    pair(reply, "renew_in_ms", to_ms(timeline.renew_in));
    pair(reply, "soft_terminate_in_ms", to_ms(timeline.soft_terminate_in));
    pair(reply, "hard_terminate_in_ms", to_ms(timeline.hard_terminate_in));
    pair(reply, "expires_in_ms", to_ms(timeline.expires_in));
    if (told.cut_from) pair(reply, "ttl_cut_from_ms", to_ms(*told.cut_from));
    if (waited) pair(reply, "waited_ms", to_ms(told.waited));
    if (!told.session.empty()) pair(reply, "session", told.session);
}

void put_acquired(codec::resp::ReplyWriter& reply, const authority::AcquireAnswer& answer, Instant now) {
    if (const auto* refused = std::get_if<authority::Refused>(&answer)) return put_refused(reply, *refused);
    if (const auto* busy = std::get_if<authority::AcquireBusy>(&answer)) return put_busy(reply, *busy);
    const authority::AcquireGranted& granted = std::get<authority::AcquireGranted>(answer);
    const authority::HeldLease& held = granted.leases.front();
    const auto cut = granted.ttl_cut ? std::optional(granted.ttl_cut->requested) : std::nullopt;
    const bool leads = lease::owner_of(held.resource) == lease::Owner::leaders;
    put_told(reply, {held.resource, held.lease, cut, granted.waited, leads ? held.lease.session : std::string_view()},
             now);
}

void put_acquired(codec::resp::ReplyWriter& reply, std::string_view resource,
                  const authority::SingleRecordAnswer& answer) {
    if (answer.refused == Code::busy) return put_busy(reply, authority::busy_answer(Code::busy, answer.standing));
    put_renewed(reply, resource, answer);
}

void put_renewed(codec::resp::ReplyWriter& reply, std::string_view resource,
                 const authority::SingleRecordAnswer& answer) {
    if (answer.refused) return put_error(reply, *answer.refused, answer.detail, answer.retry_in);
    put_told(reply, {resource, answer.lease, answer.cut_from}, answer.at);
}

void put_released(codec::resp::ReplyWriter& reply, const authority::SingleRecordAnswer& answer) {
    if (answer.refused) return put_error(reply, *answer.refused, answer.detail, answer.retry_in);
    reply.map(2);
    reply.bulk("released");
    reply.boolean(answer.has_lease);
    pair(reply, "state", to_string(answer.state));
}

void put_lease(codec::resp::ReplyWriter& reply, std::string_view resource, const lease::Lease& lease, Instant now) {
    // The session of a leader proves that it is the leader (R2).
    const bool shows_session = !lease.session.empty() && lease::shows_session(resource, lease.session);
    const std::size_t optional = (shows_session ? 1U : 0U) + (lease.reason.empty() ? 0U : 1U) +
                                 (lease.metadata.empty() ? 0U : 1U) + (lease.priority ? 1U : 0U);
    reply.map(7 + optional);
    pair(reply, "resource", resource);
    pair(reply, "token", static_cast<std::int64_t>(lease.token));
    pair(reply, "holder", lease.holder);
    pair(reply, "predicate", to_string(lease.predicate));
    pair(reply, "ttl_ms", to_ms(lease.ttl));
    pair(reply, "expires_in_ms", to_ms(lease.expires_at - now));
    reply.bulk("renewable");
    reply.boolean(lease.renewable);
    if (shows_session) pair(reply, "session", lease.session);
    if (!lease.reason.empty()) pair(reply, "reason", lease.reason);
    if (!lease.metadata.empty()) pair(reply, "metadata", lease.metadata);
    if (lease.priority) pair(reply, "priority", *lease.priority);
}

void put_verified(codec::resp::ReplyWriter& reply, const authority::VerifyAnswer& answer) {
    const lease::Verified& verified = answer.verified;
    const bool grace = verified.state == lease::LeaseState::grace;
    reply.map(4 + (verified.lease ? 2U : 0U) + (verified.ended_ago ? 1U : 0U) + (grace ? 2U : 0U));
    pair(reply, "resource", answer.name.resource);
    pair(reply, "token", static_cast<std::int64_t>(answer.name.token));
    pair(reply, "state", to_string(verified.state));
    if (verified.lease) {
        pair(reply, "holder", verified.lease->holder);
        pair(reply, "expires_in_ms", to_ms(verified.lease->expires_at - answer.at));
    }
    if (verified.ended_ago) pair(reply, "ended_ago_ms", to_ms(*verified.ended_ago));
    if (grace) {
        pair(reply, "holder", verified.reserved_holder);
        pair(reply, "reserved_for_ms", to_ms(verified.reserved_for.value_or(Duration::zero())));
    }
    reply.bulk("current");
    reply.array(verified.current.size());
    for (const lease::Lease& lease : verified.current)
        put_lease(reply, answer.name.resource, lease, answer.at);
}

}  // namespace holdfast::doors::resp
