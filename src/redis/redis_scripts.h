#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// The effect of a lock library's script on leases.
enum class ScriptAct : std::uint8_t {
    remove,      ///< DEL KEYS[1] if its value is ARGV[1]
    expire,      ///< PEXPIRE or EXPIRE KEYS[1] by ARGV[2] if its value is ARGV[1]
    extend,      ///< likewise, by the time left plus ARGV[2]
    lengthen,    ///< `extend` if ARGV[3] is "0", else `expire`
    left,        ///< PTTL KEYS[1] if its value is ARGV[1]
    take_all,    ///< SET each of KEYS to ARGV[1] with PX ARGV[2] if none exists
    remove_all,  ///< DEL each of KEYS whose value is ARGV[1]
    extend_all,  ///< PX ARGV[2] for each of KEYS if all have the value ARGV[1]
};

/// The reply of a script.
struct ScriptReply {
    enum class Kind : std::uint8_t { integer, null, ok } kind = Kind::integer;
    std::int8_t number = 0;

    bool operator==(const ScriptReply&) const = default;
};

/// A recognised script. Small, so that callbacks can capture it.
struct Script {
    ScriptAct act = ScriptAct::remove;
    bool seconds = false;    ///< ARGV[2] is in seconds
    bool by_set = false;     ///< expire by a SET, for which a time of zero is an error
    ScriptReply done{};      ///< on success; `*_all` reply with a number of keys, `left` with the time
    ScriptReply not_done{};  ///< if the key has another value
    ScriptReply absent{};    ///< if the key does not exist

    /// The minimum number of keys and arguments.
    std::size_t keys_least() const;
    std::size_t arguments_least() const;
    bool many_keys() const;
    /// True if ARGV[2] must be positive.
    bool sets_expiry() const;

    bool operator==(const Script&) const = default;
};

/// The known scripts, by the normal form of their text (lua_text.h): the common variants of compare-and-delete and
/// compare-and-expire, and the scripts of redlock and redis-py.
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
