#include "client/local_transport.h"

#include <fmt/format.h>
#include <utility>

#include "base/clock.h"
#include "base/code.h"
#include "base/text.h"
#include "client/messages.h"
#include "lease/limits.h"
#include "lease/manifest.h"

namespace holdfast::client {

namespace {

Error to_error(const authority::Refused& refused) {
    const auto advice = advice_of(refused.code);
    return {refused.code, refused.detail.empty() ? std::string(advice) : refused.detail};
}

Result<std::vector<lease::Intent>> manifest_of(const AcquireAsk& ask) {
    if (auto checked = lease::check_namespace(ask.name_space); !checked) return checked.error();
    std::vector<lease::Intent> intents;
    for (const auto& [resource, predicate] : ask.intents) {
        if (auto checked = lease::check_resource(resource); !checked) return checked.error();
        const auto known = lease::parse_predicate(predicate.text());
        if (!known) return Error{Code::invalid_argument, fmt::format("unknown predicate '{}'", predicate.text())};
        intents.push_back({lease::full_name(ask.name_space, resource), *known});
    }
    return lease::checked_manifest(std::move(intents));
}

Result<authority::AcquireRequest> to_request(const AcquireAsk& ask) {
    auto manifest = manifest_of(ask);
    if (!manifest) return manifest.error();
    auto metadata = checked_metadata(ask.metadata);
    if (!metadata) return metadata.error();
    if (metadata->size() > lease::limits::metadata_bytes) return Error{Code::invalid_argument, "metadata is too long"};
    for (const auto& checked :
         {lease::check_holder(ask.holder), check_text({"session", ask.session}, lease::limits::session_bytes),
          check_text({"reason", ask.reason}, lease::limits::reason_bytes)})
        if (!checked) return checked.error();
    authority::AcquireRequest request;
    request.caller.address = "local";
    request.holder = ask.holder;
    request.epoch = ask.epoch;
    request.session = ask.session;
    request.intents = std::move(*manifest);
    if (ask.ttl > Duration::zero()) request.ttl = ask.ttl;
    request.wait = ask.wait;
    request.reason = ask.reason;
    request.metadata = std::move(*metadata);
    request.idempotency_key = ask.idempotency_key;
    return request;
}

Timing timing_of(const authority::HeldLease& held, const std::optional<authority::TtlCut>& cut) {
    return {held.timeline, held.lease.ttl, cut ? std::optional(cut->requested) : std::nullopt};
}

Grant grant_of(const authority::HeldLease& held) {
    return {to_string(lease::LeaseName{held.resource, held.lease.token}),
            std::string(lease::split_name(held.resource).resource), std::string(to_string(held.lease.predicate)),
            held.lease.token};
}

AcquireReply to_reply(const authority::AcquireGranted& granted, HolderInstant sent_at) {
    std::vector<TimedGrant> grants;
    for (const auto& held : granted.leases)
        grants.push_back({grant_of(held), timing_of(held, granted.ttl_cut), sent_at, granted.waited});
    return grants;
}

AcquireReply to_reply(const authority::AcquireBusy& busy) {
    Failure failure{.outcome = outcome_of(busy.code, 409),
                    .code = std::string(name_of(busy.code)),
                    .message = std::string(advice_of(busy.code))};
    failure.retry_in = whole_ms(busy.retry_in);
    if (busy.code != Code::die) failure.queue_position = busy.place;
    for (const auto& [resource, conflict] : busy.conflicts)
        failure.conflicts.push_back({std::string(lease::split_name(resource).resource),
                                     std::string(to_string(conflict.predicate)), conflict.holder, conflict.reason,
                                     whole_ms(conflict.expires_in), conflict.token == 0, conflict.reserved,
                                     conflict.token});
    return failure;
}

AcquireReply to_reply(const authority::Refused& refused) {
    const Error error = to_error(refused);
    Failure failure{
        .outcome = outcome_of(error.code, 400), .code = std::string(error.code.name()), .message = error.message};
    if (refused.retry_in) failure.retry_in = whole_ms(*refused.retry_in);
    return failure;
}

lease::LeaseName name_of(const NamedLease& lease) {
    return lease::parse_lease_name(lease.id).value_or(lease::LeaseName{});
}

/// Validates as the door does, with the authority's error codes.
Result<authority::AgentRequest> to_request(const AgentAsk& agent) {
    if (auto checked = lease::check_holder(agent.id); !checked) return checked.error();
    authority::AgentRequest request;
    request.caller.address = "local";
    request.id = agent.id;
    request.priority = agent.priority;
    request.epoch = agent.epoch;
    return request;
}

VerifiedLease to_verified(const authority::VerifyAnswer& answer) {
    VerifiedLease lease{.id = to_string(answer.name),
                        .state = std::string(to_string(answer.verified.state)),
                        .resource = std::string(lease::split_name(answer.name.resource).resource)};
    if (answer.timeline) lease.remaining = answer.timeline->expires_in;
    if (answer.verified.reserved_for) lease.remaining = *answer.verified.reserved_for;
    return lease;
}

}  // namespace

AcquireReply LocalTransport::acquire(const AcquireAsk& ask, Duration, const std::stop_token& stop) {
    auto request = to_request(ask);
    if (!request)
        return Failure{.outcome = Outcome::refused,
                       .code = std::string(request.error().code.name()),
                       .message = request.error().message};
    Local::Core::Waiting waiting;
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) return NoAnswer{"the client was stopped", true};
        waiting_.insert(&waiting);
    }
    const std::stop_callback on_stop(stop, [&] { local_->cancel(waiting); });
    const HolderInstant sent_at = holder_clock_now();
    const auto answer = local_->acquire(std::move(*request), waiting);
    const std::lock_guard lock(mutex_);
    waiting_.erase(&waiting);
    if (const auto* granted = std::get_if<authority::AcquireGranted>(&answer)) return to_reply(*granted, sent_at);
    if (const auto* busy = std::get_if<authority::AcquireBusy>(&answer)) return to_reply(*busy);
    return to_reply(std::get<authority::Refused>(answer));
}

