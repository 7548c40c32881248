#include "auth/auth_state.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "auth/certificate_pattern.h"
#include "auth/limits.h"
#include "base/code.h"
#include "base/text.h"
#include "lease/limits.h"

namespace holdfast::auth {
namespace {

// ---- errors ----

Error refused(Code code, std::string message) {
    return {code, std::move(message)};
}

Error unknown_principal(std::string_view name) {
    return refused(Code::unknown_principal, fmt::format("there is no principal {}", excerpt(name)));
}

Error unknown_role(std::string_view name) {
    return refused(Code::unknown_role, fmt::format("there is no role {}", excerpt(name)));
}

Error full(std::string_view what) {
    return refused(Code::auth_full, fmt::format("the limit on {} is reached; remove what is not used", what));
}

// ---- sizes ----

std::size_t bytes_of(const Principal& principal) {
    std::size_t bytes = principal.name.size() + 32 + principal.api_tokens.size() * 96;
    for (const std::string& role : principal.roles)
        bytes += role.size() + 4;
    return bytes;
}

std::size_t bytes_of(const Role& role) {
    std::size_t bytes = role.name.size() + 16;
    for (const Grant& grant : role.grants) {
        bytes += grant.name_space.size() + grant.prefix.size() + 24;
        for (const std::string& holder : grant.holders)
            bytes += holder.size() + 4;
    }
    return bytes;
}

std::size_t bytes_of(std::string_view pattern, std::string_view principal) {
    return pattern.size() + principal.size() + 16;
}

// ---- API tokens ----

bool is_instant(std::int64_t wall_ms) {
    return wall_ms >= 0 && wall_ms <= lease::limits::wall_ms_ceiling;
}

std::size_t valid_tokens(const Principal& principal, std::int64_t now) {
    return static_cast<std::size_t>(std::count_if(principal.api_tokens.begin(), principal.api_tokens.end(),
                                                  [&](const StoredApiToken& token) { return token.valid(now); }));
}

void revoke(StoredApiToken& token, std::int64_t now) {
    if (!token.expired(now)) token.expires_wall_ms = now;
    token.revoked = true;
}

/// Leaves those that are valid, and of the others the ones that ended last.
void drop_ended_tokens(Principal& principal, std::int64_t now) {
    auto& tokens = principal.api_tokens;
    while (tokens.size() - valid_tokens(principal, now) > limits::ended_api_tokens) {
        const auto rank = [now](const StoredApiToken& token) {
            return token.valid(now) ? std::numeric_limits<std::int64_t>::max() : token.expires_wall_ms.value_or(0);
        };
        tokens.erase(std::min_element(tokens.begin(), tokens.end(),
                                      [&](const auto& one, const auto& other) { return rank(one) < rank(other); }));
    }
}

bool is_well_formed(const StoredApiToken& token) {
    return is_api_token_id(token.id) && is_instant(token.created_wall_ms) &&
           (!token.expires_wall_ms || is_instant(*token.expires_wall_ms)) && (!token.revoked || token.expires_wall_ms);
}

Result<void> check_principal_name(std::string_view name) {
    if (auto checked = check_plain_name("principal", name); !checked) return checked;
    if (name == anonymous || name == local_admin)
        return refused(Code::invalid_argument, fmt::format("{} is a name of the server's own; choose another", name));
    return {};
}

}  // namespace

// ---- reading ----

const Principal* AuthState::principal(std::string_view name) const {
    const auto found = principals_.find(name);
    return found != principals_.end() ? &found->second : nullptr;
}

const Role* AuthState::role(std::string_view name) const {
    if (const Role* built_in = built_in_role(name)) return built_in;
    const auto found = roles_.find(name);
    return found != roles_.end() ? &found->second : nullptr;
}

const Principal* AuthState::owner_of_api_token(std::string_view id) const {
    const auto owner = owners_.find(id);
    return owner != owners_.end() ? principal(owner->second) : nullptr;
}

// ---- changes: each checks everything before it changes anything ----

Result<void> AuthState::apply(const AuthChange& change) {
    if (!is_instant(change.at_wall_ms))
        return refused(Code::invalid_argument, "the clock of the server that asked for this is far off; set it");
    auto applied = std::visit([&](const auto& what) { return apply(what, change.at_wall_ms); }, change.what);
    if (applied) ++version_;
    return applied;
}

Result<void> AuthState::apply(const CreatePrincipal& change, std::int64_t now) {
    if (auto checked = check_principal_name(change.name); !checked) return checked;
    if (principal(change.name) != nullptr)
        return refused(Code::principal_exists, fmt::format("there is a principal {}", change.name));
    if (principals_.size() >= limits::principals) return full("principals");
    if (auto checked = check_roles(change.roles); !checked) return checked;
    Principal created{.name = change.name, .roles = change.roles, .created_wall_ms = now};
    if (change.token)
        if (auto given = give(created, *change.token, now); !given) return given;
    return put(std::move(created), now);
}

Result<void> AuthState::apply(const RemovePrincipal& change, std::int64_t now) {
    const auto found = principals_.find(change.name);
    if (found == principals_.end()) return unknown_principal(change.name);
    if (auto checked = check_admin_is_left(now, {.removed = change.name}); !checked) return checked;
    // A later principal of this name must not inherit its certificates.
    std::erase_if(mappings_, [&](const auto& mapping) {
        const bool goes = mapping.second == found->first;
        if (goes) bytes_ -= bytes_of(mapping.first, mapping.second);
        return goes;
    });
    for (const StoredApiToken& token : found->second.api_tokens)
        owners_.erase(token.id);
    bytes_ -= bytes_of(found->second);
    principals_.erase(found);
    return {};
}

Result<void> AuthState::apply(const PutRole& change, std::int64_t now) {
    auto role = checked_role(change.role);
    if (!role) return role.error();
    const auto found = roles_.find(role->name);
    if (found == roles_.end() && roles_.size() >= limits::roles) return full("roles");
    const std::size_t removed = found != roles_.end() ? bytes_of(found->second) : 0;
    const std::size_t added = bytes_of(*role);
    if (auto checked = check_room(removed, added); !checked) return checked;
    if (auto checked = check_admin_is_left(now, {.role = &*role}); !checked) return checked;
    bytes_ = bytes_ - removed + added;
    roles_.insert_or_assign(role->name, *role);
    return {};
}

Result<void> AuthState::apply(const RemoveRole& change, std::int64_t) {
    if (built_in_role(change.name) != nullptr)
        return refused(Code::role_fixed, fmt::format("{} is a built-in role, which cannot be removed", change.name));
    const auto found = roles_.find(change.name);
    if (found == roles_.end()) return unknown_role(change.name);
    for (const auto& [name, principal] : principals_)
        if (principal.roles.contains(change.name))
            return refused(Code::role_in_use,
                           fmt::format("principal {} has the role {}; revoke it first", name, change.name));
    bytes_ -= bytes_of(found->second);
    roles_.erase(found);
    return {};
}

Result<void> AuthState::apply(const GrantRole& change, std::int64_t now) {
    const Principal* found = principal(change.principal);
    if (found == nullptr) return unknown_principal(change.principal);
    Principal changed = *found;
    changed.roles.insert(change.role);
    if (auto checked = check_roles(changed.roles); !checked) return checked;
    return put(std::move(changed), now);
}

Result<void> AuthState::apply(const RevokeRole& change, std::int64_t now) {
    const Principal* found = principal(change.principal);
    if (found == nullptr) return unknown_principal(change.principal);
    Principal changed = *found;
    if (changed.roles.erase(change.role) == 0)
        return refused(Code::unknown_role,
                       fmt::format("principal {} does not have the role {}", change.principal, excerpt(change.role)));
    return put(std::move(changed), now);
}

Result<void> AuthState::apply(const AddApiToken& change, std::int64_t now) {
    const Principal* found = principal(change.principal);
    if (found == nullptr) return unknown_principal(change.principal);
    Principal changed = *found;
    if (auto given = give(changed, change.token, now); !given) return given;
    return put(std::move(changed), now);
}

Result<void> AuthState::apply(const RotateApiToken& change, std::int64_t now) {
    const Principal* found = principal(change.principal);
    if (found == nullptr) return unknown_principal(change.principal);
    if (change.overlap < Duration::zero() || change.overlap > limits::rotation_overlap)
        return refused(Code::invalid_argument, "the overlap of a rotation is at most 90 days");
    Principal changed = *found;
    const std::int64_t end = std::min(now + to_ms(change.overlap), lease::limits::wall_ms_ceiling);
    for (StoredApiToken& token : changed.api_tokens) {
        if (!token.valid(now)) continue;
        if (change.overlap == Duration::zero())
            revoke(token, now);
        else
            token.expires_wall_ms = std::min(token.expires_wall_ms.value_or(end), end);
    }
    if (auto given = give(changed, change.token, now); !given) return given;
    return put(std::move(changed), now);
}

Result<void> AuthState::apply(const RevokeApiToken& change, std::int64_t now) {
    const Principal* owner = owner_of_api_token(change.id);
    if (owner == nullptr)
        return refused(Code::unknown_api_token, fmt::format("there is no API token {}", excerpt(change.id)));
    Principal changed = *owner;
    const auto token = std::find_if(changed.api_tokens.begin(), changed.api_tokens.end(),
                                    [&](const StoredApiToken& one) { return one.id == change.id; });
    if (token->revoked)
        return refused(Code::unknown_api_token, fmt::format("the API token {} was revoked before", change.id));
    revoke(*token, now);
    return put(std::move(changed), now);
}

Result<void> AuthState::apply(const MapCertificate& change, std::int64_t) {
    auto pattern = checked_certificate_pattern(change.pattern);
    if (!pattern) return pattern.error();
    if (principal(change.principal) == nullptr) return unknown_principal(change.principal);
    if (const auto found = mappings_.find(*pattern); found != mappings_.end()) {
        if (found->second == change.principal) return {};
        return refused(Code::mapping_taken,
                       fmt::format("{} is mapped to {}; remove that first", *pattern, found->second));
    }
    if (mappings_.size() >= limits::mappings) return full("mappings");
    const std::size_t added = bytes_of(*pattern, change.principal);
    if (auto checked = check_room(0, added); !checked) return checked;
    bytes_ += added;
    mappings_.emplace(std::move(*pattern), change.principal);
    return {};
}

Result<void> AuthState::apply(const UnmapCertificate& change, std::int64_t) {
    const auto pattern = checked_certificate_pattern(change.pattern);
    const auto found = pattern ? mappings_.find(*pattern) : mappings_.end();
    if (found == mappings_.end())
        return refused(Code::unknown_mapping, fmt::format("nothing is mapped by {}", excerpt(change.pattern)));
    bytes_ -= bytes_of(found->first, found->second);
    mappings_.erase(found);
    return {};
}

Result<void> AuthState::apply(const EnableAuth&, std::int64_t now) {
    if (!enabled_ && !has_admin(now, {}))
        return refused(Code::no_admin,
                       "no principal that may change access control has a valid API token; create one first");
    enabled_ = true;
    return {};
}

Result<void> AuthState::apply(const DisableAuth&, std::int64_t) {
    enabled_ = false;
    return {};
}

// ---- their parts ----

bool AuthState::may_change_auth(const Principal& principal, const Role* instead) const {
    return std::any_of(principal.roles.begin(), principal.roles.end(), [&](const std::string& name) {
        const Role* of_name = instead != nullptr && instead->name == name ? instead : role(name);
        return std::any_of(of_name->grants.begin(), of_name->grants.end(),
                           [](const Grant& grant) { return grant.verbs.has(Verb::admin_auth); });
    });
}

bool AuthState::has_admin(std::int64_t now, const Instead& instead) const {
    return std::any_of(principals_.begin(), principals_.end(), [&](const auto& entry) {
        if (entry.first == instead.removed) return false;
        const bool changed = instead.principal != nullptr && instead.principal->name == entry.first;
        const Principal& principal = changed ? *instead.principal : entry.second;
        return valid_tokens(principal, now) > 0 && may_change_auth(principal, instead.role);
    });
}

Result<void> AuthState::check_admin_is_left(std::int64_t now, const Instead& instead) const {
    if (!enabled_ || !has_admin(now, {}) || has_admin(now, instead)) return {};
    return refused(Code::no_admin, std::string(advice_of(Code::no_admin)));
}

Result<void> AuthState::check_roles(const std::set<std::string>& roles) const {
    if (roles.size() > limits::roles_per_principal)
        return refused(Code::invalid_argument,
                       fmt::format("a principal may have at most {} roles", limits::roles_per_principal));
    for (const std::string& name : roles)
        if (role(name) == nullptr) return unknown_role(name);
    return {};
}

Result<void> AuthState::give(Principal& principal, const IssuedApiToken& issued, std::int64_t now) const {
    const StoredApiToken token{.id = issued.token.id,
                               .hash = issued.token.hash,
                               .created_wall_ms = now,
                               .expires_wall_ms = issued.expires_wall_ms};
    if (!is_well_formed(token) || owners_.contains(token.id))
        return refused(Code::invalid_argument, "this is no id or expiry of a new API token; make another one");
    if (token.expired(now)) return refused(Code::invalid_argument, "the API token would be expired from the start");
    if (valid_tokens(principal, now) >= limits::valid_api_tokens)
        return refused(Code::too_many_api_tokens, std::string(advice_of(Code::too_many_api_tokens)));
    principal.api_tokens.push_back(token);
    principal.rotated_wall_ms = now;
    return {};
}

Result<void> AuthState::check_room(std::size_t removed, std::size_t added) const {
    if (added <= removed || bytes_ - removed + added <= limits::state_bytes) return {};
    return full("the size of principals, roles and mappings");
}

Result<void> AuthState::put(Principal principal, std::int64_t now) {
    drop_ended_tokens(principal, now);
    const Principal* before = this->principal(principal.name);
    const std::size_t removed = before != nullptr ? bytes_of(*before) : 0;
    const std::size_t added = bytes_of(principal);
    if (auto checked = check_room(removed, added); !checked) return checked;
    if (auto checked = check_admin_is_left(now, {.principal = &principal}); !checked) return checked;
    if (before != nullptr)
        for (const StoredApiToken& token : before->api_tokens)
            owners_.erase(token.id);
    for (const StoredApiToken& token : principal.api_tokens)
        owners_.emplace(token.id, principal.name);
    bytes_ = bytes_ - removed + added;
    principals_.insert_or_assign(principal.name, std::move(principal));
    return {};
}

// ---- snapshots ----

std::optional<AuthState> AuthState::restored(Contents contents) {
    AuthState state;
    for (Role& role : contents.roles)
        if (!state.restore(std::move(role))) return std::nullopt;
    for (Principal& principal : contents.principals)
        if (!state.restore(std::move(principal))) return std::nullopt;
    for (const auto& [pattern, principal] : contents.mappings)
        if (!state.restore_mapping(pattern, principal)) return std::nullopt;
    const bool within_limits = state.roles_.size() <= limits::roles && state.principals_.size() <= limits::principals &&
                               state.mappings_.size() <= limits::mappings && state.bytes_ <= limits::state_bytes;
    if (!within_limits) return std::nullopt;
    state.enabled_ = contents.enabled;
    state.version_ = contents.version;
    return state;
}

bool AuthState::restore(Role role) {
    const auto checked = checked_role(role);
    if (!checked || *checked != role) return false;
    bytes_ += bytes_of(role);
    return roles_.emplace(role.name, role).second;
}

bool AuthState::restore(Principal principal) {
    const std::size_t most_tokens = limits::valid_api_tokens + limits::ended_api_tokens;
    const bool well_formed = check_principal_name(principal.name) && check_roles(principal.roles) &&
                             is_instant(principal.created_wall_ms) && is_instant(principal.rotated_wall_ms) &&
                             principal.api_tokens.size() <= most_tokens &&
                             valid_tokens(principal, lease::limits::wall_ms_ceiling) <= limits::valid_api_tokens;
    if (!well_formed) return false;
    for (const StoredApiToken& token : principal.api_tokens)
        if (!is_well_formed(token) || !owners_.emplace(token.id, principal.name).second) return false;
    bytes_ += bytes_of(principal);
    return principals_.emplace(principal.name, principal).second;
}

bool AuthState::restore_mapping(const std::string& pattern, const std::string& principal) {
    const auto checked = checked_certificate_pattern(pattern);
    if (!checked || *checked != pattern || this->principal(principal) == nullptr) return false;
    bytes_ += bytes_of(pattern, principal);
    return mappings_.emplace(pattern, principal).second;
}

}  // namespace holdfast::auth
