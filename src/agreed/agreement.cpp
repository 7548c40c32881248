#include "agreed/agreement.h"

#include <algorithm>
#include <fmt/format.h>

#include "authority/authority.h"

namespace holdfast::agreed {
namespace {

constexpr int auth_attempts = 16;  ///< of a change that meets others

}  // namespace

// ---- the first entries ----

std::vector<std::string> recorded_members(const std::vector<std::string>& members) {
    return members.size() == 1 ? std::vector<std::string>{"alone"} : members;
}

std::vector<FoundingEntry> founding_entries(const Founding& founding, std::uint64_t policy_version,
                                            const std::function<std::uint64_t()>& next_id) {
    std::vector<FoundingEntry> entries;
    const auto add = [&](const ClusterCommand& command) {
        const std::uint64_t id = next_id();
        entries.push_back({id, encode_command({id, std::nullopt}, command)});
    };
    add(PolicyCommand{policy_version, lease::Policy{}, founding.policy});
    add(MembersCommand{recorded_members(founding.members)});
    return entries;
}

consensus::LogWrite founding_alone(const Founding& founding, std::uint64_t first_id) {
    consensus::LogWrite write;
    write.promised = consensus::LogBallot{1, 0};
    for (FoundingEntry& entry : founding_entries(founding, 0, [&] { return first_id++; }))
        write.decrees.push_back({write.decrees.size() + 1, *write.promised, std::move(entry.value)});
    write.committed = write.decrees.size();
    return write;
}

/// If this fails, the next leader founds the log again; founding twice has no effect.
void Agreement::found_if_needed() {
    if (stopped_ || is_founded() || founding_under_way_ > 0 || !log_->may_found()) return;
    for (FoundingEntry& entry :
         founding_entries(*parts_.founding, state_.policy_version(), [this] { return next_id_++; })) {
        ++founding_under_way_;
        append(entry.id, std::move(entry.value), [this](const Outcome&) { --founding_under_way_; });
    }
}

// ---- the start ----

Agreement::Agreement(Parts parts)
    : parts_(std::move(parts)),
      next_id_(parts_.first_id),
      state_({.command_done = [this](std::uint64_t id, const CommandResult& result) { on_command_done(id, result); },
              .policy_changed = [this](const lease::Policy&) { policy_changed_ = true; },
              .auth_changed = [this](const auth::AuthState&) { auth_changed_ = true; },
              .agent_changed = [this](const store::SavedAgent& agent,
                                      bool forgotten) { agents_changed_.emplace_back(agent, forgotten); },
              .replaced = [this] { replaced_ = true; }}) {}

Result<void> Agreement::begin(Log& log) {
    log_ = &log;
    // The authority starts with all this.
    agents_changed_.clear();
    policy_changed_ = auth_changed_ = replaced_ = false;
    shown_version_ = state_.policy_version();
    if (parts_.disk != nullptr)
        ttl_.emplace(TtlInForce::Parts{.disk = *parts_.disk,
                                       .stored = parts_.ttl_max_on_disk,
                                       .agreed = agreed_policy().longest_ttl(),
                                       .on_stored = [this](const Result<void>& stored) { on_stored(stored); }});
    return check();
}

Result<void> Agreement::check() const {
    if (not_installed_) return *not_installed_;
    if (state_.trouble()) return *state_.trouble();
    if (!parts_.founding || !is_founded()) return {};
    const std::vector<std::string> members = recorded_members(parts_.founding->members);
    if (state_.members() == members) return {};
    if (state_.members().size() != 1 && members.size() != 1) return state_.check_members(members);
    return Error{Code::members_differ,
                 members.size() == 1
                     ? "this state directory is that of a member of a cluster; start it with the same --peers"
                     : "this state directory is that of a single node, which cannot become a member of a cluster with "
                       "what it holds; give the member a directory of its own"};
}

/// Until a cluster's log is founded, the policy that it will be founded with is in force.
const lease::Policy& Agreement::agreed_policy() const {
    return is_founded() ? state_.policy() : parts_.founding->policy;
}

lease::Policy Agreement::policy() const {
    lease::Policy policy = agreed_policy();
    if (ttl_) ttl_->limit(policy);
    return policy;
}

std::vector<store::SavedAgent> Agreement::agents() const {
    std::vector<store::SavedAgent> agents;
    for (const auto& [id, agent] : state_.agents())
        agents.push_back(agent);
    return agents;
}

// ---- from the log to this server ----

Result<void> Agreement::install(const std::string& snapshot) {
    auto installed = state_.install(snapshot);
    not_installed_ = installed ? std::nullopt : std::optional(installed.error());
    return installed;
}

void Agreement::advance(Instant now) {
    if (stopped_) return;
    log_->advance(now);
    if (ttl_) ttl_->advance(now);
    found_if_needed();
    deliver();
}

Instant Agreement::next_due() const {
    if (stopped_) return Instant::max();
    return ttl_ ? std::min(log_->next_due(), ttl_->next_due()) : log_->next_due();
}

/// Passes new state to the authority. Never called from within the log, since the authority may append.
void Agreement::deliver() {
    if (delivering_ || authority_ == nullptr) return;
    delivering_ = true;
    while (replaced_ || policy_changed_ || auth_changed_ || !agents_changed_.empty()) {
        const bool policy = std::exchange(policy_changed_, false) || replaced_;
        const bool auth = std::exchange(auth_changed_, false) || replaced_;
        deliver_agents();
        if (auth && parts_.on_auth) parts_.on_auth(state_.auth());
        if (!policy) continue;
        shown_version_ = state_.policy_version();
        if (ttl_) ttl_->agree(state_.policy().longest_ttl());
        if (parts_.on_policy) parts_.on_policy(state_.policy());
        authority_->take_policy(this->policy());
    }
    delivering_ = false;
}

void Agreement::deliver_agents() {
    const bool all = std::exchange(replaced_, false);
    const auto changed = std::exchange(agents_changed_, {});
    if (all) return authority_->take_agents(state_.agents());
    for (const auto& [agent, forgotten] : changed) {
        if (forgotten)
            authority_->take_forgotten_agent(agent.id);
        else
            authority_->take_agent(agent);
    }
}

void Agreement::on_stored(const Result<void>& stored) {
    if (!stored) report(stored.error());
    if (stored && authority_ != nullptr) authority_->take_policy(policy());
    if (stored && !ttl_->complete()) return;
    for (Callback<Result<void>>& waiting : std::exchange(until_complete_, {}))
        waiting(stored);
}

void Agreement::report(const Error& error) const {
    if (parts_.on_failure) parts_.on_failure(error);
}

// ---- from this server to the log ----

Result<void> Agreement::check_open() const {
    if (stopped_) return unavailable("this server is stopping");
    if (not_installed_) return unavailable(not_installed_->message);
    if (state_.trouble()) return unavailable(state_.trouble()->message);
    if (!is_founded()) return unavailable("the cluster has not yet come together; try again in a while");
    return {};
}

void Agreement::append(std::uint64_t id, std::string entry, Callback<Outcome> done) {
    under_way_.emplace(id, UnderWay{std::move(done)});
    log_->append(std::move(entry), [this, id](const Result<void>& appended) {
        auto mine = under_way_.extract(id);
        if (mine.empty()) return;  // answered when this server stopped
        deliver();                 // first, so that the change is in force when it is answered
        if (!appended) return mine.mapped().done(appended.error());
        mine.mapped().done(mine.mapped().result);
    });
}

/// A log may append an entry twice. The second has no effect, so it does not take back that the first had.
void Agreement::on_command_done(std::uint64_t id, const CommandResult& result) {
    const auto mine = under_way_.find(id);
    if (mine == under_way_.end()) return;
    auto& known = mine->second.result;
    if (!known || !(*known == CommandOutcome::applied)) known = result;
}

void Agreement::send(const Audit& audit, const ClusterCommand& command, Callback<Outcome> done) {
    if (const auto open = check_open(); !open) return done(open.error());
    const std::uint64_t id = next_id_++;
    append(id, encode_command({id, audit}, command), std::move(done));
}

void Agreement::reserve_tokens(lease::Token ceiling, Callback<Result<void>> done) {
    if (!parts_.reserves_tokens) return done({});
    parts_.disk->reserve_tokens(ceiling, std::move(done));
}

void Agreement::submit(store::Change change, Audit audit, Callback<Result<void>> done) {
    std::visit([&](auto& one) { save(one, std::move(audit), std::move(done)); }, change);
}

void Agreement::save(lease::Policy& policy, Audit audit, Callback<Result<void>> done) {
    if (!parts_.before_policy) return send_policy(shown_version_, policy, std::move(audit), std::move(done));
    struct Asked {
        std::uint64_t version;
        lease::Policy policy;
        Audit audit;
    };
    auto asked = std::make_unique<Asked>(Asked{shown_version_, std::move(policy), std::move(audit)});
    const lease::Policy& checked = asked->policy;
    parts_.before_policy(checked, alive_.guard([this, asked = std::move(asked),
                                                done = std::move(done)](const Result<void>& prepared) mutable {
        if (!prepared) return done(prepared);
        send_policy(asked->version, asked->policy, std::move(asked->audit), std::move(done));
    }));
}

void Agreement::send_policy(std::uint64_t version, const lease::Policy& policy, Audit audit,
                            Callback<Result<void>> done) {
    // The change was made from a policy whose TTLs differ from those agreed on.
    if (ttl_ && !ttl_->complete()) {
        until_complete_.push_back([done = std::move(done)](const Result<void>& stored) mutable {
            done(stored ? Result<void>(Error{Code::conflict, "the policy has been changed meanwhile"}) : stored);
        });
        return;
    }
    // If the policy has changed since that version, so will the entry's base, and it has no effect.
    const PolicyCommand change{version, state_.policy(), policy};
    send(audit, change, [this, audit, done = std::move(done)](Outcome outcome) mutable {
        if (!outcome) return done(outcome.error());
        // A snapshot that contains the change contains its audit. A repeated change would be audited twice.
        if (!*outcome && audit && is_audited(*audit)) *outcome = CommandOutcome::applied;
        if (!*outcome || **outcome == CommandOutcome::conflict)
            return done(Error{Code::conflict, "the policy has been changed meanwhile"});
        if (**outcome == CommandOutcome::refused)
            return done(
                Error{Code::invalid_policy, "there is no room for more bans and rules beside the agents; lift some"});
        if (!ttl_ || ttl_->complete()) return done({});
        until_complete_.push_back(std::move(done));
    });
}

/// Searches from the newest on: the entry is one of the last.
bool Agreement::is_audited(const store::AuditEntry& audit) const {
    return std::find(state_.audit().rbegin(), state_.audit().rend(), audit) != state_.audit().rend();
}

void Agreement::save(const store::SavedAgent& agent, const Audit& audit, Callback<Result<void>> done) {
    send(audit, agent, [this, agent, done = std::move(done)](Outcome outcome) mutable {
        if (!outcome) return done(outcome.error());
        const auto known = state_.agents().find(agent.id);
        const bool there = known != state_.agents().end() && known->second.epoch >= agent.epoch;
        if (*outcome == CommandOutcome::applied || (!*outcome && there)) return done({});
        if (*outcome == CommandOutcome::conflict)
            return done(Error{Code::stale_epoch, "a newer life of this agent is known"});
        done(Error{Code::too_many_agents, "as many agents are registered as there is room for"});
    });
}

void Agreement::save(const store::ForgottenAgent& agent, const Audit& audit, Callback<Result<void>> done) {
    send(audit, agent, [this, id = agent.id, done = std::move(done)](Outcome outcome) mutable {
        if (!outcome) return done(outcome.error());
        // The agent may be known here only, and then no entry has notified the authority.
        if (authority_ != nullptr && !state_.agents().contains(id)) authority_->take_forgotten_agent(id);
        done({});
    });
}

void Agreement::save(auth::AuthChange& change, Audit audit, Callback<Result<void>> done) {
    send_auth(std::move(change), std::move(audit), auth_attempts, std::move(done));
}

/// The change means the same whatever else has changed, so after a conflict it is made again from the new state. The
/// entry that met the conflict never takes effect, since versions only rise.
void Agreement::send_auth(auth::AuthChange change, Audit audit, int attempts, Callback<Result<void>> done) {
    const auto shared = std::make_shared<const auth::AuthChange>(std::move(change));
    send(audit, AuthCommand{state_.auth().version(), *shared},
         [this, shared, audit, attempts, done = std::move(done)](Outcome outcome) mutable {
             if (!outcome) return done(outcome.error());
             // A snapshot that contains the change contains its audit.
             if (!*outcome && audit && is_audited(*audit)) *outcome = CommandOutcome::applied;
             if (!*outcome) return done(unavailable("what became of this change is not known; check, then ask again"));
             if (**outcome == CommandOutcome::applied) return done({});
             if ((*outcome)->why) return done(*(*outcome)->why);
             if (attempts > 1) return send_auth(*shared, std::move(audit), attempts - 1, std::move(done));
             done(unavailable("access control is being changed by too many at once; ask again"));
         });
}

void Agreement::save(const store::OnlyAudited& nothing, const Audit& audit, Callback<Result<void>> done) {
    send(audit, nothing, [this, audit, done = std::move(done)](Outcome outcome) mutable {
        if (outcome) return done({});
        if (audit)
            report({outcome.error().code,
                    fmt::format("not in the audit: {} did {} ({})", audit->who, audit->what, outcome.error().message)});
        done(outcome.error());
    });
}

store::AuditPage Agreement::audit(std::uint64_t after, std::size_t limit) const {
    return state_.audit(after, limit);
}

void Agreement::stop() {
    if (std::exchange(stopped_, true)) return;
    const Error stopping = unavailable("this server is stopping; what became of this is not known");
    for (auto& [id, mine] : std::exchange(under_way_, {}))
        mine.done(stopping);
    for (Callback<Result<void>>& waiting : std::exchange(until_complete_, {}))
        waiting(stopping);
    if (log_ != nullptr) log_->stop();
}

}  // namespace holdfast::agreed
