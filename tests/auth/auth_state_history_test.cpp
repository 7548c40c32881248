// Random histories of changes: after each, the state keeps its promises, and every API token that was ever given out
// logs in exactly if the history says so.

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <ostream>
#include <rapidcheck.h>

#include "auth/limits.h"
#include "auth/login.h"
#include "auth/world.h"

namespace holdfast::auth {
namespace {

enum class Do : std::uint8_t {
    create,
    remove,
    put_role,
    remove_role,
    grant,
    revoke_role,
    add,
    rotate,
    revoke,
    map,
    unmap,
    enable,
    disable
};

/// One change, in small numbers that shrink well.
struct Step {
    Do what = Do::create;
    unsigned principal = 0;
    unsigned role = 0;
    unsigned token = 0;  // counted back from the newest
    unsigned verb = 0;
    std::int64_t pass_ms = 0;
    std::int64_t lasts_ms = 0;  // 0: for ever
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
    return out << static_cast<int>(step.what) << " p" << step.principal << " r" << step.role << " token -" << step.token
               << " verb " << step.verb << " +" << step.pass_ms << "ms lasts " << step.lasts_ms;
}

template <class T>
rc::Gen<T> below(T bound) {
    return rc::gen::inRange<T>(0, bound);
}

rc::Gen<Step> any_step() {
    const auto what = rc::gen::weightedElement<Do>({{6, Do::create},
                                                    {2, Do::remove},
                                                    {3, Do::put_role},
                                                    {1, Do::remove_role},
                                                    {5, Do::grant},
                                                    {3, Do::revoke_role},
                                                    {6, Do::add},
                                                    {4, Do::rotate},
                                                    {4, Do::revoke},
                                                    {2, Do::map},
                                                    {1, Do::unmap},
                                                    {4, Do::enable},
                                                    {1, Do::disable}});
    return rc::gen::build<Step>(rc::gen::set(&Step::what, what), rc::gen::set(&Step::principal, below(3U)),
                                rc::gen::set(&Step::role, below(4U)), rc::gen::set(&Step::token, below(6U)),
                                rc::gen::set(&Step::verb, below(3U)),
                                rc::gen::set(&Step::pass_ms, rc::gen::element<std::int64_t>(0, 0, 1, 10, 100)),
                                rc::gen::set(&Step::lasts_ms, rc::gen::element<std::int64_t>(0, 0, 5, 50)));
}

const std::vector<std::string> role_names{"admin", "reader", "r1", "r2"};
const std::vector<std::string> some_patterns{"a.example", "*.example", "spiffe://p/x", "spiffe://p/*"};

struct Reached {
    long applied = 0, refused = 0, kept_admin = 0, logins = 0, ended = 0;
};

class History {
 public:
    explicit History(Reached& reached) : reached_(reached) {}

    void run(const Step& step) {
        now_ += step.pass_ms;
        const AuthState before = state_;
        const bool had_admin = has_admin();
        const auto applied = state_.apply({change_of(step), now_});
        if (applied) {
            ++reached_.applied;
            RC_ASSERT(state_.version() == before.version() + 1);
            take_effect(step);
        } else {
            ++reached_.refused;
            reached_.kept_admin += applied.error().code == Code::no_admin;
            RC_ASSERT(state_ == before);
        }
        if (state_.enabled()) RC_ASSERT(has_admin() || !had_admin);
        if (state_.enabled() && !before.enabled()) RC_ASSERT(has_admin());
        check_principals(before, step);
        check_logins();
        check_restored();
    }

 private:
    struct Given {
        std::string principal;
        std::optional<std::int64_t> expires;
        bool ended = false;
    };

    std::string principal_of(const Step& step) const { return "p" + std::to_string(step.principal); }
    std::optional<std::int64_t> expiry_of(const Step& step) const {
        return step.lasts_ms == 0 ? std::nullopt : std::optional(now_ + step.lasts_ms);
    }
    IssuedApiToken next_token(const Step& step) const { return issued(given_.size(), expiry_of(step)); }
    std::uint64_t token_of(const Step& step) const {
        return given_.size() > step.token ? given_.size() - 1 - step.token : 0;
    }

    AuthChange::What change_of(const Step& step) const {
        const std::string principal = principal_of(step), role = role_names[step.role];
        const auto verb = std::vector{Verb::read, Verb::hold, Verb::admin_auth}[step.verb];
        switch (step.what) {
            case Do::create:
                return CreatePrincipal{
                    principal, {role}, step.token % 2 == 0 ? std::optional(next_token(step)) : std::nullopt};
            case Do::remove:
                return RemovePrincipal{principal};
            case Do::put_role:
                return PutRole{{role, {{{verb}, "*"}}}};
            case Do::remove_role:
                return RemoveRole{role};
            case Do::grant:
                return GrantRole{principal, role};
            case Do::revoke_role:
                return RevokeRole{principal, role};
            case Do::add:
                return AddApiToken{principal, next_token(step)};
            case Do::rotate:
                return RotateApiToken{principal, next_token(step), overlap_of(step)};
            case Do::revoke:
                return RevokeApiToken{numbered_token(token_of(step)).token.id};
            case Do::map:
                return MapCertificate{some_patterns[step.role], principal};
            case Do::unmap:
                return UnmapCertificate{some_patterns[step.role]};
            case Do::enable:
                return EnableAuth{};
            case Do::disable:
                break;
        }
        return DisableAuth{};
    }
    static Duration overlap_of(const Step& step) { return std::chrono::milliseconds(step.token % 2 == 0 ? 0 : 20); }

