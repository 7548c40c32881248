#include "store/cas/asking.h"

namespace holdfast::core {

Promised<Token> ask_acquire(SimFronts& fronts, std::size_t front, const std::string& resource, const Ask& ask) {
    return apply_at(fronts, front, resource,
                    [ask](Record& record, const Neighbours& neighbours, Instant now) -> Ruling<Token> {
                        Claim claim;
                        claim.holder = ask.holder;
                        claim.session = ask.session;
                        claim.predicate = ask.predicate;
                        claim.ttl = ask.ttl;
                        claim.request = ask.request;
                        claim.queued = ask.request != 0;
                        claim.priority = static_cast<Priority>(ask.request);
                        const auto verdict = core::acquire(record, neighbours, claim, now);
                        if (const auto* granted = std::get_if<Granted>(&verdict))
                            return {granted->lease.token, Effect::changed};
                        return {Token{0}, Effect::none};
                    });
}

Promised<bool> ask_renew(SimFronts& fronts, std::size_t front, const LeaseName& name, const std::string& holder) {
    return apply_at(fronts, front, name.resource, [=](Record& record, Instant now) -> Ruling<bool> {
        Renewal renewal;
        renewal.token = name.token;
        renewal.holder = holder;
        renewal.resource = name.resource;
        const bool renewed = std::holds_alternative<Renewed>(core::renew(record, renewal, Policy{}, now));
        return {renewed, renewed ? Effect::changed : Effect::none};
    });
}

Promised<bool> ask_release(SimFronts& fronts, std::size_t front, const LeaseName& name, const std::string& holder) {
    return apply_at(fronts, front, name.resource, [=](Record& record, Instant now) -> Ruling<bool> {
        const bool released = std::holds_alternative<Released>(core::release(record, name.token, holder, now));
        return {released, released ? Effect::freed : Effect::none};
    });
}

Promised<bool> ask_wait(SimFronts& fronts, std::size_t front, const std::string& resource, std::uint64_t request,
                        const std::string& holder, Duration how_long) {
    return apply_at(fronts, front, resource, [=](Record& record, Instant now) -> Ruling<bool> {
        Claim claim;
        claim.holder = holder;
        claim.request = request;
        claim.priority = static_cast<Priority>(request);
        return {!enqueue(record, claim, now + how_long), Effect::changed};
    });
}

Promised<LeaseState> ask_state(SimFronts& fronts, std::size_t front, const LeaseName& name) {
    return apply_at(fronts, front, name.resource, [=](Record& record, Instant now) -> Ruling<LeaseState> {
        return {verify(record, name.token, now).state, Effect::none};
    });
}

Promised<Record> ask_record(SimFronts& fronts, std::size_t front, const std::string& resource) {
    return apply_at(fronts, front, resource, [](Record& record, Instant now) -> Ruling<Record> {
        settle(record, now);
        return {record, Effect::none};
    });
}

Token acquired(SimFronts& fronts, std::size_t front, const std::string& resource, const Ask& ask) {
    return answered(fronts, ask_acquire(fronts, front, resource, ask)).value_or(0);
}

}  // namespace holdfast::core
