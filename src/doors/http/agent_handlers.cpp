#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/decode_parts.h"
#include "doors/http/handlers.h"

namespace holdfast::http {

using core::Refused;

void handle_list_agents(Services& services, const Request& request, const std::string&, Reply reply) {
    auto page = decode_page(request);
    if (!page) return reply(failure(page.error()));
    reply(answer_agents(services.authority.agents(page->after, page->limit)));
}

void handle_get_agent(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto checked = decode_holder_only(request, id); !checked) return reply(failure(checked.error()));
    services.authority.get_agent(id, [reply](const core::Answer<core::AgentAnswer>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_agent(std::get<core::AgentAnswer>(answer)));
    });
}

void handle_put_agent(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_agent(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    services.authority.put_agent(std::move(*decoded), [reply](const core::Answer<core::AgentAnswer>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_agent(std::get<core::AgentAnswer>(answer)));
    });
}

void handle_forget_agent(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto checked = decode_holder_only(request, id); !checked) return reply(failure(checked.error()));
    services.authority.forget_agent(
        id,
        [reply, id](const core::Answer<bool>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_forget(id, std::get<bool>(answer)));
        },
        caller_of(request));
}

void handle_declare_restart(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_restart(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    services.authority.declare_restart(std::move(*decoded), [reply](const core::Answer<core::RestartAnswer>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_restart(std::get<core::RestartAnswer>(answer)));
    });
}

}  // namespace holdfast::http
