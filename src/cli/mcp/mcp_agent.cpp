#include "cli/mcp/mcp_agent.h"

#include "base/random.h"
#include "base/text.h"
#include "lease/owner.h"

namespace holdfast::cli::mcp {

namespace json = boost::json;

McpAgent::McpAgent(Config config) : config_(std::move(config)), session_("mcp-" + random_hex(8)) {}

Result<Answer> McpAgent::enroll(Api& api) {
    const std::lock_guard one_at_a_time(enrolling_);
    if (config_.priority.empty() || epoch()) return Answer{200, json::object{}};
    const std::string target = agent_target(config_.holder);
    auto before = api.get(target);
    if (!before) return before;
    json::object body;
    if (config_.priority != "now") body["priority"] = parse_number(config_.priority).value_or(0);
    if (before->ok()) body["epoch"] = number_of(field_of(before->body, "agent"), "epoch") + 1;
    auto answer = api.send("PUT", target, body);
    if (!answer || !answer->ok()) return answer;
    const std::lock_guard lock(mutex_);
    epoch_ = static_cast<std::uint64_t>(number_of(field_of(answer->body, "agent"), "epoch"));
    return answer;
}

std::optional<std::uint64_t> McpAgent::epoch() const {
    const std::lock_guard lock(mutex_);
    return epoch_;
}

json::object McpAgent::signature() const {
    json::object body{{"holder", config_.holder}};
    if (const auto current = epoch()) body["epoch"] = *current;
    return body;
}

std::string McpAgent::query(const std::string& lease) const {
    const auto current = epoch();
    const bool leads = lease::owner_of(lease) == lease::Owner::leaders;  // the session is the proof of leadership (R2)
    return "holder=" + percent_encode(config_.holder) + (current ? "&epoch=" + std::to_string(*current) : "") +
           (leads ? "&session=" + percent_encode(session_) : "");
}

}  // namespace holdfast::cli::mcp
