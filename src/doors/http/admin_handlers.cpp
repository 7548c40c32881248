#include "base/clock.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/decode_parts.h"
#include "doors/http/handlers.h"
#include "lease/ip_prefix.h"

namespace holdfast::http {
namespace {

using core::Refused;

/// The lease that an admin's request names, whose body says nothing more.
Result<core::LeaseName> decode_named(const Request& request, const std::string& id) {
    if (auto nothing = decode_nothing(request); !nothing) return nothing.error();
    return decode_lease_name(id);
}

Callback<core::Answer<core::HeldLease>> reply_barred(Services& services, Reply reply) {
    return [reply = std::move(reply), &services](const core::Answer<core::HeldLease>& answer) {
        if (!reply.open()) return;
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_bar(std::get<core::HeldLease>(answer), {services.authority.now()}));
    };
}

}  // namespace

void handle_bar(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto name = decode_named(request, id);
    if (!name) return reply(failure(name.error()));
    services.authority.bar(std::move(*name), reply_barred(services, std::move(reply)), caller_of(request));
}

/// What belongs to a service is not freed while its work may run (R7): it is barred, and a key's backend ends now.
void handle_revoke(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto name = decode_named(request, id);
    if (!name) return reply(failure(name.error()));
    const core::Owner owner = core::owner_of(name->resource);
    if (owner == core::Owner::keys)
        return services.controller.revoke(*name, reply_barred(services, std::move(reply)), caller_of(request));
    if (owner != core::Owner::nobody)
        return services.authority.bar(std::move(*name), reply_barred(services, std::move(reply)), caller_of(request));
    services.authority.revoke(
        *name,
        [reply, name = *name](const core::Answer<core::Lease>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_revoke(name));
        },
        caller_of(request));
}

void handle_get_policy(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    reply(answer_policy(services.authority.policy()));
}

void handle_change_policy(Services& services, const Request& request, const std::string&, Reply reply) {
    auto change = decode_policy_change(request);
    if (!change) return reply(failure(change.error()));
    services.authority.change_policy(
        *change,
        [reply](const core::Answer<core::Policy>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_policy(std::get<core::Policy>(answer)));
        },
        caller_of(request));
}

void handle_list_bans(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_page(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_bans(services.authority.policy(), decoded->after, decoded->limit));
}

void handle_get_ban(Services& services, const Request& request, const std::string& holder, Reply reply) {
    if (auto checked = decode_holder_only(request, holder); !checked) return reply(failure(checked.error()));
    const auto& bans = services.authority.policy().bans;
    const auto found = bans.find(core::ban_name(holder));
    if (found == bans.end()) return reply(failure(core::Code::not_banned));
    reply(answer_ban(found->first, found->second));
}

void handle_ban(Services& services, const Request& request, const std::string& holder, Reply reply) {
    auto decoded = decode_ban(request, holder);
    if (!decoded) return reply(failure(decoded.error()));
    services.authority.ban(
        holder, {decoded->reason, wall_clock_ms()},
        [reply, holder](const core::Answer<core::Ban>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_ban(core::ban_name(holder), std::get<core::Ban>(answer)));
        },
        caller_of(request));
}

void handle_unban(Services& services, const Request& request, const std::string& holder, Reply reply) {
    if (auto checked = decode_holder_only(request, holder); !checked) return reply(failure(checked.error()));
    services.authority.unban(
        holder,
        [reply, holder](const core::Answer<bool>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_unban(core::ban_name(holder), std::get<bool>(answer)));
        },
        caller_of(request));
}

void handle_audit(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_audit(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_audit(services.authority.audit(decoded->after, decoded->limit)));
}

}  // namespace holdfast::http
