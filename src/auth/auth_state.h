#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "auth/auth_change.h"
#include "auth/role.h"
#include "base/result.h"

namespace holdfast::auth {

/// What is stored of an API token (A6). Instants are those of the servers' wall clocks.
struct StoredApiToken {
    std::string id;
    ApiTokenHash hash{};
    std::int64_t created_wall_ms = 0;
    std::optional<std::int64_t> expires_wall_ms{};
    bool revoked = false;  ///< for good, whatever a clock says

    bool valid(std::int64_t now_wall_ms) const { return !revoked && !expired(now_wall_ms); }
    bool expired(std::int64_t now_wall_ms) const { return expires_wall_ms && now_wall_ms >= *expires_wall_ms; }

    bool operator==(const StoredApiToken&) const = default;
};

/// Somebody who asks: a person or a program, by name.
struct Principal {
    std::string name;
    std::set<std::string> roles{};
    std::vector<StoredApiToken> api_tokens{};  ///< at most two that are valid; also the last two that ended, to explain
    std::int64_t created_wall_ms = 0;
    std::int64_t rotated_wall_ms = 0;  ///< when it was given its last API token; 0: never

    bool operator==(const Principal&) const = default;
};

/// Names that no principal in the state has: of everybody while access control is off (A1), and of the server's own
/// user on its Unix socket.
inline constexpr std::string_view anonymous = "anonymous";
inline constexpr std::string_view local_admin = "local-admin";

/// Who may do what: principals with their roles and API tokens, roles with their grants, mappings of certificates, and
/// whether any of it is in force (A2, A6). All servers agree on it (L3): the same changes make the same state.
///
/// A change takes effect or is refused, and then nothing has changed. Beside `invalid_argument` (the message names what
/// is wrong) and `auth_full` (a limit is reached; removing and revoking is never refused so) the errors are:
///
/// - `unknown_principal`, `unknown_role`, `unknown_api_token`, `unknown_mapping`: it names something that is not there;
/// - `principal_exists`, `mapping_taken`: it would replace something of another;
/// - `role_fixed`: it changes a built-in role. `role_in_use`: it removes the role of a principal;
/// - `too_many_api_tokens`: the principal would have a third valid API token;
/// - `no_admin`: while access control is on, some principal can log in by an API token and change it. Enabling needs
/// one,
///   and no change takes away the last one. It may expire all the same: the Unix socket is the way back in.
///
/// A change of one principal leaves the API tokens of all others as they are.
class AuthState {
 public:
    Result<void> apply(const AuthChange& change);

    bool enabled() const { return enabled_; }
    /// Rises with every change that takes effect.
    std::uint64_t version() const { return version_; }

    /// Null if there is none of this name. Pointers are valid until the next change.
    const Principal* principal(std::string_view name) const;
    const Role* role(std::string_view name) const;  ///< built-in ones too
    /// The principal with an API token of this id, valid or not.
    const Principal* owner_of_api_token(std::string_view id) const;

    using Mappings = std::map<std::string, std::string, std::less<>>;  // pattern to principal
    const std::map<std::string, Principal, std::less<>>& principals() const { return principals_; }
    const std::map<std::string, Role, std::less<>>& roles() const { return roles_; }  ///< without the built-in ones
    const Mappings& mappings() const { return mappings_; }

    /// The size in a snapshot, rounded up a little; at most limits::state_bytes.
    std::size_t bytes() const { return bytes_; }

    /// Everything of a state, for a snapshot.
    struct Contents {
        std::uint64_t version = 0;
        bool enabled = false;
        std::vector<Role> roles{};
        std::vector<Principal> principals{};
        Mappings mappings{};
    };
    /// Returns nullopt if no changes could have made these contents.
    static std::optional<AuthState> restored(Contents contents);

    bool operator==(const AuthState&) const = default;

 private:
    Result<void> apply(const CreatePrincipal& change, std::int64_t now);
    Result<void> apply(const RemovePrincipal& change, std::int64_t now);
    Result<void> apply(const PutRole& change, std::int64_t now);
    Result<void> apply(const RemoveRole& change, std::int64_t now);
    Result<void> apply(const GrantRole& change, std::int64_t now);
    Result<void> apply(const RevokeRole& change, std::int64_t now);
    Result<void> apply(const AddApiToken& change, std::int64_t now);
    Result<void> apply(const RotateApiToken& change, std::int64_t now);
    Result<void> apply(const RevokeApiToken& change, std::int64_t now);
    Result<void> apply(const MapCertificate& change, std::int64_t now);
    Result<void> apply(const UnmapCertificate& change, std::int64_t now);
    Result<void> apply(const EnableAuth& change, std::int64_t now);
    Result<void> apply(const DisableAuth& change, std::int64_t now);

    /// What the state would have in the place of something.
    struct Instead {
        const Principal* principal = nullptr;  ///< of the one of this name
        const Role* role = nullptr;            ///< likewise
        std::string_view removed{};            ///< a principal
    };
    bool has_admin(std::int64_t now, const Instead& instead) const;
    bool may_change_auth(const Principal& principal, const Role* instead) const;
    Result<void> check_admin_is_left(std::int64_t now, const Instead& instead) const;

    Result<void> check_roles(const std::set<std::string>& roles) const;
    Result<void> give(Principal& principal, const IssuedApiToken& issued, std::int64_t now) const;
    Result<void> check_room(std::size_t removed, std::size_t added) const;
    Result<void> put(Principal principal, std::int64_t now);

    bool restore(Role role);
    bool restore(Principal principal);
    bool restore_mapping(const std::string& pattern, const std::string& principal);

    bool enabled_ = false;
    std::uint64_t version_ = 0;
    std::map<std::string, Principal, std::less<>> principals_;
    std::map<std::string, Role, std::less<>> roles_;
    Mappings mappings_;
    std::map<std::string, std::string, std::less<>> owners_;  // of API tokens, by id
    std::size_t bytes_ = 0;
};

}  // namespace holdfast::auth
