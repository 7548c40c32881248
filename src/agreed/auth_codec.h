#pragma once

#include <optional>

#include "auth/auth_change.h"
#include "auth/auth_state.h"

namespace holdfast::agreed::pb {
class Auth;
class AuthChange;
}  // namespace holdfast::agreed::pb

namespace holdfast::agreed {

// Access control as messages of log.proto.

void encode_auth_change(const auth::AuthChange& change, pb::AuthChange& out);
/// Returns nullopt if it is of a newer version.
std::optional<auth::AuthChange> decode_auth_change(const pb::AuthChange& in);

void encode_auth(const auth::AuthState& state, pb::Auth& out);
/// Returns nullopt if no changes could have made this state.
std::optional<auth::AuthState> decode_auth(const pb::Auth& in);

}  // namespace holdfast::agreed
