#include "scenarios/holding_checker.h"

#include <set>

namespace holdfast::authority {
namespace {

bool may_share(lease::Predicate a, lease::Predicate b) {
    static const std::set<std::set<lease::Predicate>> pairs{{lease::Predicate::provides, lease::Predicate::consumes},
                                                            {lease::Predicate::provides, lease::Predicate::depends_on},
                                                            {lease::Predicate::consumes},
                                                            {lease::Predicate::consumes, lease::Predicate::depends_on},
                                                            {lease::Predicate::depends_on}};
    return pairs.contains({a, b});
}

std::string describe(const HoldingChecker::Holding& holding) {
    return holding.agent + " with " + std::string(to_string(holding.predicate)) + " on " + holding.resource + '#' +
           std::to_string(holding.token);
}

}  // namespace

HoldingChecker::Place& HoldingChecker::place(const std::string& resource) {
    const auto [found, fresh] = places_.try_emplace(resource);
    if (fresh) found->second.path = lease::file_path(found->first);
    return found->second;
}

void HoldingChecker::fail(const std::string& what, const Holding& a, const Holding& b) {
    if (!violation_) violation_ = what + ": " + describe(a) + " and " + describe(b);
}

void HoldingChecker::check(const Place& place, const Holding& holding, Instant now) {
    for (const auto& [token, other] : place.held) {
        const bool same_party = other.agent == holding.agent && other.session == holding.session;
        if (now < other.believed_until && !same_party && !may_share(other.predicate, holding.predicate))
            fail("two hold at once", other, holding);
    }
    for (const auto& [token, other] : place.kept)
        if (now < other.believed_until && other.agent != holding.agent &&
            !may_share(other.predicate, holding.predicate))
            fail("somebody came between an agent and what was kept for it", other, holding);
}

void HoldingChecker::granted(const Holding& holding, Instant now) {
    Place& here = place(holding.resource);
    if (holding.token <= here.last_token) fail("a token did not rise", holding, holding);
    here.last_token = holding.token;
    for (const auto& [name, other] : places_)
        if (&other == &here || (other.path && here.path && overlap(*other.path, *here.path)))
            check(other, holding, now);
    std::erase_if(here.kept, [&](const auto& kept) { return kept.second.agent == holding.agent; });
    here.held[holding.token] = holding;
}

void HoldingChecker::renewed(const Holding& name, Instant believed_until) {
    place(name.resource).held.at(name.token).believed_until = believed_until;
}

void HoldingChecker::let_go(const std::string& resource, lease::Token token) {
    place(resource).held.erase(token);
    place(resource).kept.erase(token);
}

void HoldingChecker::reserved(const Holding& holding, Instant until) {
    Holding kept = holding;
    kept.believed_until = until;
    place(holding.resource).kept[holding.token] = kept;
    place(holding.resource).held.erase(holding.token);
}

}  // namespace holdfast::authority
