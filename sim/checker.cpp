#include "sim/checker.h"

#include <algorithm>
#include <set>

#include "lease/resource.h"
#include "sim/trace.h"

namespace holdfast::sim {
namespace {

/// G2, as in docs/semantics.md.
bool may_share(lease::Predicate a, lease::Predicate b) {
    using enum lease::Predicate;
    static const std::set<std::set<lease::Predicate>> pairs{
        {provides, consumes}, {provides, depends_on}, {consumes}, {consumes, depends_on}, {depends_on}};
    return pairs.contains({a, b});
}

bool in_conflict(const Checker::Grant& a, const Checker::Grant& b) {
    return a.holder != b.holder && !may_share(a.predicate, b.predicate);
}

std::string at(TrueInstant when) {
    return "at " + seconds_text(when.time_since_epoch());
}

std::string describe(const Checker::Grant& grant) {
    return grant.holder + " with " + std::string(to_string(grant.predicate)) + " on " + grant.resource + '#' +
           std::to_string(grant.token) + " (asked " + at(grant.asked_at) + ", told " + at(grant.told_at) +
           ", believes until " + seconds_text(grant.believed_until.time_since_epoch()) + ')';
}

}  // namespace

void Checker::fail(const std::string& rule, const std::string& what) {
    if (!violation_) violation_ = Violation{rule, what};
}

Checker::Known* Checker::find(const lease::LeaseName& name) {
    const auto place = places_.find(name.resource);
    if (place == places_.end()) return nullptr;
    const auto found = place->second.find(name.token);
    return found == place->second.end() ? nullptr : &found->second;
}

bool Checker::overlapping(const std::string& a, const std::string& b) {
    if (a == b) return true;
    const auto [found, fresh] = overlaps_.try_emplace({a, b}, false);
    if (fresh) {
        const auto one = lease::file_path(a);
        const auto other = lease::file_path(b);
        found->second = one && other && overlap(*one, *other);
    }
    return found->second;
}

void Checker::granted(const Grant& grant, lease::Token floor) {
    if (grant.token <= floor)
        fail("G3", "token " + std::to_string(floor) + " was granted before " + describe(grant) + " was asked for");
    highest_token_ = std::max(highest_token_, grant.token);
    // Concurrent grants of two resources may have the same token: neither was first.
    if (!places_[grant.resource].try_emplace(grant.token, Known{grant, std::nullopt, false}).second)
        return fail("G3", "the token was granted twice: " + describe(grant));
    if (grant.told_at < grant.believed_until)
        believes({grant.resource, grant.token}, grant.told_at, grant.believed_until);
}

/// G2, T3, Q7: no other holder believes at this instant that it holds a conflicting lease.
void Checker::check_alone(const Known& known, TrueInstant now) {
    for (const auto& [resource, place] : places_) {
        if (!overlapping(resource, known.grant.resource)) continue;
        for (const auto& [token, other] : place)
            if (&other != &known && other.ever_believed && now < other.grant.believed_until &&
                in_conflict(other.grant, known.grant))
                fail("G2/T3/Q7", at(now) + " two believe to hold at once: " + describe(other.grant) + " and " +
                                     describe(known.grant));
    }
}

/// G3: a later holder has a higher token, otherwise a fence would admit the wrong one.
void Checker::check_order(const Place& place, const Known& known) {
    for (const auto& [token, other] : place)
        if (&other != &known && other.ever_believed && in_conflict(other.grant, known.grant) &&
            token > known.grant.token)
            fail("G3", describe(known.grant) + " came after one with a higher token: " + describe(other.grant));
}

void Checker::believes(const lease::LeaseName& name, TrueInstant from, TrueInstant until) {
    Known* known = find(name);
    HOLDFAST_ASSERT(known != nullptr);
    known->grant.believed_until = until;
    if (known->ever_believed) return;
    known->ever_believed = true;
    Place& place = places_[name.resource];
    for (const auto& [token, other] : place)
        if (other.ever_believed && in_conflict(other.grant, known->grant)) {
            ++handovers_;
            break;
        }
    check_alone(*known, from);
    check_order(place, *known);
}

/// R7: a holder that was banned throughout was granted nothing; under an unchanged policy no TTL is above the maximum.
void Checker::allowed(const PolicySeen& before, const PolicySeen& after, const authority::HeldLease& held) {
    if (!before.ban.empty() && before.ban == after.ban)
        fail("R7", before.holder + " is banned and gets " + held.resource + '#' + std::to_string(held.lease.token));
    if (before.applied == after.applied && before.ttl_max == after.ttl_max && held.lease.ttl > after.ttl_max)
        fail("R7", before.holder + " gets " + held.resource + " for " + seconds_text(held.lease.ttl) + ", and " +
                       seconds_text(after.ttl_max) + " is the most");
}

void Checker::stops_believing(const lease::LeaseName& name, TrueInstant at) {
    if (Known* known = find(name)) known->grant.believed_until = std::min(known->grant.believed_until, at);
}

void Checker::released(const lease::LeaseName& name, TrueInstant told_at) {
    Known* known = find(name);
    if (known != nullptr && !known->released_at) known->released_at = told_at;
}

void Checker::found_active(const lease::LeaseName& name, TrueInstant asked_at) {
    const Known* known = find(name);
    if (known == nullptr) return;
    if (known->released_at && *known->released_at <= asked_at)
        fail("R2", "released " + at(*known->released_at) + ", asked again " + at(asked_at) +
                       ", and found active: " + describe(known->grant));
    for (const auto& [resource, place] : places_) {
        if (!overlapping(resource, name.resource)) continue;
        for (const auto& [token, other] : place) {
            if (!in_conflict(other.grant, known->grant) || other.grant.told_at > asked_at) continue;
            const bool came_after =
                resource == name.resource ? token > name.token : other.grant.asked_at >= known->grant.told_at;
            if (came_after)
                fail("R1/T2", "asked " + at(asked_at) + " and found active: " + describe(known->grant) +
                                  ", which had ended, since this was granted: " + describe(other.grant));
        }
    }
}

}  // namespace holdfast::sim
