#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::auth {

/// An API token, with which a principal logs in (A6):
///
///     hf_tqcjg4nz7w2yk5xb_kq…58 digits…m4
///
/// `hf_`, a public id of 16 digits, `_`, 52 digits of secret (256 bits), 6 digits of checksum. Digits are those of
/// base32 (base/encodings.h), so every token matches `hf_[a-z2-7]{16}_[a-z2-7]{58}`, for those that scan for secrets.
/// The id names the token in listings and logs. The checksum finds typing errors and proves nothing.

/// SHA-256 of the secret's digits: all that a server stores of it.
using ApiTokenHash = std::array<unsigned char, 32>;

struct ApiToken {
    std::string id;
    ApiTokenHash hash{};
};

/// A new token. The text is shown to its owner once and kept nowhere.
struct NewApiToken {
    std::string text;
    ApiToken token;
};
inline constexpr std::size_t api_token_random_bytes = 42;
/// REQUIRES: the bytes are from the operating system's source of randomness and used for nothing else.
NewApiToken make_api_token(std::span<const unsigned char, api_token_random_bytes> random);

/// Error `unauthenticated`, saying what is wrong with the text and nothing of what it contains.
Result<ApiToken> parse_api_token(std::string_view text);

/// True for 16 digits, as ids are.
bool is_api_token_id(std::string_view text);

/// Compares in a time that does not depend on where they differ.
bool same_hash(const ApiTokenHash& one, const ApiTokenHash& other);

/// The text, for a log, with the secret of everything in it that begins like a token replaced by `…`: also of one that
/// was cut off or mistyped.
std::string redacted(std::string_view text);

}  // namespace holdfast::auth
