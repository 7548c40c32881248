#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "auth/auth_state.h"
#include "auth/certificate_pattern.h"
#include "base/result.h"

namespace holdfast::auth {

/// Who asks, and how that is known (A1). A door keeps it with a connection, and asks again whether it is still good.
struct Login {
    struct ByApiToken {
        std::string id;
        bool operator==(const ByApiToken&) const = default;
    };
    std::string principal;
    std::variant<ByApiToken, CertificateNames> by;

    bool operator==(const Login&) const = default;
};

/// Why nobody is logged in. For the log and the count of refused attempts: a client gets one answer, `unauthenticated`,
/// for all of them, so that it learns nothing about API tokens and principals (A5).
enum class LoginFailure : std::uint8_t {
    malformed,  ///< no API token; parse_api_token() says what is wrong with it
    unknown,    ///< no such API token, or not with this secret; no name of the certificate is mapped
    expired,
    revoked,    ///< or the mapping of the certificate was removed or has changed
    ambiguous,  ///< names of the certificate are mapped to several principals
};
std::string_view name_of(LoginFailure failure);

using LoginResult = std::variant<Login, LoginFailure>;

/// Logs in by the text of an API token. `now_wall_ms` is of this server's wall clock.
LoginResult log_in(const AuthState& state, std::string_view api_token, std::int64_t now_wall_ms);
/// Logs in by a client certificate. REQUIRES: TLS has verified it.
LoginResult log_in(const AuthState& state, const CertificateNames& names);

/// Why a login that was good is no longer; nullopt if it still is. To be asked when the state has another version, and
/// at expiry() (A7).
std::optional<LoginFailure> end_of(const AuthState& state, const Login& login, std::int64_t now_wall_ms);
/// When the login ends by itself; nullopt: it does not, or has ended.
std::optional<std::int64_t> expiry_of(const AuthState& state, const Login& login);

}  // namespace holdfast::auth
