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
    void submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) override {
        if (const auto* policy = std::get_if<lease::Policy>(&change))
            if (auto checked = parts_.check(*policy); !checked) return answer(std::move(done), std::move(checked));
        parts_.inner.submit(std::move(change), std::move(audit), std::move(done));
    }
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
