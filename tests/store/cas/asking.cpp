#include "store/cas/asking.h"

namespace holdfast::store::cas {

Promised<lease::Token> ask_acquire(SimFronts& fronts, std::size_t front, const std::string& resource, const Ask& ask) {
    return apply_at(fronts, front, resource,
                    [ask](lease::Record& record, const lease::Neighbours& neighbours,
                          Instant now) -> authority::Ruling<lease::Token> {
                        lease::Claim claim;
                        claim.holder = ask.holder;
                        claim.session = ask.session;
                        claim.predicate = ask.predicate;
                        claim.ttl = ask.ttl;
                        claim.request = ask.request;
                        claim.metadata = ask.metadata;
                        claim.queued = ask.request != 0;
                        claim.priority = static_cast<lease::Priority>(ask.request);
                        const auto verdict = lease::acquire(record, neighbours, claim, now);
                        if (const auto* granted = std::get_if<lease::Granted>(&verdict))
                            return {granted->lease->token, Effect::changed};
                        return {lease::Token{0}, Effect::none};
                    });
}

Promised<bool> ask_renew(SimFronts& fronts, std::size_t front, const lease::LeaseName& name,
                         const std::string& holder) {
    return apply_at(fronts, front, name.resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        lease::Renewal renewal;
        renewal.token = name.token;
        renewal.holder = holder;
        renewal.resource = name.resource;
        const bool renewed =
            std::holds_alternative<lease::Renewed>(lease::renew(record, renewal, lease::Policy{}, now));
        return {renewed, renewed ? Effect::changed : Effect::none};
    });
}

Promised<bool> ask_release(SimFronts& fronts, std::size_t front, const lease::LeaseName& name,
                           const std::string& holder) {
    return apply_at(fronts, front, name.resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        const bool released = std::holds_alternative<lease::Released>(lease::release(record, name.token, holder, now));
        return {released, released ? Effect::freed : Effect::none};
    });
}

Promised<bool> ask_wait(SimFronts& fronts, std::size_t front, const std::string& resource, std::uint64_t request,
                        const std::string& holder, Duration how_long) {
    return apply_at(fronts, front, resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        lease::Claim claim;
        claim.holder = holder;
        claim.request = request;
        claim.priority = static_cast<lease::Priority>(request);
        return {!lease::enqueue(record, claim, now + how_long), Effect::changed};
    });
}

Promised<lease::LeaseState> ask_state(SimFronts& fronts, std::size_t front, const lease::LeaseName& name) {
    return apply_at(fronts, front, name.resource,
                    [=](lease::Record& record, Instant now) -> authority::Ruling<lease::LeaseState> {
                        return {lease::verify(record, name.token, now).state, Effect::none};
                    });
}

Promised<lease::Record> ask_record(SimFronts& fronts, std::size_t front, const std::string& resource) {
    return apply_at(fronts, front, resource,
                    [](lease::Record& record, Instant now) -> authority::Ruling<lease::Record> {
                        settle(record, now);
                        return {record, Effect::none};
                    });
}

lease::Token acquired(SimFronts& fronts, std::size_t front, const std::string& resource, const Ask& ask) {
    return answered(fronts, ask_acquire(fronts, front, resource, ask)).value_or(0);
}

}  // namespace holdfast::store::cas
