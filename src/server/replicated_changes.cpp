#include <algorithm>
#include <utility>

#include "server/replicated_state_impl.h"

namespace holdfast {
namespace {

Error not_available(std::string why) {
    return {"unavailable", std::move(why)};
}

}  // namespace

// ---- commands ----

std::optional<Error> ReplicatedState::Impl::refusal() const {
    if (stopped) return not_available("this node is stopping");
    if (trouble) return not_available(trouble->message);
    if (state.members().empty()) return not_available("the cluster has not yet come together; try again in a while");
    return std::nullopt;
}

void ReplicatedState::Impl::append(std::uint64_t id, std::string value, Done done) {
    under_way.emplace(id, UnderWay{std::move(done)});
    log->append(std::move(value), [this, id](const Result<LogIndex>& at) {
        auto mine = under_way.extract(id);
        if (mine.empty()) return;  // answered when this node stopped
        deliver();                 // first, so that the answer finds in force what it tells of
        if (!at) return mine.mapped().done(not_available(at.error().message));
        mine.mapped().done(mine.mapped().outcome);
    });
}

/// Whoever waits is told now, since nothing is heard of the log any more.
void ReplicatedState::Impl::stop() {
    candidate.reset();
    if (std::exchange(stopped, true)) return;
    const Error stopping = not_available("this node is stopping; what became of this is not known");
    for (auto& [id, mine] : std::exchange(under_way, {}))
        mine.done(stopping);
    for (Callback<Result<void>>& waiting : std::exchange(until_complete, {}))
        waiting(stopping);
    parts.disk->stop();
}

void ReplicatedState::Impl::submit(const std::optional<core::AuditEntry>& audit, const core::ClusterCommand& command,
                                   Done done) {
    if (auto refused = refusal()) return done(std::move(*refused));
    const std::uint64_t id = next_id();
    append(id, core::encode_command({id, audit}, command), std::move(done));
}

void ReplicatedState::Impl::save_policy(const std::optional<core::AuditEntry>& audit, const core::Policy& changed,
                                        Callback<Result<void>> done) {
    const Error conflict{"conflict", "the policy has been changed meanwhile"};
    // It was made from one with other TTLs than those agreed on.
    if (!policy->complete()) {
        until_complete.push_back([conflict, done = std::move(done)](const Result<void>& told) mutable {
            done(told ? Result<void>(conflict) : told);
        });
        return;
    }
    submit(audit, core::PolicyCommand{shown_version, policy->agreed(), changed},
           [this, conflict, audit, done = std::move(done)](Result<std::optional<CommandOutcome>> outcome) mutable {
               if (!outcome) return done(outcome.error());
               // A snapshot that has it, has its audit; made anew it would be audited twice.
               if (!*outcome && audit && is_audited(*audit)) *outcome = CommandOutcome::applied;
               if (!*outcome || **outcome == CommandOutcome::conflict) return done(conflict);
               if (**outcome == CommandOutcome::refused)
                   return done(Error{"invalid_policy", "there is no room for more bans beside the agents; lift some"});
               if (policy->complete()) return done({});
               until_complete.push_back(std::move(done));
           });
}

/// From the newest on: what is looked for is one of the last.
bool ReplicatedState::Impl::is_audited(const core::AuditEntry& audit) const {
    return std::find(state.audit().rbegin(), state.audit().rend(), audit) != state.audit().rend();
}

void ReplicatedState::Impl::forget_agent(const std::optional<core::AuditEntry>& audit, std::string id,
                                         Callback<Result<void>> done) {
    core::ForgetAgentCommand command{id};
    submit(audit, command,
           [this, id = std::move(id), done = std::move(done)](Result<std::optional<CommandOutcome>> outcome) mutable {
               if (!outcome) return done(outcome.error());
               // It may be known here only, and then nobody told the authority.
               if (authority != nullptr && !state.agents().contains(id)) authority->take_forgotten_agent(id);
               done({});
           });
}

// ---- what was agreed on reaches this node ----

/// Never from within the log, since the authority may want to append to it.
void ReplicatedState::Impl::deliver() {
    if (delivering || authority == nullptr) return;
    delivering = true;
    while (replaced || policy_changed || !agents_changed.empty()) {
        const bool all = std::exchange(replaced, false);
        if (all) authority->take_agents(state.agents());
        const auto changed = std::exchange(agents_changed, {});
        for (const auto& [agent, forgotten] : changed) {
            if (all) continue;
            if (forgotten)
                authority->take_forgotten_agent(agent.id);
            else
                authority->take_agent(agent);
        }
        if (std::exchange(policy_changed, false) || all) deliver_policy();
    }
    delivering = false;
    if (!trouble && state.trouble()) trouble = state.trouble();
}

void ReplicatedState::Impl::deliver_policy() {
    shown_version = state.policy_version();
    policy->agree(state.policy());
    authority->take_policy(policy->in_force());
}

void ReplicatedState::Impl::on_local_told(const Result<void>& told) {
    if (!told) report(told.error());
    if (told && authority != nullptr) authority->take_policy(policy->in_force());
    if (told && !policy->complete()) return;
    for (Callback<Result<void>>& waiting : std::exchange(until_complete, {}))
        waiting(told);
}

// ---- the first entries of a cluster's log ----

void ReplicatedState::Impl::found_if_needed() {
    if (stopped || !log->leads() || !state.members().empty() || !to_found.empty() || founding_under_way > 0) return;
    auto entries =
        founding_entries({local.policy, local.agents, members}, state.policy_version(), [this] { return next_id(); });
    to_found.assign(std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
    found_more();
}

void ReplicatedState::Impl::found_more() {
    while (!to_found.empty() && founding_under_way < core::ReplicatedLog::entries_in_flight_most) {
        FoundingEntry entry = std::move(to_found.front());
        to_found.pop_front();
        ++founding_under_way;
        append(entry.id, std::move(entry.value), [this](const Result<std::optional<CommandOutcome>>& outcome) {
            --founding_under_way;
            if (!outcome) return to_found.clear();  // whoever leads next begins anew
            if (*outcome && **outcome != CommandOutcome::applied)
                report({"state_too_large",
                        "not all of this node's former policy and agents could be taken "
                        "over into the cluster's log"});
            found_more();
        });
    }
}

}  // namespace holdfast
