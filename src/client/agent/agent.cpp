#include <holdfast/agent.h>

#include <utility>

#include "client/agent/agent_core.h"
#include "client/agent/work_core.h"

namespace holdfast {

const char* to_string(IntentState state) {
    switch (state) {
        case IntentState::planning:
            return "PLANNING";
        case IntentState::acquiring:
            return "ACQUIRING";
        case IntentState::executing:
            return "EXECUTING";
        case IntentState::paused:
            return "PAUSED";
        case IntentState::verifying:
            return "VERIFYING";
        case IntentState::completed:
            return "COMPLETED";
        case IntentState::aborted:
            return "ABORTED";
    }
    return "UNKNOWN";
}

namespace {

Failure moved_from_agent() {
    return {.outcome = Outcome::refused,
            .code = "invalid_argument",
            .message = "this agent or its client was moved from: use the one it was moved to"};
}

}  // namespace

Agent::Agent(Client client, AgentOptions options)
    : core_(client.core_ ? std::make_shared<Core>(std::move(client.core_), std::move(options)) : nullptr) {}
Agent::~Agent() = default;
Agent::Agent(Agent&&) noexcept = default;
Agent& Agent::operator=(Agent&&) noexcept = default;

std::optional<Failure> Agent::start() {
    if (!core_) return moved_from_agent();
    return core_->start();
}

const std::string& Agent::id() const& {
    static const std::string none;
    return core_ ? core_->client->holder : none;
}

std::string Agent::id() const&& {
    return id();
}

std::uint64_t Agent::epoch() const {
    return core_ ? core_->epoch() : 0;
}

std::int64_t Agent::priority() const {
    return core_ ? core_->digest().priority.value_or(0) : 0;
}

std::vector<Intent> Agent::pending() const {
    return core_ ? core_->digest().pending : std::vector<Intent>{};
}

std::vector<LeftBehind> Agent::left_behind() const {
    return core_ ? core_->left_behind() : std::vector<LeftBehind>{};
}

std::optional<Failure> Agent::save(std::string checkpoint) {
    if (!core_) return moved_from_agent();
    return core_->save_checkpoint(std::move(checkpoint));
}

std::string Agent::checkpoint() const {
    return core_ ? core_->digest().checkpoint : std::string{};
}

Performed Agent::perform(std::vector<Intent> intents, const std::function<bool(Work&)>& function,
                         const WorkOptions& options) {
    const std::shared_ptr<Core> core = core_;
    if (!core) return {IntentState::aborted, moved_from_agent()};
    if (!core->enter())
        return {IntentState::aborted,
                Failure{.outcome = Outcome::refused,
                        .code = "agent_busy",
                        .message = "an agent works on one manifest at a time: ask for all it needs at once"}};
    struct Leaving {
        Core& core;
        ~Leaving() { core.leave(); }
    } const leaving{*core};
    return Work::Core(*core, std::move(intents), options).run(function);
}

std::optional<Failure> Agent::declare_restart() {
    if (!core_) return moved_from_agent();
    return core_->declare_restart();
}

void Agent::stop() {
    if (!core_) return;
    core_->stop({.outcome = Outcome::refused, .code = "stopped", .message = "this agent was stopped"});
}

bool Work::go_on() {
    return core_.go_on();
}

bool Work::held() const noexcept {
    return core_.held();
}

std::uint64_t Work::token() const {
    return core_.grants().front().token;
}

std::vector<Grant> Work::grants() const {
    return core_.grants();
}

void Work::progress(std::uint64_t count) {
    core_.progress(count);
}

}  // namespace holdfast
