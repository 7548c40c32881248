#pragma once

#include <memory>
#include <optional>
#include <string>

#include "authority/store_call.h"
#include "lease/rules.h"
#include "store/cas/sim_fronts.h"

namespace holdfast::store::cas {

/// What came of a call, now or later.
template <class Value>
struct Later {
    bool done = false;
    std::optional<Value> value;
    std::string error;  ///< code and message

    void set(const Result<Value>& result) {
        done = true;
        if (result)
            value = *result;
        else
            error = std::string(result.error().code.name()) + ": " + result.error().message;
    }
};
template <class Value>
using Promised = std::shared_ptr<Later<Value>>;

/// Runs a rule through one of the fronts.
template <class Rule>
auto apply_at(SimFronts& fronts, std::size_t front, const std::string& resource, Rule rule) {
    using Verdict = typename decltype(authority::call_rule(
        rule, std::declval<lease::Record&>(), std::declval<const lease::Neighbours&>(), Instant{}))::verdict_type;
    auto later = std::make_shared<Later<Verdict>>();
    authority::apply_rule(fronts.store(front), resource, std::move(rule),
                          [later](const Result<Verdict>& result) { later->set(result); });
    return later;
}

struct Ask {
    std::string holder;
    Duration ttl = 10s;
    lease::Predicate predicate = lease::Predicate::mutates;
    std::string session{};
    std::uint64_t request = 0;
    std::string metadata{};
};
/// The token, or 0 if somebody is in the way.
Promised<lease::Token> ask_acquire(SimFronts& fronts, std::size_t front, const std::string& resource, const Ask& ask);
Promised<bool> ask_renew(SimFronts& fronts, std::size_t front, const lease::LeaseName& name, const std::string& holder);
Promised<bool> ask_release(SimFronts& fronts, std::size_t front, const lease::LeaseName& name,
                           const std::string& holder);
Promised<bool> ask_wait(SimFronts& fronts, std::size_t front, const std::string& resource, std::uint64_t request,
                        const std::string& holder, Duration how_long = 1h);
Promised<lease::LeaseState> ask_state(SimFronts& fronts, std::size_t front, const lease::LeaseName& name);
Promised<lease::Record> ask_record(SimFronts& fronts, std::size_t front, const std::string& resource);

/// The same, until it is answered; zero if it is not.
lease::Token acquired(SimFronts& fronts, std::size_t front, const std::string& resource, const Ask& ask);
template <class Value>
std::optional<Value> answered(SimFronts& fronts, const Promised<Value>& later) {
    fronts.run_until([&] { return later->done; }, 20s);
    return later->value;
}

}  // namespace holdfast::store::cas
