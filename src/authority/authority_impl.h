#pragma once

#include <algorithm>
#include <memory>

#include "authority/acquisitions.h"
#include "authority/admission.h"
#include "authority/agents.h"
#include "authority/authority.h"
#include "authority/current_policy.h"
#include "authority/store_call.h"

namespace holdfast::authority {

/// Collects answers that arrive one by one and replies with all of them, in order.
template <class T, class Reply>
struct Gathering {
    std::vector<T> answers;
    std::size_t missing = 0;
    std::optional<Refused> failure;  // fails the whole request, if the answer type has no failure per part
    Callback<Reply> reply;

    void arrived() {
        if (--missing > 0) return;
        if constexpr (std::is_constructible_v<Reply, Refused>)
            if (failure) return reply(std::move(*failure));
        reply(std::move(answers));
    }
};
using Renewing = Gathering<RenewAnswer, std::vector<RenewAnswer>>;
struct Verifying : Gathering<VerifyAnswer, Answer<std::vector<VerifyAnswer>>> {
    std::size_t bytes_left = 0;

    /// Stores the answer if it fits within bytes_left; otherwise fails the whole request.
    void take(std::size_t i, VerifyAnswer answer);
};

/// The parts of the authority. Its requests are in authority.cpp, agent_requests.cpp and admin_requests.cpp.
struct Authority::Impl {
    Impl(Authority& authority, Parts parts)
        : durable(parts.durable),
          book(parts.durable, std::move(parts.policy)),
          tokens(parts.store_gives_tokens ? 0 : TokenSource::first_after(parts.tokens_issued, parts.wall_ms)),
          agents({parts.durable, std::move(parts.agents), parts.started_at, Random{parts.seed},
                  [this](const std::string& id) { acquisitions.nudge(id); }}),
          wall_at_zero(std::chrono::milliseconds{parts.wall_ms} - parts.started_at.time_since_epoch()),
          events(parts.teller),
          issued_before(parts.tokens_issued),
          acquisitions({single_record, events, agents, admission, [this] { return timestamp(); }, parts.first_request,
                        parts.seed, parts.rho}),
          single_record(authority) {
        admission.recovering_until = parts.recovering_until;
        admission.recovering_why = std::move(parts.recovering_why);
    }

    const lease::Policy& policy() const { return book.policy(); }

    /// Keeps the durable ceiling ahead of the tokens (G3). If the disk fails, tokens eventually run out and requests
    /// are refused with `tokens_exhausted`. The reservation is retried after a pause, not on every request.
    static constexpr Duration pause_after_failure = 1s;
    void keep_tokens_ahead() {
        if (now < ask_for_tokens_at) return;
        const auto ceiling = tokens.wants_ceiling();
        if (!ceiling) return;
        durable.reserve_tokens(*ceiling, [this, ceiling](const Result<void>& reserved) {
            if (reserved) return tokens.raise(*ceiling);
            tokens.raise_failed();
            ask_for_tokens_at = now + pause_after_failure;
        });
    }

    /// Runs at the end of every request: serves due waiters and keeps the token ceiling ahead.
    void settle_accounts() {
        acquisitions.serve(now);
        keep_tokens_ahead();
    }

    /// The current time as a priority: milliseconds of the wall clock at start plus the time since, so that clock steps
    /// do not affect it.
    lease::Priority timestamp() const { return to_ms(wall_at_zero + now.time_since_epoch()); }

    store::AuditEntry audited(const Caller& by, std::string what) const {
        return {by.address, timestamp(), std::move(what)};
    }
    /// Records an action that changed no durable state, such as the end of a lease.
    void audit(const Caller& by, std::string what) {
        durable.submit(store::OnlyAudited{}, audited(by, std::move(what)), [](const Result<void>&) {});
    }

    void tell_agent(const std::string& id, bool created, Callback<Answer<AgentAnswer>> reply);
    void reserve_all(const std::shared_ptr<const std::string>& id, std::vector<lease::LeaseName> held,
                     Callback<Answer<RestartAnswer>> reply);
    void if_idle(const std::string& id, Code otherwise, Callback<std::optional<Refused>> then);
    void renew_one(const std::shared_ptr<Renewing>& gathering, std::size_t i,
                   const std::shared_ptr<const RenewRequest>& request);
    void verify_names(std::vector<lease::LeaseName> names, std::size_t max_bytes,
                      Callback<Answer<std::vector<VerifyAnswer>>> reply);
    void verify_one(const std::shared_ptr<Verifying>& verifying, std::size_t i);

    store::Durable& durable;
    CurrentPolicy book;
    TokenSource tokens;
    Agents agents;
    Admission admission{book, agents};
    Duration wall_at_zero;
    Events events;
    Instant now;
    Instant ask_for_tokens_at;
    const lease::Token issued_before;  // no earlier incarnation issued a token above this
    Acquisitions acquisitions;
    SingleRecord single_record;
    store::Store* store = nullptr;
    std::function<void(Duration)> on_lateness;
};

}  // namespace holdfast::authority
