#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// What a lock library's script does, as far as it matters for leases.
enum class ScriptAct : std::uint8_t {
    remove,      ///< DEL KEYS[1] if its value is ARGV[1]
    expire,      ///< PEXPIRE or EXPIRE KEYS[1] by ARGV[2] if its value is ARGV[1]
    extend,      ///< likewise, by what is left and ARGV[2]
    lengthen,    ///< `extend` if ARGV[3] is "0", else `expire`
    left,        ///< PTTL KEYS[1] if its value is ARGV[1]
    take_all,    ///< SET each of KEYS to ARGV[1] with PX ARGV[2] if none exists
    remove_all,  ///< DEL each of KEYS whose value is ARGV[1]
    extend_all,  ///< PX ARGV[2] for each of KEYS if all have the value ARGV[1]
};

/// What it answers.
struct ScriptReply {
    enum class Kind : std::uint8_t { integer, null, ok } kind = Kind::integer;
    std::int8_t number = 0;

    bool operator==(const ScriptReply&) const = default;
};

/// Small, to be carried along in callbacks.
struct Script {
    ScriptAct act = ScriptAct::remove;
    bool seconds = false;  ///< ARGV[2] is in seconds
    bool by_set = false;   ///< of expire: it is a SET, to which a time of zero is an error
    ScriptReply done{};    ///< if it did it; remove_all and the like answer with a number of keys, `left` with the time
    ScriptReply not_done{};  ///< if the value is another one
    ScriptReply absent{};    ///< if there is none

    /// How many keys and arguments it takes at least.
    std::size_t keys_least() const;
    std::size_t arguments_least() const;
    bool many_keys() const;
    /// True if ARGV[2] must be more than nothing.
    bool sets_expiry() const;

    bool operator==(const Script&) const = default;
};

/// The scripts that are known, by the normal form of their text (lua_text.h): compare-and-delete and compare-and-expire
/// in the shapes in which they are written, and those of redlock and redis-py.
class KnownScripts {
 public:
    KnownScripts();

    std::optional<Script> recognise(std::string_view text) const;
    std::size_t size() const { return by_form_.size(); }

 private:
    void add(const std::string& text, const Script& script);
    void add_compare_and_act();
    void add_of_libraries();

    std::map<std::string, Script, std::less<>> by_form_;
};

}  // namespace holdfast::redis
