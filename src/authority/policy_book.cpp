#include "authority/policy_book.h"

namespace holdfast::core {

void PolicyBook::change(Edit edit, Callback<Answer<Policy>> reply) {
    changes_.push_back({std::move(edit), std::move(reply)});
    if (changes_.size() == 1) next();
}

void PolicyBook::next() {
    Policy changed = policy_;
    auto edited = changes_.front().edit(changed);
    if (edited) edited = changed.check();
    if (!edited) {
        finish(Refused{Code::invalid_policy, edited.error().message, {}});
        return;
    }
    durable_.save_policy(changed, [this, changed](Result<void> saved) {
        if (!saved) {
            finish(Refused{Code::storage_failed, saved.error().message, {}});
            return;
        }
        policy_ = changed;
        finish(changed);
    });
}

void PolicyBook::finish(Answer<Policy> answer) {
    Callback<Answer<Policy>> reply = std::move(changes_.front().reply);
    changes_.pop_front();
    reply(std::move(answer));
    if (!changes_.empty()) next();
}

}  // namespace holdfast::core
