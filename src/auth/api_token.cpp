#include "auth/api_token.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/assert.h"
#include "base/code.h"
#include "base/encodings.h"

namespace holdfast::auth {
namespace {

constexpr std::string_view beginning = "hf_";
constexpr std::size_t id_bytes = 10, id_digits = 16;
constexpr std::size_t secret_digits = 52;
constexpr std::size_t checksum_digits = 6;
constexpr std::size_t token_digits = beginning.size() + id_digits + 1 + secret_digits + checksum_digits;
static_assert(id_digits * 5 == id_bytes * 8 && secret_digits == ((api_token_random_bytes - id_bytes) * 8 + 4) / 5);

bool is_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '2' && c <= '7');
}

bool are_digits(std::string_view text) {
    return std::all_of(text.begin(), text.end(), is_digit);
}

std::string_view view(std::span<const unsigned char> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ApiTokenHash sha256(std::string_view text) {
    ApiTokenHash hash;
    unsigned size = 0;
    const int done = EVP_Digest(text.data(), text.size(), hash.data(), &size, EVP_sha256(), nullptr);
    HOLDFAST_ASSERT(done == 1 && size == hash.size());
    return hash;
}

/// Of all before it. It differs from what is stored, which is the hash of the secret alone.
std::string checksum_of(std::string_view text) {
    return to_base32(view(sha256(text))).substr(0, checksum_digits);
}

Error not_a_token(std::string message) {
    return {Code::unauthenticated, std::move(message)};
}

/// The end of the digits, or of what was meant as such.
std::size_t end_of_word(std::string_view text, std::size_t from) {
    const auto is_word = [](unsigned char c) { return c >= 0x80 || std::isalnum(c) != 0; };
    while (from < text.size() && is_word(static_cast<unsigned char>(text[from])))
        ++from;
    return from;
}

}  // namespace

NewApiToken make_api_token(std::span<const unsigned char, api_token_random_bytes> random) {
    NewApiToken made;
    made.token.id = to_base32(view(random.first<id_bytes>()));
    const std::string secret = to_base32(view(random.subspan<id_bytes>()));
    made.token.hash = sha256(secret);
    made.text = fmt::format("{}{}_{}", beginning, made.token.id, secret);
    made.text += checksum_of(made.text);
    return made;
}

Result<ApiToken> parse_api_token(std::string_view text) {
    if (!text.starts_with(beginning)) return not_a_token("an API token begins with hf_; this text does not");
    if (text.size() != token_digits)
        return not_a_token(
            fmt::format("an API token has {} characters; this one has {}: copy it whole", token_digits, text.size()));
    const std::string_view id = text.substr(beginning.size(), id_digits);
    const std::string_view rest = text.substr(beginning.size() + id_digits + 1);
    const bool well_formed = are_digits(id) && text[beginning.size() + id_digits] == '_' && are_digits(rest);
    if (!well_formed) return not_a_token("an API token has only the characters a-z, 2-7 and two '_'; copy it whole");
    const std::string_view secret = rest.substr(0, secret_digits);
    if (rest.substr(secret_digits) != checksum_of(text.substr(0, text.size() - checksum_digits)))
        return not_a_token("the checksum of the API token does not match: a character of it is wrong; copy it again");
    return ApiToken{std::string(id), sha256(secret)};
}

bool is_api_token_id(std::string_view text) {
    return text.size() == id_digits && are_digits(text);
}

bool same_hash(const ApiTokenHash& one, const ApiTokenHash& other) {
    return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string redacted(std::string_view text) {
    std::string shown;
    while (true) {
        const std::size_t at = text.find(beginning);
        shown += text.substr(0, at);
        if (at == std::string_view::npos) return shown;
        const std::size_t end_of_id = end_of_word(text, at + beginning.size());
        const bool has_id = end_of_id < text.size() && text[end_of_id] == '_' &&
                            is_api_token_id(text.substr(at + beginning.size(), end_of_id - at - beginning.size()));
        // Without an id of the right form, all of it may be secret.
        std::size_t end = end_of_id;
        while (end < text.size() && text[end] == '_')
            end = end_of_word(text, end + 1);
        shown += has_id ? text.substr(at, end_of_id + 1 - at) : beginning;
        shown += "…";
        text.remove_prefix(end);
    }
}

}  // namespace holdfast::auth
