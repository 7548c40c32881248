#pragma once

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "auth/api_token.h"
#include "auth/grant.h"

namespace holdfast::auth {

/// The API token number N, the same in every run: with the id of one number and the secret of the same or another.
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

inline Grant granted(Verbs verbs, std::string name_space = "*", std::string prefix = {},
                     std::vector<std::string> holders = {}) {
    const auto checked = checked_grant({verbs, std::move(name_space), std::move(prefix), std::move(holders)});
    EXPECT_TRUE(checked) << checked.error().message;
    return *checked;
}

}  // namespace holdfast::auth
