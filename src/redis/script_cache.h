#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "redis/redis_scripts.h"

namespace holdfast::redis {

/// The name of a script: the SHA-1 of its text.
using ScriptName = std::array<std::uint8_t, 20>;
ScriptName script_name(std::string_view text);
std::string to_hex(const ScriptName& name);
/// Returns nullopt if it is not 40 hexadecimal digits, of either case.
std::optional<ScriptName> parse_script_name(std::string_view hex);

/// The scripts that clients have loaded. An unknown script may be loaded as well: a client that loads all its scripts
/// at start must not fail before it runs one.
class ScriptCache {
 public:
    static constexpr std::size_t max_entries = 10'000;

    struct Entry {
        std::optional<Script> script;  ///< none: unknown, cannot be run
    };

    /// Adds the script. Returns nullopt if the cache is full.
    struct Loaded {
        ScriptName name{};
        const Entry* entry = nullptr;
    };
    std::optional<Loaded> load(std::string_view text);

    /// The script of this text, to be run now. A known script is also loaded, if there is room.
    std::optional<Script> take_for_run(std::string_view text);

    /// nullptr if it was not loaded since the last flush().
    const Entry* find(const ScriptName& name) const;
    /// By the name in hexadecimal; nullptr also if it is malformed.
    const Entry* find(std::string_view hex);
    void flush() {
        entries_.clear();
        last_ = nullptr;
    }
    std::size_t size() const { return entries_.size(); }

 private:
    struct Hash {
        std::size_t operator()(const ScriptName& name) const;
    };

    std::optional<Script> recognise(std::string_view text);

    std::optional<KnownScripts> known_;  // created with the first script: most servers see none
    std::unordered_map<ScriptName, Entry, Hash> entries_;
    std::string last_hex_;  // the last one found, which is often requested again
    const Entry* last_ = nullptr;
};

}  // namespace holdfast::redis
