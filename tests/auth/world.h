#pragma once

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "auth/auth_state.h"

namespace holdfast::auth {

/// The API token number N, the same in every run: with the id of one number and
/// the secret of the same or another.
inline NewApiToken numbered_token(std::uint64_t id, std::uint64_t secret) {
    std::array<unsigned char, api_token_random_bytes> random{};
    for (std::size_t i = 0; i < random.size(); ++i) {
        const std::uint64_t number = i < 10 ? id : secret;
        random[i] = static_cast<unsigned char>(i % 10 < 8 ? number >> (8 * (i % 10)) : i * 17);
    }
    return make_api_token(random);
}
inline NewApiToken numbered_token(std::uint64_t number) {
    return numbered_token(number, number);
}

inline IssuedApiToken issued(std::uint64_t number, std::optional<std::int64_t> expires_wall_ms = std::nullopt) {
    return {numbered_token(number).token, expires_wall_ms};
}

inline constexpr std::int64_t start_ms = 1'800'000'000'000;

/// The code of the refusal, or `ok`.
inline std::string outcome(AuthState& state, AuthChange::What what, std::int64_t at_wall_ms = start_ms) {
    const auto applied = state.apply({std::move(what), at_wall_ms});
    return applied ? "ok" : std::string(applied.error().code.name());
}

/// A state with `root`, an admin with the API token 1, and access control on.
inline AuthState enabled_state() {
    AuthState state;
    EXPECT_EQ(outcome(state, CreatePrincipal{"root", {"admin"}, issued(1)}), "ok");
    EXPECT_EQ(outcome(state, EnableAuth{}), "ok");
    return state;
}

inline Grant granted(Verbs verbs, std::string name_space = "*", std::string prefix = {},
                     std::vector<std::string> holders = {}) {
    const auto checked = checked_grant({verbs, std::move(name_space), std::move(prefix), std::move(holders)});
    EXPECT_TRUE(checked) << checked.error().message;
    return *checked;
}

}  // namespace holdfast::auth
