#include "authority/current_policy.h"

#include "authority/store_call.h"

namespace holdfast::authority {

void CurrentPolicy::change(store::AuditEntry audit, Edit edit, Callback<Answer<lease::Policy>> reply) {
    changes_.push_back({std::move(audit), std::move(edit), std::move(reply)});
    if (changes_.size() == 1) next();
}

void CurrentPolicy::next() {
    lease::Policy changed = policy_;
    auto edited = changes_.front().edit(changed);
    if (edited) edited = changed.check();
    if (!edited) {
        finish(Refused{Code::invalid_policy, edited.error().message, {}});
        return;
    }
    durable_.submit(changed, changes_.front().audit,
                    [this, changed, taken = taken_](const Result<void>& outcome) { saved(changed, outcome, taken); });
}

void CurrentPolicy::saved(const lease::Policy& changed, const Result<void>& outcome, std::uint64_t taken_before) {
    if (outcome) {
        // If take() ran meanwhile, policy_ already includes this change and perhaps newer ones.
        if (taken_ == taken_before) now_is(changed);
        return finish(policy_);
    }
    if (outcome.error().code != Code::conflict) return finish(storage_failure(outcome.error()));
    if (++tries_ < max_tries) return next();
    finish(Refused{Code::unavailable, "the policy keeps being changed through other nodes; try again", Duration{1s}});
}

void CurrentPolicy::take(lease::Policy policy) {
    ++taken_;
    now_is(std::move(policy));
}

void CurrentPolicy::now_is(lease::Policy policy) {
    policy_ = std::move(policy);
    if (on_changed_) on_changed_();
}

void CurrentPolicy::finish(Answer<lease::Policy> answer) {
    Callback<Answer<lease::Policy>> reply = std::move(changes_.front().reply);
    changes_.pop_front();
    tries_ = 0;
    reply(std::move(answer));
    if (!changes_.empty()) next();
}

}  // namespace holdfast::authority
