#pragma once

#include <deque>
#include <functional>

#include "authority/answers.h"
#include "base/callback.h"
#include "lease/policy.h"
#include "store/durable.h"

namespace holdfast::core {

/// The policy in force. A change is checked, made durable, and only then takes effect; changes come one after the
/// other. Where other nodes change it too, a change that one of theirs came before is made anew from what that came to.
class CurrentPolicy {
 public:
    CurrentPolicy(Durable& durable, Policy policy) : durable_(durable), policy_(std::move(policy)) {}

    const Policy& policy() const { return policy_; }

    /// `edit` changes a copy of the policy that is in force by then, or says why it cannot.
    using Edit = std::function<Result<void>(Policy&)>;
    void change(AuditEntry audit, Edit edit, Callback<Answer<Policy>> reply);

    /// Called when another policy has come into force.
    void on_changed(std::function<void()> observer) { on_changed_ = std::move(observer); }

    /// This one is in force from now on, whoever changed it.
    void take(Policy policy);

 private:
    /// Each time another node was faster.
    static constexpr int max_tries = 100;

    struct Change {
        AuditEntry audit;
        Edit edit;
        Callback<Answer<Policy>> reply;
    };

    void next();
    void saved(const Policy& changed, const Result<void>& outcome, std::uint64_t taken_before);
    void now_is(Policy policy);
    void finish(Answer<Policy> answer);

    Durable& durable_;
    Policy policy_;
    std::function<void()> on_changed_;
    std::uint64_t taken_ = 0;
    int tries_ = 0;               // of the first
    std::deque<Change> changes_;  // the first is under way
};

}  // namespace holdfast::core
