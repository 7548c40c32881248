#include "doors/http/answers.h"
#include "doors/http/decode_keys.h"
#include "doors/http/decode_parts.h"
#include "doors/http/handlers.h"
#include "doors/http/key_answers.h"

namespace holdfast::http {

using core::Refused;

void handle_connect(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_connect(request);
    if (!decoded) return reply(failure(decoded.error()));
    if (decoded->spawn && !services.spawns) return reply(failure(core::Code::spawn_not_allowed));
    const auto ticket =
        services.controller.connect(std::move(*decoded), [reply](const core::Answer<core::Connected>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_connect(std::get<core::Connected>(answer)));
        });
    if (ticket != 0) reply.wait([&services, ticket] { services.controller.cancel_connect(ticket); });
}

void handle_list_keys(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_keys(request);
    if (!decoded) return reply(failure(decoded.error()));
    core::ListQuery query;
    query.name_space = decoded->name_space;
    query.limit = decoded->limit;
    query.after = decoded->after;
    services.controller.keys(query, [reply](const core::Answer<core::KeyPage>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_keys(std::get<core::KeyPage>(answer)));
    });
}

void handle_bar_key(Services& services, const Request& request, const std::string& key, Reply reply) {
    const auto decoded = decode_key_only(request, key);
    if (!decoded) return reply(failure(decoded.error()));
    services.controller.bar(
        *decoded,
        [reply](const core::Answer<core::HeldKey>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_key(std::get<core::HeldKey>(answer)));
        },
        caller_of(request));
}

}  // namespace holdfast::http
