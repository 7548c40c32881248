#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "lease/ip_prefix.h"
#include "lease/limits.h"
#include "lease/manifest.h"

namespace holdfast::doors::http {
namespace {

namespace limits = lease::limits;
using authority::Refused;

Result<authority::AgentRequest> decode_agent_fields(const Request& request, const std::string& id,
                                                    bool may_set_priority) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    authority::AgentRequest agent;
    agent.caller = caller_of(request);
    agent.id = id;
    if (may_set_priority) agent.priority = fields.signed_whole("priority", max_priority);
    agent.epoch = epoch_field(fields);
    fields.check(lease::check_holder(id));
    if (auto error = fields.error()) return *error;
    return agent;
}

Result<authority::AgentRequest> decode_agent(const Request& request, const std::string& id) {
    return decode_agent_fields(request, id, true);
}

Result<authority::AgentRequest> decode_restart(const Request& request, const std::string& id) {
    return decode_agent_fields(request, id, false);
}

/// Writes an agent's fields and leaves the object open for more.
JsonWriter& open_agent(JsonWriter& json, const authority::Agent& agent) {
    json.open_object().field("id", agent.id).field("priority", agent.priority).field("epoch", agent.epoch);
    return json.flag("restarting", agent.restarting).field("deaths", std::uint64_t{agent.deaths});
}

void put_waiting(JsonWriter& json, const authority::WaitingRequest& waiting) {
    json.open_object().key("intents").open_array();
    for (const lease::Intent& intent : waiting.intents) {
        json.open_object().field("resource", lease::split_name(intent.resource).resource);
        json.field("predicate", to_string(intent.predicate)).close_object();
    }
    json.close_array().field("queue_position", std::uint64_t{waiting.place});
    json.field("wait_left_ms", to_ms(waiting.wait_left));
    put_conflicts(json, waiting.conflicts);
    json.field("retry_in_ms", to_ms_up(waiting.retry_in)).close_object();
}

Response answer_agent(const authority::AgentAnswer& answer) {
    Response response{.status = answer.created ? 201 : 200};
    JsonWriter json(response.body);
    json.open_object().key("agent");
    open_agent(json, answer.agent).field("leases", std::uint64_t{answer.leases}).key("waiting").open_array();
    for (const authority::WaitingRequest& waiting : answer.waiting)
        put_waiting(json, waiting);
    json.close_array().close_object().close_object();
    return response;
}

Response answer_agents(const authority::AgentPage& page) {
    const bool more = page.more && !page.agents.empty();
    return answer_page("agents", page.agents, more ? page.agents.back().id : std::string(),
                       [](JsonWriter& json, const authority::Agent& agent) { open_agent(json, agent).close_object(); });
}

Response answer_restart(const authority::RestartAnswer& answer) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("agent");
    open_agent(json, answer.agent).close_object();
    json.field("reserved", std::uint64_t{answer.reserved})
        .field("grace_ms", to_ms(lease::limits::grace))
        .close_object();
    return response;
}

Response answer_forget(const std::string& id, bool forgotten) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("id", id).flag("forgotten", forgotten).close_object();
    return response;
}

}  // namespace

void handle_list_agents(Services& services, const Request& request, const std::string&, Reply reply) {
    auto page = decode_page(request);
    if (!page) return reply(failure(page.error()));
    reply(answer_agents(services.authority.agents(page->after, page->limit)));
}

void handle_get_agent(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto checked = decode_holder_only(request, id); !checked) return reply(failure(checked.error()));
    services.authority.get_agent(id, [reply](const authority::Answer<authority::AgentAnswer>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_agent(std::get<authority::AgentAnswer>(answer)));
    });
}

void handle_put_agent(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_agent(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    services.authority.put_agent(std::move(*decoded), [reply](const authority::Answer<authority::AgentAnswer>& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_agent(std::get<authority::AgentAnswer>(answer)));
    });
}

void handle_forget_agent(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto checked = decode_holder_only(request, id); !checked) return reply(failure(checked.error()));
    services.authority.forget_agent(
        id,
        [reply, id](const authority::Answer<bool>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
            reply(answer_forget(id, std::get<bool>(answer)));
        },
        caller_of(request));
}

void handle_declare_restart(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_restart(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    services.authority.declare_restart(std::move(*decoded),
                                       [reply](const authority::Answer<authority::RestartAnswer>& answer) {
                                           if (const auto* refused = std::get_if<Refused>(&answer))
                                               return reply(failure(*refused));
                                           reply(answer_restart(std::get<authority::RestartAnswer>(answer)));
                                       });
}

}  // namespace holdfast::doors::http
