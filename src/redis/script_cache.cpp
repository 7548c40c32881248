#include "redis/script_cache.h"

#include <cstring>
#include <openssl/evp.h>

#include "base/assert.h"

namespace holdfast::redis {
namespace {

constexpr std::uint8_t no_digit = 16;

/// The value of each byte as a hexadecimal digit. A table, since one EVALSHA has forty digits.
constexpr std::array<std::uint8_t, 256> digit_values() {
    std::array<std::uint8_t, 256> values{};
    values.fill(no_digit);
    for (std::uint8_t i = 0; i < 10; ++i)
        values['0' + i] = i;
    for (std::uint8_t i = 0; i < 6; ++i)
        values['a' + i] = values['A' + i] = static_cast<std::uint8_t>(10 + i);
    return values;
}
constexpr auto digits = digit_values();

}  // namespace

ScriptName script_name(std::string_view text) {
    ScriptName name{};
    unsigned size = 0;
    const int done = EVP_Digest(text.data(), text.size(), name.data(), &size, EVP_sha1(), nullptr);
    HOLDFAST_ASSERT(done == 1 && size == name.size());
    return name;
}

std::string to_hex(const ScriptName& name) {
    constexpr std::string_view letters = "0123456789abcdef";
    std::string hex;
    hex.reserve(2 * name.size());
    for (const std::uint8_t byte : name) {
        hex += letters[byte >> 4];
        hex += letters[byte & 15];
    }
    return hex;
}

std::optional<ScriptName> parse_script_name(std::string_view hex) {
    ScriptName name{};
    if (hex.size() != 2 * name.size()) return std::nullopt;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const std::uint8_t high = digits[static_cast<unsigned char>(hex[2 * i])];
        const std::uint8_t low = digits[static_cast<unsigned char>(hex[2 * i + 1])];
        if (high == no_digit || low == no_digit) return std::nullopt;
        name[i] = static_cast<std::uint8_t>(high << 4 | low);
    }
    return name;
}

/// Collisions are harmless: a client that can produce SHA-1 prefix collisions could as well fill the cache.
std::size_t ScriptCache::Hash::operator()(const ScriptName& name) const {
    std::size_t hash = 0;
    std::memcpy(&hash, name.data(), sizeof hash);
    return hash;
}

std::optional<ScriptCache::Loaded> ScriptCache::load(std::string_view text) {
    const ScriptName name = script_name(text);
    if (const Entry* entry = find(name)) return Loaded{name, entry};
    if (entries_.size() == max_entries) return std::nullopt;
    return Loaded{name, &entries_.emplace(name, Entry{recognise(text)}).first->second};
}

std::optional<Script> ScriptCache::take_for_run(std::string_view text) {
    const ScriptName name = script_name(text);
    if (const Entry* entry = find(name)) return entry->script;
    auto script = recognise(text);
    if (script && entries_.size() < max_entries) entries_.emplace(name, Entry{script});
    return script;
}

std::optional<Script> ScriptCache::recognise(std::string_view text) {
    if (!known_) known_.emplace();
    return known_->recognise(text);
}

const ScriptCache::Entry* ScriptCache::find(const ScriptName& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
}

const ScriptCache::Entry* ScriptCache::find(std::string_view hex) {
    if (last_ != nullptr && hex == last_hex_) return last_;
    const auto name = parse_script_name(hex);
    const Entry* found = name ? find(*name) : nullptr;
    if (found == nullptr) return nullptr;
    last_hex_ = hex;
    last_ = found;
    return found;
}

}  // namespace holdfast::redis
