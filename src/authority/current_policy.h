#pragma once

#include <deque>
#include <functional>

#include "authority/answers.h"
#include "base/callback.h"
#include "lease/policy.h"
#include "store/durable.h"

namespace holdfast::core {

/// The policy in force. A change is checked, made durable, and only then takes effect. Changes are processed one at a
/// time. If another node changed the policy first, the edit is retried on the newer policy.
class CurrentPolicy {
 public:
    CurrentPolicy(Durable& durable, Policy policy) : durable_(durable), policy_(std::move(policy)) {}

    const Policy& policy() const { return policy_; }

    /// `edit` changes a copy of the policy in force at that time, or returns an error.
    using Edit = std::function<Result<void>(Policy&)>;
    void change(AuditEntry audit, Edit edit, Callback<Answer<Policy>> reply);

    /// The observer is called when a new policy has come into force.
    void on_changed(std::function<void()> observer) { on_changed_ = std::move(observer); }

    /// Puts this policy in force, changed through any node.
    void take(Policy policy);

 private:
    /// Limits the retries after a conflict with another node.
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
    int tries_ = 0;               // of the change under way
    std::deque<Change> changes_;  // the first is under way
};

}  // namespace holdfast::core
