#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "auth/api_token.h"
#include "auth/role.h"
#include "base/time.h"

namespace holdfast::auth {

/// The changes of an AuthState. Their effects, and why they may be refused, are there.

/// A new API token of a principal. Its text is with its owner alone (A6).
struct IssuedApiToken {
    ApiToken token;
    std::optional<std::int64_t> expires_wall_ms{};  ///< none: never
};

struct CreatePrincipal {
    std::string name;
    std::set<std::string> roles{};
    std::optional<IssuedApiToken> token{};  ///< none: it logs in with certificates, or is given a token later
};
/// Its API tokens and its mappings go with it.
struct RemovePrincipal {
    std::string name;
};
/// Creates the role, or replaces all its grants.
struct PutRole {
    Role role;
};
struct RemoveRole {
    std::string name;
};
struct GrantRole {
    std::string principal;
    std::string role;
};
struct RevokeRole {
    std::string principal;
    std::string role;
};
struct AddApiToken {
    std::string principal;
    IssuedApiToken token;
};
/// Gives the principal a new API token. The former one stays valid for the overlap, or until its own expiry if that is
/// earlier. Without an overlap all former ones end at once.
struct RotateApiToken {
    std::string principal;
    IssuedApiToken token;
    Duration overlap{};
};
struct RevokeApiToken {
    std::string id;
};
/// Certificates with a name that matches the pattern are the principal's (auth/certificate_pattern.h).
struct MapCertificate {
    std::string pattern;
    std::string principal;
};
struct UnmapCertificate {
    std::string pattern;
};
struct EnableAuth {};
struct DisableAuth {};

struct AuthChange {
    using What =
        std::variant<CreatePrincipal, RemovePrincipal, PutRole, RemoveRole, GrantRole, RevokeRole, AddApiToken,
                     RotateApiToken, RevokeApiToken, MapCertificate, UnmapCertificate, EnableAuth, DisableAuth>;
    What what;
    std::int64_t at_wall_ms = 0;  ///< by the clock of the server that asks for it: what is expired, and what is shown
};

/// For the audit: what is changed, without secrets. A long text is cut, to what an entry of the audit has room for.
std::string describe(const AuthChange& change);

}  // namespace holdfast::auth
