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
/// Nothing if it is not 40 hexadecimal digits, in either case.
std::optional<ScriptName> parse_script_name(std::string_view hex);

/// The scripts that clients have loaded. One that is not known may be loaded as well: a client that loads all it has
/// when it starts must not break before it runs it.
class ScriptCache {
 public:
    static constexpr std::size_t max_entries = 10'000;

    struct Entry {
        std::optional<Script> script;  ///< none: cannot be run here
    };

    /// Takes the script in. Nothing if there are as many as may be.
    struct Loaded {
        ScriptName name{};
        const Entry* entry = nullptr;
    };
    std::optional<Loaded> load(std::string_view text);

    /// The script of this text, for who runs it now: one that is known is loaded by that, if there is room.
    std::optional<Script> take_for_run(std::string_view text);

    /// nullptr if it was not loaded since the last flush().
    const Entry* find(const ScriptName& name) const;
    /// By the name as a client writes it: likewise nullptr if it is none.
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

    std::optional<KnownScripts> known_;  // made when the first script comes: most servers see none
    std::unordered_map<ScriptName, Entry, Hash> entries_;
    std::string last_hex_;  // what was found last, which is often what is asked for next
    const Entry* last_ = nullptr;
};

}  // namespace holdfast::redis