    /// What the change means for the tokens that were given out.
    void take_effect(const Step& step) {
        const std::string principal = principal_of(step);
        if (step.what == Do::revoke) given_[token_of(step)].ended = true;
        if (step.what == Do::rotate) end_former(principal, to_ms(overlap_of(step)));
        if (step.what == Do::remove)
            for (Given& one : given_)
                one.ended = one.ended || one.principal == principal;
        const bool gives =
            (step.what == Do::create && step.token % 2 == 0) || step.what == Do::add || step.what == Do::rotate;
        if (gives) given_.push_back({principal, expiry_of(step)});
    }
    void end_former(const std::string& principal, std::int64_t overlap) {
        for (Given& one : given_) {
            if (one.principal != principal) continue;
            one.ended = one.ended || overlap == 0;
            one.expires = std::min(one.expires.value_or(now_ + overlap), now_ + overlap);
        }
    }

    bool is_valid(const Given& one) const { return !one.ended && (!one.expires || now_ < *one.expires); }

    bool has_admin() const {
        for (const auto& [name, principal] : state_.principals()) {
            const bool logs_in = std::any_of(given_.begin(), given_.end(), [&, of = name](const Given& one) {
                return one.principal == of && is_valid(one);
            });
            for (const std::string& role : principal.roles)
                for (const Grant& grant : state_.role(role)->grants)
                    if (logs_in && grant.verbs.has(Verb::admin_auth)) return true;
        }
        return false;
    }

    void check_principals(const AuthState& before, const Step& step) const {
        for (const auto& [name, principal] : state_.principals()) {
            std::size_t valid = 0;
            for (const StoredApiToken& token : principal.api_tokens)
                valid += token.valid(now_);
            RC_ASSERT(valid <= limits::valid_api_tokens);
            for (const std::string& role : principal.roles)
                RC_ASSERT(state_.role(role) != nullptr);
        }
        for (const auto& [pattern, principal] : state_.mappings())
            RC_ASSERT(state_.principal(principal) != nullptr);
        // A6: of all others but the token's owner nothing has changed.
        const std::string changed =
            step.what == Do::revoke && !given_.empty() ? given_[token_of(step)].principal : principal_of(step);
        for (const auto& [name, principal] : before.principals())
            if (name != changed) RC_ASSERT(state_.principal(name) != nullptr && *state_.principal(name) == principal);
    }

    void check_logins() const {
        for (std::size_t i = 0; i < given_.size(); ++i) {
            const LoginResult result = log_in(state_, numbered_token(i).text, now_);
            const auto* login = std::get_if<Login>(&result);
            RC_ASSERT((login != nullptr) == is_valid(given_[i]));
            if (login != nullptr) RC_ASSERT(login->principal == given_[i].principal);
            (login != nullptr ? reached_.logins : reached_.ended) += 1;
        }
    }

    void check_restored() const {
        AuthState::Contents contents{
            .version = state_.version(), .enabled = state_.enabled(), .mappings = state_.mappings()};
        for (const auto& [name, role] : state_.roles())
            contents.roles.push_back(role);
        for (const auto& [name, principal] : state_.principals())
            contents.principals.push_back(principal);
        const auto restored = AuthState::restored(std::move(contents));
        RC_ASSERT(restored.has_value());
        RC_ASSERT(*restored == state_);
    }

    Reached& reached_;
    AuthState state_;
    std::int64_t now_ = start_ms;
    std::vector<Given> given_;
};

TEST(AuthStateHistories, keep_all_promises_after_every_change) {
    setenv("RC_PARAMS", "max_success=3000 max_size=60", 0);
    Reached reached;
    const bool held = rc::check("the state keeps its promises", [&] {
        const auto steps = *rc::gen::container<std::vector<Step>>(any_step());
        History history(reached);
        for (const Step& step : steps)
            history.run(step);
    });
    std::printf("applied %ld refused %ld kept an admin %ld logins %ld ended %ld\n", reached.applied, reached.refused,
                reached.kept_admin, reached.logins, reached.ended);
    EXPECT_TRUE(held);
    EXPECT_GT(reached.applied, 10'000) << "too little happened to prove anything";
    EXPECT_GT(reached.refused, 5'000);
    EXPECT_GT(reached.kept_admin, 50);
    EXPECT_GT(reached.logins, 10'000);
    EXPECT_GT(reached.ended, 10'000);
}

}  // namespace
}  // namespace holdfast::auth
