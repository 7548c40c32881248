#pragma once

#include <deque>
#include <functional>

#include "authority/answers.h"
#include "base/callback.h"
#include "lease/policy.h"
#include "store/durable.h"

namespace holdfast::authority {

/// The policy in force. A change is checked, made durable, and only then takes effect. Changes are processed one at a
/// time. If another node changed the policy first, the edit is retried on the newer policy.
class CurrentPolicy {
 public:
    CurrentPolicy(store::Durable& durable, lease::Policy policy) : durable_(durable), policy_(std::move(policy)) {}

    const lease::Policy& policy() const { return policy_; }

    /// `edit` changes a copy of the policy in force at that time, or returns an error.
    using Edit = std::function<Result<void>(lease::Policy&)>;
    void change(store::AuditEntry audit, Edit edit, Callback<Answer<lease::Policy>> reply);

    /// The observer is called when a new policy has come into force.
    void on_changed(std::function<void()> observer) { on_changed_ = std::move(observer); }

    /// Puts this policy in force, changed through any node.
    void take(lease::Policy policy);

 private:
    /// Limits the retries after a conflict with another node.
    static constexpr int max_tries = 100;

    struct Change {
        store::AuditEntry audit;
        Edit edit;
        Callback<Answer<lease::Policy>> reply;
    };

    void next();
    void saved(const lease::Policy& changed, const Result<void>& outcome, std::uint64_t taken_before);
    void now_is(lease::Policy policy);
    void finish(Answer<lease::Policy> answer);

    store::Durable& durable_;
    lease::Policy policy_;
    std::function<void()> on_changed_;
    std::uint64_t taken_ = 0;
    int tries_ = 0;               // of the change under way
    std::deque<Change> changes_;  // the first is under way
};

}  // namespace holdfast::authority
