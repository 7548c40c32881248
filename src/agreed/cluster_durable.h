#pragma once

#include <functional>

#include "store/durable.h"

namespace holdfast::agreed {

/// The durable state of a cluster node's authority. In a cluster the store decides on tokens and has a durable ceiling
/// for them (Q11, token_ceiling.h), so tokens suggested by the authority need no reservation. A policy beyond the
/// settings that the members have agreed on is refused. Everything else is passed on.
class ClusterDurable final : public store::Durable {
 public:
    struct Parts {
        std::function<Result<void>(const lease::Policy&)> check;  ///< as ClusterSettings::check()
        store::Durable& inner;
        std::function<void(Callback<>)> post;  ///< runs a function later
    };
    explicit ClusterDurable(Parts parts) : parts_(std::move(parts)) {}

    void reserve_tokens(lease::Token, Callback<Result<void>> done) override { answer(std::move(done), {}); }
    void save_policy(const lease::Policy& policy, Callback<Result<void>> done) override {
        if (auto checked = parts_.check(policy); !checked) return answer(std::move(done), std::move(checked));
        parts_.inner.save_policy(policy, std::move(done));
    }
    void save_policy_by(const store::AuditEntry& by, const lease::Policy& policy,
                        Callback<Result<void>> done) override {
        if (auto checked = parts_.check(policy); !checked) return answer(std::move(done), std::move(checked));
        parts_.inner.save_policy_by(by, policy, std::move(done));
    }
    void save_agent(const store::SavedAgent& agent, Callback<Result<void>> done) override {
        parts_.inner.save_agent(agent, std::move(done));
    }
    void forget_agent(std::string_view id, Callback<Result<void>> done) override {
        parts_.inner.forget_agent(id, std::move(done));
    }
    void forget_agent_by(const store::AuditEntry& by, std::string_view id, Callback<Result<void>> done) override {
        parts_.inner.forget_agent_by(by, id, std::move(done));
    }
    void note(const store::AuditEntry& entry) override { parts_.inner.note(entry); }
    store::AuditPage audit(std::uint64_t after, std::size_t limit) const override {
        return parts_.inner.audit(after, limit);
    }

 private:
    void answer(Callback<Result<void>> done, Result<void> outcome) {
        parts_.post([done = std::move(done), outcome = std::move(outcome)]() mutable { done(std::move(outcome)); });
    }

    Parts parts_;
};

}  // namespace holdfast::agreed