Result<std::vector<RenewReply>> LocalTransport::renew(const NamedLeases& leases, Duration) {
    authority::RenewRequest request;
    request.caller.address = "local";
    request.holder = leases.holder;
    request.epoch = leases.epoch;
    request.ttl = leases.ttl;
    for (const auto& lease : leases.leases)
        request.leases.push_back({name_of(lease), lease.progress});
    std::vector<RenewReply> replies;
    for (const auto& answer : local_->renew(std::move(request))) {
        if (const auto* renewed = std::get_if<authority::RenewedLease>(&answer.result))
            replies.emplace_back(Renewed{timing_of(renewed->held, renewed->ttl_cut), grant_of(renewed->held)});
        else
            replies.emplace_back(to_error(std::get<authority::Refused>(answer.result)));
    }
    return replies;
}

Result<std::vector<ReleaseReply>> LocalTransport::release(const NamedLeases& leases, Duration) {
    std::vector<ReleaseReply> replies;
    for (const auto& lease : leases.leases) {
        authority::ReleaseRequest request;
        request.caller.address = "local";
        request.name = name_of(lease);
        request.holder = leases.holder;
        request.epoch = leases.epoch;
        request.session = leases.session;
        const auto answer = local_->release(std::move(request));
        if (const auto* refused = std::get_if<authority::Refused>(&answer))
            replies.emplace_back(to_error(*refused));
        else
            replies.emplace_back(Released{std::string(to_string(std::get<authority::ReleaseAnswer>(answer).state))});
    }
    return replies;
}

Result<AgentKnown> LocalTransport::register_agent(const AgentAsk& agent, Duration) {
    auto request = to_request(agent);
    if (!request) return request.error();
    const auto answer = local_->put_agent(std::move(*request));
    if (const auto* refused = std::get_if<authority::Refused>(&answer)) return to_error(*refused);
    const auto& known = std::get<authority::AgentAnswer>(answer);
    return AgentKnown{known.agent.priority, known.agent.epoch, known.agent.deaths, known.created};
}

Result<void> LocalTransport::declare_restart(const AgentAsk& agent, Duration) {
    auto request = to_request(agent);
    if (!request) return request.error();
    const auto answer = local_->declare_restart(std::move(*request));
    if (const auto* refused = std::get_if<authority::Refused>(&answer)) return to_error(*refused);
    return {};
}

Result<std::vector<VerifiedLease>> LocalTransport::verify_all(const AgentAsk& agent, Duration) {
    auto request = to_request(agent);
    if (!request) return request.error();
    const auto answer = local_->verify_all(std::move(*request));
    if (const auto* refused = std::get_if<authority::Refused>(&answer)) return to_error(*refused);
    std::vector<VerifiedLease> leases;
    for (const auto& verified : std::get<std::vector<authority::VerifyAnswer>>(answer))
        leases.push_back(to_verified(verified));
    return leases;
}

void LocalTransport::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (auto* waiting : waiting_)
        local_->cancel(*waiting);
}

}  // namespace holdfast::client
