#include "doors/http/answers.h"
#include "doors/http/page_answer.h"
#include "lease/limits.h"
#include "lease/manifest.h"

namespace holdfast::http {
namespace {

/// What is known of an agent; the object stays open for more.
JsonWriter& open_agent(JsonWriter& json, const core::Agent& agent) {
    json.open_object().field("id", agent.id).field("priority", agent.priority).field("epoch", agent.epoch);
    return json.flag("restarting", agent.restarting).field("deaths", std::uint64_t{agent.deaths});
}

void put_waiting(JsonWriter& json, const core::WaitingRequest& waiting) {
    json.open_object().key("intents").open_array();
    for (const core::Intent& intent : waiting.intents) {
        json.open_object().field("resource", core::split_name(intent.resource).resource);
        json.field("predicate", core::to_string(intent.predicate)).close_object();
    }
    json.close_array().field("queue_position", std::uint64_t{waiting.place});
    json.field("wait_left_ms", to_ms(waiting.wait_left));
    put_conflicts(json, waiting.conflicts);
    json.field("retry_in_ms", to_ms_up(waiting.retry_in)).close_object();
}

}  // namespace

Response answer_agent(const core::AgentAnswer& answer) {
    Response response{.status = answer.created ? 201 : 200};
    JsonWriter json(response.body);
    json.open_object().key("agent");
    open_agent(json, answer.agent).field("leases", std::uint64_t{answer.leases}).key("waiting").open_array();
    for (const core::WaitingRequest& waiting : answer.waiting)
        put_waiting(json, waiting);
    json.close_array().close_object().close_object();
    return response;
}

Response answer_agents(const core::AgentPage& page) {
    const bool more = page.more && !page.agents.empty();
    return answer_page("agents", page.agents, more ? page.agents.back().id : std::string(),
                       [](JsonWriter& json, const core::Agent& agent) { open_agent(json, agent).close_object(); });
}

Response answer_restart(const core::RestartAnswer& answer) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("agent");
    open_agent(json, answer.agent).close_object();
    json.field("reserved", std::uint64_t{answer.reserved}).field("grace_ms", to_ms(core::limits::grace)).close_object();
    return response;
}

Response answer_forget(const std::string& id, bool forgotten) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("id", id).flag("forgotten", forgotten).close_object();
    return response;
}

}  // namespace holdfast::http
