#pragma once

#include <algorithm>
#include <memory>

#include "authority/acquisitions.h"
#include "authority/agents.h"
#include "authority/authority.h"
#include "authority/current_policy.h"
#include "authority/store_call.h"

namespace holdfast::core {

/// What the policy refuses; of a ban with the admin's reason, so that it reaches the one that it is about.
inline Refused refused_under(const Policy& policy, Code code, std::string_view holder) {
    const auto ban = code == Code::banned ? policy.bans.find(holder) : policy.bans.end();
    if (ban == policy.bans.end() || ban->second.reason.empty()) return refused(code);
    return {code, std::string(advice_of(code)) + " (the admin's reason: " + ban->second.reason + ")", {}};
}

/// Answers that come one by one and are given together, in order.
template <class T, class Reply>
struct Gathering {
    std::vector<T> answers;
    std::size_t missing = 0;
    std::optional<Refused> failure;  // of the whole, where one part has no answer of its own for it
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

    /// Takes the answer in, if there is room for it.
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
          recovering_until(parts.recovering_until),
          recovering_why(std::move(parts.recovering_why)),
          issued_before(parts.tokens_issued),
          acquisitions({tokens, events, agents, [this](const AcquireRequest& request) { return admit(request); },
                        [this] { return timestamp(); }, parts.first_request, parts.seed, parts.rho}),
          single_record(authority) {}

    const Policy& policy() const { return book.policy(); }
    /// What the nodes agree on by a lease among themselves must not hang on a policy that can be changed only through
    /// that: their own requests pass as if nobody had changed anything (L1).
    const Policy& policy_for(const Caller& caller) const { return caller.node ? unchanged : policy(); }

    /// Keeps the durable ceiling ahead of the tokens (G3). If the disk refuses, tokens run out in the end and requests
    /// are refused with `tokens_exhausted`; the disk is asked again, but not by every request.
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

    /// What every request ends with: waiters whose turn has come try, and tokens are kept ahead.
    void settle_accounts() {
        acquisitions.serve(now);
        keep_tokens_ahead();
    }

    /// Now, as a priority: milliseconds on the wall clock of the start, which no clock step moves.
    Priority timestamp() const { return to_ms(wall_at_zero + now.time_since_epoch()); }

    AuditEntry audited(const Caller& by, std::string what) const { return {by.address, timestamp(), std::move(what)}; }

    std::variant<Acquisitions::Terms, Refused> admit(const AcquireRequest& request);
    void tell_agent(const std::string& id, bool created, Callback<Answer<AgentAnswer>> reply);
    void reserve_all(const std::shared_ptr<const std::string>& id, std::vector<LeaseName> held,
                     Callback<Answer<RestartAnswer>> reply);
    void if_idle(const std::string& id, Code otherwise, Callback<std::optional<Refused>> then);
    using Renewal = decltype(RenewAnswer::result);
    void renew_one(const std::shared_ptr<Renewing>& gathering, std::size_t i,
                   const std::shared_ptr<const RenewRequest>& request);
    void verify_names(std::vector<LeaseName> names, std::size_t max_bytes,
                      Callback<Answer<std::vector<VerifyAnswer>>> reply);
    void verify_one(const std::shared_ptr<Verifying>& verifying, std::size_t i);

    Durable& durable;
    const Policy unchanged;
    CurrentPolicy book;
    TokenSource tokens;
    Agents agents;
    Duration wall_at_zero;
    Events events;
    Instant now;
    Instant ask_for_tokens_at;
    Instant recovering_until;
    std::string recovering_why;
    const Token issued_before;  // by earlier lives: none above it
    Acquisitions acquisitions;
    SingleRecord single_record;
    Store* store = nullptr;
    bool stopping = false;
    bool memory_full = false;
    std::uint64_t refused_for_memory = 0;  // on the short way
    std::function<void(Duration)> on_lateness;
};

}  // namespace holdfast::core
