#pragma once

#include <deque>
#include <functional>

#include "authority/answers.h"
#include "base/callback.h"
#include "lease/policy.h"
#include "store/durable.h"

namespace holdfast::core {

/// The policy in force. A change is checked, made durable, and only then takes effect; changes come one after the
/// other.
class PolicyBook {
 public:
    PolicyBook(Durable& durable, Policy policy) : durable_(durable), policy_(std::move(policy)) {}

    const Policy& policy() const { return policy_; }

    /// `edit` changes a copy of the policy that is in force by then, or says why it cannot.
    using Edit = std::function<Result<void>(Policy&)>;
    void change(Edit edit, Callback<Answer<Policy>> reply);

 private:
    struct Change {
        Edit edit;
        Callback<Answer<Policy>> reply;
    };

    void next();
    void finish(Answer<Policy> answer);

    Durable& durable_;
    Policy policy_;
    std::deque<Change> changes_;  // the first is under way
};

}  // namespace holdfast::core
