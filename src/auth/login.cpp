#include "auth/login.h"

#include <algorithm>

#include "base/code.h"

namespace holdfast::auth {
namespace {

const StoredApiToken* find_token(const Principal& owner, std::string_view id) {
    const auto found = std::find_if(owner.api_tokens.begin(), owner.api_tokens.end(),
                                    [&](const StoredApiToken& token) { return token.id == id; });
    return found != owner.api_tokens.end() ? &*found : nullptr;
}

std::optional<LoginFailure> fault_in(const StoredApiToken& token, std::int64_t now_wall_ms) {
    if (token.revoked) return LoginFailure::revoked;
    if (token.expired(now_wall_ms)) return LoginFailure::expired;
    return std::nullopt;
}

/// The principal of the first pattern that is mapped: patterns come with the most specific first.
const std::string* mapped_by(const AuthState& state, const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns)
        if (const auto found = state.mappings().find(pattern); found != state.mappings().end()) return &found->second;
    return nullptr;
}

}  // namespace

std::string_view name_of(LoginFailure failure) {
    switch (failure) {
        case LoginFailure::malformed:
            return "malformed";
        case LoginFailure::unknown:
            return "unknown";
        case LoginFailure::expired:
            return "expired";
        case LoginFailure::revoked:
            return "revoked";
        case LoginFailure::ambiguous:
            break;
    }
    return "ambiguous";
}

LoginResult log_in(const AuthState& state, std::string_view api_token, std::int64_t now_wall_ms) {
    const auto parsed = parse_api_token(api_token);
    if (!parsed) return LoginFailure::malformed;
    const Principal* owner = state.owner_of_api_token(parsed->id);
    const StoredApiToken* token = owner != nullptr ? find_token(*owner, parsed->id) : nullptr;
    // The secret first: whoever has only the id learns nothing more.
    if (token == nullptr || !same_hash(token->hash, parsed->hash)) return LoginFailure::unknown;
    if (const auto fault = fault_in(*token, now_wall_ms)) return *fault;
    return Login{owner->name, Login::ByApiToken{token->id}};
}

LoginResult log_in(const AuthState& state, const CertificateNames& names) {
    const std::string* principal = nullptr;
    bool ambiguous = false;
    const auto consider = [&](const std::string* mapped) {
        ambiguous = ambiguous || (mapped != nullptr && principal != nullptr && *mapped != *principal);
        if (mapped != nullptr) principal = mapped;
    };
    for (const std::string& uri : names.uris)
        consider(mapped_by(state, patterns_for_uri(uri)));
    for (const std::string& name : names.dns_names)
        consider(mapped_by(state, patterns_for_dns_name(name)));
    if (ambiguous) return LoginFailure::ambiguous;
    if (principal == nullptr) return LoginFailure::unknown;
    return Login{*principal, names};
}

std::optional<LoginFailure> end_of(const AuthState& state, const Login& login, std::int64_t now_wall_ms) {
    if (const auto* names = std::get_if<CertificateNames>(&login.by)) {
        const LoginResult again = log_in(state, *names);
        const auto* same = std::get_if<Login>(&again);
        return same != nullptr && same->principal == login.principal ? std::nullopt
                                                                     : std::optional(LoginFailure::revoked);
    }
    const std::string& id = std::get<Login::ByApiToken>(login.by).id;
    const Principal* owner = state.principal(login.principal);
    const StoredApiToken* token = owner != nullptr ? find_token(*owner, id) : nullptr;
    return token != nullptr ? fault_in(*token, now_wall_ms) : LoginFailure::revoked;
}

std::optional<std::int64_t> expiry_of(const AuthState& state, const Login& login) {
    const auto* by = std::get_if<Login::ByApiToken>(&login.by);
    const Principal* owner = state.principal(login.principal);
    if (by == nullptr || owner == nullptr) return std::nullopt;
    const StoredApiToken* token = find_token(*owner, by->id);
    return token != nullptr ? token->expires_wall_ms : std::nullopt;
}

}  // namespace holdfast::auth
