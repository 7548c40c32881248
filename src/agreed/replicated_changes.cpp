#include <algorithm>
#include <utility>

#include "agreed/replicated_state_impl.h"

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
    if (state().members().empty()) return not_available("the cluster has not yet come together; try again in a while");
    return std::nullopt;
}

void ReplicatedState::Impl::append(std::string entry, Callback<Result<void>> done) {
    log->append(std::move(entry), [done = std::move(done)](const Result<LogIndex>& at) mutable {
        if (at) return done({});
        done(at.error().code == "storage_failed" ? at.error() : not_available(at.error().message));
    });
}

/// Whoever waits is told now, since nothing is heard of the log any more.
void ReplicatedState::Impl::stop() {
    candidate.reset();
    if (std::exchange(stopped, true)) return;
    const Error stopping = not_available("this node is stopping; what became of this is not known");
    agreed.stop(stopping);
    for (Callback<Result<void>>& waiting : std::exchange(until_complete, {}))
        waiting(stopping);
    parts.disk->stop();
}

void ReplicatedState::Impl::save_policy(const std::optional<core::AuditEntry>& audit, const core::Policy& changed,
                                        Callback<Result<void>> done) {
    // It was made from one with other TTLs than those agreed on.
    if (!policy->complete()) {
        until_complete.push_back([done = std::move(done)](const Result<void>& told) mutable {
            done(told ? Result<void>(Error{"conflict", "the policy has been changed meanwhile"}) : told);
        });
        return;
    }
    const core::PolicyCommand change{agreed.shown_version(), policy->agreed(), changed};
    agreed.submit_policy(audit, change, [this, done = std::move(done)](Result<void> saved) mutable {
        if (!saved || policy->complete()) return done(std::move(saved));
        until_complete.push_back(std::move(done));
    });
}

// ---- what was agreed on reaches this node ----

void ReplicatedState::Impl::deliver() {
    agreed.deliver();
    if (!trouble && state().trouble()) trouble = state().trouble();
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
    if (stopped || !log->leads() || !state().members().empty() || !to_found.empty() || founding_under_way > 0) return;
    auto entries = founding_entries({local.policy, local.agents, members}, state().policy_version(),
                                    [this] { return agreed.next_id(); });
    to_found.assign(std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
    found_more();
}

void ReplicatedState::Impl::found_more() {
    while (!to_found.empty() && founding_under_way < core::ReplicatedLog::entries_in_flight_most) {
        FoundingEntry entry = std::move(to_found.front());
        to_found.pop_front();
        ++founding_under_way;
        agreed.append(entry.id, std::move(entry.value), [this](const Result<std::optional<CommandOutcome>>& outcome) {
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
