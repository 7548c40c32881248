#include "agreed/agreed_state.h"

#include <algorithm>
#include <fmt/format.h>

#include "authority/authority.h"

namespace holdfast::agreed {

AgreedState::AgreedState(Parts parts)
    : parts_(std::move(parts)),
      next_id_(parts_.first_id),
      state_({.command_done =
                  [this](std::uint64_t id, CommandOutcome outcome) {
                      if (const auto mine = under_way_.find(id); mine != under_way_.end())
                          mine->second.outcome = outcome;
                  },
              .policy_changed = [this](const lease::Policy&) { policy_changed_ = true; },
              .agent_changed = [this](const store::SavedAgent& agent,
                                      bool forgotten) { agents_changed_.emplace_back(agent, forgotten); },
              .replaced = [this] { replaced_ = true; }}) {}

void AgreedState::delivered() {
    agents_changed_.clear();
    policy_changed_ = replaced_ = false;
    shown_version_ = state_.policy_version();
}

void AgreedState::deliver() {
    if (delivering_ || authority_ == nullptr) return;
    delivering_ = true;
    while (replaced_ || policy_changed_ || !agents_changed_.empty()) {
        const bool all = std::exchange(replaced_, false);
        if (all) authority_->take_agents(state_.agents());
        const auto changed = std::exchange(agents_changed_, {});
        for (const auto& [agent, forgotten] : changed) {
            if (all) continue;
            if (forgotten)
                authority_->take_forgotten_agent(agent.id);
            else
                authority_->take_agent(agent);
        }
        if (!std::exchange(policy_changed_, false) && !all) continue;
        shown_version_ = state_.policy_version();
        parts_.on_policy();
    }
    delivering_ = false;
}

void AgreedState::append(std::uint64_t id, std::string entry, Done done) {
    under_way_.emplace(id, UnderWay{std::move(done)});
    parts_.append(std::move(entry), [this, id](const Result<void>& appended) {
        auto mine = under_way_.extract(id);
        if (mine.empty()) return;  // answered when this server stopped
        deliver();                 // first, so that the change is in force when it is answered
        if (!appended) return mine.mapped().done(appended.error());
        mine.mapped().done(mine.mapped().outcome);
    });
}

void AgreedState::submit_command(const std::optional<store::AuditEntry>& audit, const ClusterCommand& command,
                                 Done done) {
    if (auto refused = parts_.refusal()) return done(std::move(*refused));
    const std::uint64_t id = next_id();
    append(id, encode_command({id, audit}, command), std::move(done));
}

void AgreedState::submit_policy(const std::optional<store::AuditEntry>& audit, const PolicyCommand& change,
                                Callback<Result<void>> done) {
    submit_command(
        audit, change, [this, audit, done = std::move(done)](Result<std::optional<CommandOutcome>> outcome) mutable {
            if (!outcome) return done(outcome.error());
            // A snapshot that contains the change contains its audit. A repeated change would be audited twice.
            if (!*outcome && audit && is_audited(*audit)) *outcome = CommandOutcome::applied;
            if (!*outcome || **outcome == CommandOutcome::conflict)
                return done(Error{"conflict", "the policy has been changed meanwhile"});
            if (**outcome == CommandOutcome::refused)
                return done(
                    Error{"invalid_policy", "there is no room for more bans and rules beside the agents; lift some"});
            done({});
        });
}

/// Searches from the newest on: the entry is one of the last.
bool AgreedState::is_audited(const store::AuditEntry& audit) const {
    return std::find(state_.audit().rbegin(), state_.audit().rend(), audit) != state_.audit().rend();
}

void AgreedState::submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) {
    if (const auto* agent = std::get_if<store::SavedAgent>(&change)) return save(*agent, audit, std::move(done));
    if (const auto* gone = std::get_if<store::ForgottenAgent>(&change)) return save(*gone, audit, std::move(done));
    save(std::get<store::OnlyAudited>(change), audit, std::move(done));
}

void AgreedState::save(const store::SavedAgent& agent, const std::optional<store::AuditEntry>& audit,
                       Callback<Result<void>> done) {
    submit_command(audit, AgentCommand{agent},
                   [this, agent, done = std::move(done)](Result<std::optional<CommandOutcome>> outcome) mutable {
                       if (!outcome) return done(outcome.error());
                       const auto known = state_.agents().find(agent.id);
                       const bool there = known != state_.agents().end() && known->second.epoch >= agent.epoch;
                       if (*outcome == CommandOutcome::applied || (!*outcome && there)) return done({});
                       if (*outcome == CommandOutcome::conflict)
                           return done(Error{"stale_epoch", "a newer life of this agent is known"});
                       done(Error{"too_many_agents", "as many agents are registered as there is room for"});
                   });
}

void AgreedState::save(const store::ForgottenAgent& agent, const std::optional<store::AuditEntry>& audit,
                       Callback<Result<void>> done) {
    submit_command(
        audit, ForgetAgentCommand{agent.id},
        [this, id = agent.id, done = std::move(done)](Result<std::optional<CommandOutcome>> outcome) mutable {
            if (!outcome) return done(outcome.error());
            // The agent may be known here only, and then no entry has notified the authority.
            if (authority_ != nullptr && !state_.agents().contains(id)) authority_->take_forgotten_agent(id);
            done({});
        });
}

void AgreedState::save(const store::OnlyAudited&, const std::optional<store::AuditEntry>& audit,
                       Callback<Result<void>> done) {
    submit_command(
        audit, AuditCommand{},
        [this, audit, done = std::move(done)](const Result<std::optional<CommandOutcome>>& outcome) mutable {
            if (outcome) return done({});
            parts_.on_failure({outcome.error().code, fmt::format("not in the audit: {} did {} ({})", audit->who,
                                                                 audit->what, outcome.error().message)});
            done(outcome.error());
        });
}

void AgreedState::stop(const Error& why) {
    for (auto& [id, mine] : std::exchange(under_way_, {}))
        mine.done(why);
}

}  // namespace holdfast::agreed
