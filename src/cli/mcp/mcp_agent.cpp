#include "cli/mcp/mcp_agent.h"

#include "base/random.h"
#include "base/text.h"
#include "client/messages.h"

namespace holdfast::cli::mcp {

McpAgent::McpAgent(Config config) : config_(std::move(config)), session_("mcp-" + random_hex(8)) {}

Result<Answer> McpAgent::enroll(Api& api) {
    const std::lock_guard one_at_a_time(enrolling_);
    if (config_.priority.empty() || epoch()) return Answer{200, {}};
    auto before = api.get(client::agent_target(config_.holder));
    if (!before) return before;
    client::AgentAsk ask{.id = config_.holder};
    if (config_.priority != "now") ask.priority = static_cast<std::int64_t>(parse_number(config_.priority).value_or(0));
    if (before->ok()) ask.epoch = before->body["agent"]["epoch"].number + 1;
    auto answer = api.send(client::register_request(ask));
    if (!answer || !answer->ok()) return answer;
    const std::lock_guard lock(mutex_);
    epoch_ = answer->body["agent"]["epoch"].number;
    return answer;
}

std::optional<std::uint64_t> McpAgent::epoch() const {
    const std::lock_guard lock(mutex_);
    return epoch_;
}

client::NamedLeases McpAgent::named(const std::vector<std::string>& ids) const {
    client::NamedLeases leases{.holder = config_.holder, .epoch = epoch(), .session = session_};
    for (const std::string& id : ids)
        leases.leases.push_back({id});
    return leases;
}

}  // namespace holdfast::cli::mcp
