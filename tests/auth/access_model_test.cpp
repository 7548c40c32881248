// Thousands of random sets of roles and requests, decided by Access and by a slow obvious model of A2 to A5.

#include <cstdlib>
#include <gtest/gtest.h>
#include <ostream>
#include <rapidcheck.h>

#include "auth/access.h"
#include "auth/slow_access.h"
#include "auth/world.h"

namespace holdfast::auth {

std::ostream& operator<<(std::ostream& out, const Grant& grant) {
    return out << '[' << to_string(grant) << ']';
}
std::ostream& operator<<(std::ostream& out, Verb verb) {
    return out << name_of(verb);
}

namespace {

const std::vector<std::string> namespaces{"default", "team", "team-a", "tea", "redis-3", "~services"};
const std::vector<std::string> namespace_patterns{"*",     "*",   "",       "default",   "team",
                                                  "team*", "te*", "redis*", "~services", "~*"};
const std::vector<std::string> resource_names{"job",         "job:1",      "job:12",      "jobs",       "FILE:/a",
                                              "FILE:/a/b",   "FILE:/ab",   "FILE:/a/b/c", "FILE:/a/**", "FILE:/a/b/**",
                                              "FILE:/ab/**", "FILE:/**",   "FILE:a",      "FILE:a/b",   "FILE:a/**",
                                              "KEY:room",    "KEY:room-1", "web",         "FILES",      "leader:x"};
const std::vector<std::string> some_prefixes{"",           "",          "job",    "job:",     "job:1",
                                             "FILE:",      "FI",        "FILE:/", "FILE:/a",  "FILE:/a/",
                                             "FILE:/a/**", "FILE:/a/b", "FILE:a", "FILE:/**", "FILE:/ab",
                                             "KEY:",       "KEY:room",  "KE",     "web",      "FILE:/a//./b"};
const std::vector<std::string> holder_names{"", "p", "p/1", "p/", "px", "q", "q/1", "q/1/2", "pq"};
const std::vector<std::string> holder_patterns{"*", "p", "q", "q/*", "p*", "*/1", "*q*"};

rc::Gen<Verb> any_verb() {
    return rc::gen::map(rc::gen::inRange<std::size_t>(0, verb_count),
                        [](std::size_t i) { return static_cast<Verb>(i); });
}

rc::Gen<Grant> any_grant() {
    const auto verbs =
        rc::gen::map(rc::gen::resize(3, rc::gen::nonEmpty(rc::gen::container<std::vector<Verb>>(any_verb()))),
                     [](const std::vector<Verb>& some) {
                         Verbs all;
                         for (const Verb verb : some)
                             all = all.with({verb});
                         return all;
                     });
    const auto patterns =
        rc::gen::resize(2, rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(holder_patterns)));
    return rc::gen::build<Grant>(
        rc::gen::set(&Grant::verbs, verbs), rc::gen::set(&Grant::name_space, rc::gen::elementOf(namespace_patterns)),
        rc::gen::set(&Grant::prefix, rc::gen::elementOf(some_prefixes)), rc::gen::set(&Grant::holders, patterns));
}

std::string full_name(const std::string& name_space, const std::string& name) {
    return name_space == "default" ? name : "@" + name_space + "/" + name;
}

/// A principal `p` with some of the roles.
struct Case {
    AuthState state = enabled_state();
    std::vector<Grant> grants{};  // as written

    explicit Case(const std::vector<std::vector<Grant>>& roles) {
        std::set<std::string> own;
        for (std::size_t i = 0; i < roles.size(); ++i) {
            Role role{"r" + std::to_string(i), {}};
            for (const Grant& grant : roles[i])
                if (checked_grant(grant)) role.grants.push_back(grant);
            RC_ASSERT(outcome(state, PutRole{role}) == "ok");
            if (i % 3 == 2) continue;  // not of this principal
            own.insert(role.name);
            grants.insert(grants.end(), role.grants.begin(), role.grants.end());
        }
        RC_ASSERT(outcome(state, CreatePrincipal{"p", own}) == "ok");
    }
};

struct Decided {
    long allowed = 0, refused = 0, by_holder = 0, trees = 0, granted = 0;
};

/// A5: it is made of the request, and a grant of what it resource_names is enough.
void check_refusal(const Access& access, Verb verb, const Target& target, Decided& reached) {
    const Refusal refusal = access.refusal(verb, target);
    RC_ASSERT(refusal.verb == verb);
    RC_ASSERT(full_name(refusal.name_space, refusal.prefix) == target.resource);
    RC_ASSERT(refusal.holder.empty() || refusal.holder == target.holder);
    if (!refusal.holder.empty()) ++reached.by_holder;
    const auto missing = checked_grant({{verb}, refusal.name_space, refusal.prefix, {"*"}});
    if (!missing) return;  // no grant could help: the verb is not about such resource_names
    AuthState with = enabled_state();
    RC_ASSERT(outcome(with, PutRole{{"missing", {*missing}}}) == "ok");
    RC_ASSERT(outcome(with, CreatePrincipal{"p", {"missing"}}) == "ok");
    RC_ASSERT(Access(with, "p").allows(verb, target) == (!as_a_holder.has(verb) || !target.holder.empty()));
    ++reached.granted;
}

void compare(const Case& one, Decided& reached) {
    const Access access(one.state, "p");
    const SlowAccess model("p", one.grants);
    RC_ASSERT(!access.is_unrestricted());
    const std::string holder = *rc::gen::elementOf(holder_names);
    const Verb verb = *any_verb();
    for (const std::string& name_space : namespaces) {
        RC_ASSERT(access.allows_namespace(verb, name_space) == model.allows_namespace(verb, name_space));
        for (const std::string& name : resource_names) {
            const std::string resource = full_name(name_space, name);
            const Target target{resource, holder};
            const bool allowed = access.allows(verb, target);
            RC_LOG() << name_of(verb) << ' ' << resource << " as " << holder << '\n';
            RC_ASSERT(allowed == model.allows(verb, resource, holder));
            (allowed ? reached.allowed : reached.refused) += 1;
            reached.trees += allowed && name.ends_with("/**");
            if (!allowed && name == resource_names[static_cast<std::size_t>(reached.refused) % resource_names.size()])
                check_refusal(access, verb, target, reached);
        }
    }
    RC_ASSERT(access.allows_everywhere(verb) == model.allows_everywhere(verb));
    RC_ASSERT(access.allows_anywhere(verb) == model.allows_anywhere(verb));
    RC_ASSERT(access.may_act_as(verb, holder) == model.may_act_as(verb, holder));
}

TEST(AccessModel, decides_random_requests_as_the_slow_model_does) {
    setenv("RC_PARAMS", "max_success=3000 max_size=60", 0);
    Decided reached;
    const bool held = rc::check("access and model agree on every request", [&] {
        const auto role = rc::gen::resize(6, rc::gen::container<std::vector<Grant>>(any_grant()));
        const auto roles = *rc::gen::resize(6, rc::gen::container<std::vector<std::vector<Grant>>>(role));
        compare(Case(roles), reached);
    });
    std::printf("allowed %ld refused %ld by holder %ld trees %ld granted %ld\n", reached.allowed, reached.refused,
                reached.by_holder, reached.trees, reached.granted);
    EXPECT_TRUE(held);
    EXPECT_GT(reached.allowed, 10'000) << "too little happened to prove anything";
    EXPECT_GT(reached.refused, 10'000);
    EXPECT_GT(reached.by_holder, 100);
    EXPECT_GT(reached.trees, 1'000);
    EXPECT_GT(reached.granted, 1'000);
}

}  // namespace
}  // namespace holdfast::auth
