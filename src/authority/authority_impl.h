#pragma once

#include <algorithm>
#include <memory>

#include "authority/acquisitions.h"
#include "authority/admission.h"
#include "authority/agents.h"
#include "authority/authority.h"
#include "authority/current_policy.h"
#include "authority/lease_counts.h"
#include "authority/long_work.h"
#include "authority/series.h"
#include "authority/store_call.h"

namespace holdfast::authority {

struct Renewing;
struct Verifying;

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
          counts({book, now, parts.teller == Events::Teller::authority}),
          issued_before(parts.tokens_issued),
          acquisitions({single_record, events, agents, admission, counts, long_work, [this] { return timestamp(); },
                        parts.first_request, parts.seed, parts.rho}),
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
    void renew(const std::shared_ptr<Renewing>& renewing);
    void renew_at(const Series<RenewAnswer>::Place& place, const std::shared_ptr<Renewing>& renewing);
    void verify(const std::shared_ptr<Verifying>& verifying);
    void verify_at(const Series<VerifyAnswer>::Place& place, const std::shared_ptr<Verifying>& verifying);
    Pace pace_of(const std::string& holder, Pace asked);

    store::Durable& durable;
    CurrentPolicy book;
    TokenSource tokens;
    Agents agents;
    Admission admission{book, agents};
    Duration wall_at_zero;
    Events events;
    Instant now;
    Instant ask_for_tokens_at;
    LeaseCounts counts;
    LongWork long_work;
    const lease::Token issued_before;  // no earlier incarnation issued a token above this
    Acquisitions acquisitions;
    SingleRecord single_record;
    store::Store* store = nullptr;
    std::function<void(Duration)> on_lateness;
};

}  // namespace holdfast::authority
