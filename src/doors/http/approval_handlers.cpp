#include "base/clock.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/decode_parts.h"
#include "doors/http/decode_services.h"
#include "doors/http/handlers.h"
#include "doors/http/service_answers.h"

namespace holdfast::http {

void handle_list_approvals(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_page(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_approvals(services.authority.policy(), services.directory.awaiting_approval(), decoded->after,
                           decoded->limit));
}

void handle_approve(Services& services, const Request& request, const std::string& identity, Reply reply) {
    if (auto checked = decode_identity_only(request, identity); !checked) return reply(failure(checked.error()));
    services.authority.approve(
        identity,
        [reply, identity](const core::Answer<bool>& answer) {
            if (const auto* refused = std::get_if<core::Refused>(&answer)) return reply(failure(*refused));
            reply(answer_approve(identity, std::get<bool>(answer)));
        },
        caller_of(request));
}

void handle_deny(Services& services, const Request& request, const std::string& identity, Reply reply) {
    if (auto checked = decode_identity_only(request, identity); !checked) return reply(failure(checked.error()));
    services.authority.deny(
        identity, {"denied", wall_clock_ms()},
        [reply, identity](const core::Answer<core::Ban>& answer) {
            if (const auto* refused = std::get_if<core::Refused>(&answer)) return reply(failure(*refused));
            reply(answer_ban(identity, std::get<core::Ban>(answer)));
        },
        caller_of(request));
}

void handle_list_service_rules(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_name_rules_page(request);
    if (!decoded) return reply(failure(decoded.error()));
    reply(answer_name_rules(services.authority.policy(), decoded->after, decoded->limit));
}

void handle_put_service_rule(Services& services, const Request& request, const std::string& name, Reply reply) {
    const auto decoded = decode_name_rule(request, name);
    if (!decoded) return reply(failure(decoded.error()));
    services.authority.put_name_rule(
        decoded->about, decoded->rule,
        [reply, about = decoded->about](const core::Answer<core::NameRule>& answer) {
            if (const auto* refused = std::get_if<core::Refused>(&answer)) return reply(failure(*refused));
            reply(answer_name_rule(about, std::get<core::NameRule>(answer)));
        },
        caller_of(request));
}

void handle_lift_service_rules(Services& services, const Request& request, const std::string& name, Reply reply) {
    const auto about = decode_lifted_name_rules(request, name);
    if (!about) return reply(failure(about.error()));
    services.authority.lift_name_rules(
        *about,
        [reply, about = *about](const core::Answer<std::size_t>& answer) {
            if (const auto* refused = std::get_if<core::Refused>(&answer)) return reply(failure(*refused));
            reply(answer_lifted_name_rules(about, std::get<std::size_t>(answer)));
        },
        caller_of(request));
}

}  // namespace holdfast::http
