#include "redis/redis_scripts.h"

#include <array>

#include "base/assert.h"
#include "redis/lua_text.h"

namespace holdfast::redis {
namespace {

constexpr ScriptReply number(std::int8_t value) {
    return {ScriptReply::Kind::integer, value};
}
constexpr ScriptReply null_reply{ScriptReply::Kind::null, 0};
constexpr ScriptReply ok_reply{ScriptReply::Kind::ok, 0};

/// The action if the value matches: a call and its reply.
struct Action {
    std::string_view call;
    Script script;
};
const std::array<Action, 8> actions{{
    {"redis.call('del', KEYS[1])", {.act = ScriptAct::remove, .done = number(1)}},
    {"redis.call('unlink', KEYS[1])", {.act = ScriptAct::remove, .done = number(1)}},
    {"redis.call('pexpire', KEYS[1], ARGV[2])", {.act = ScriptAct::expire, .done = number(1)}},
    {"redis.call('expire', KEYS[1], ARGV[2])", {.act = ScriptAct::expire, .seconds = true, .done = number(1)}},
    {"redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])",
     {.act = ScriptAct::expire, .by_set = true, .done = ok_reply}},
    {"redis.call('set', KEYS[1], ARGV[1], 'XX', 'PX', ARGV[2])",
     {.act = ScriptAct::expire, .by_set = true, .done = ok_reply}},
    {"redis.call('set', KEYS[1], ARGV[1], 'EX', ARGV[2])",
     {.act = ScriptAct::expire, .seconds = true, .by_set = true, .done = ok_reply}},
    {"redis.call('pttl', KEYS[1])", {.act = ScriptAct::left, .done = number(0)}},
}};

/// The reply if the value does not match. In Lua `false` and `nil` both become a null reply.
struct Otherwise {
    std::string_view value;
    ScriptReply reply;
};
constexpr std::array<Otherwise, 6> otherwises{{{"0", number(0)},
                                               {"-1", number(-1)},
                                               {"-2", number(-2)},
                                               {"-3", number(-3)},
                                               {"nil", null_reply},
                                               {"false", null_reply}}};

/// How an action replies: with the reply of its call, or with a constant.
struct ScriptEnding {
    std::string_view before;  ///< text before the call
    std::string_view after;
    std::optional<ScriptReply> reply;
};
constexpr std::array<ScriptEnding, 3> endings{
    {{"return ", "", std::nullopt}, {"", " return 1", number(1)}, {"", " return true", number(1)}}};

/// `%` stands for the action, `$` for the value returned otherwise.
struct Shape {
    std::string_view text;
    bool ends_in_nothing = false;  ///< no `$`: a null reply
};
constexpr std::array<Shape, 13> shapes{{
    {"if redis.call('get', KEYS[1]) == ARGV[1] then % else return $ end"},
    {"if redis.call('get', KEYS[1]) == ARGV[1] then % end return $"},
    {"if redis.call('get', KEYS[1]) == ARGV[1] then % end", true},
    {"if ARGV[1] == redis.call('get', KEYS[1]) then % else return $ end"},
    {"if ARGV[1] == redis.call('get', KEYS[1]) then % end return $"},
    {"if redis.call('get', KEYS[1]) ~= ARGV[1] then return $ end %"},
    {"if redis.call('get', KEYS[1]) ~= ARGV[1] then return $ else % end"},
    {"local v = redis.call('get', KEYS[1]) if v == ARGV[1] then % else return $ end"},
    {"local v = redis.call('get', KEYS[1]) if v == ARGV[1] then % end return $"},
    {"local v = redis.call('get', KEYS[1]) if v and v == ARGV[1] then % end return $"},
    {"local v = redis.call('get', KEYS[1]) if v ~= ARGV[1] then return $ end %"},
    {"local v = redis.call('get', KEYS[1]) if not v or v ~= ARGV[1] then return $ end %"},
    {"local v = redis.call('get', KEYS[1]) if v == ARGV[1] then % elseif v == false then return -1 else return $ end"},
}};
constexpr std::size_t tells_absent = shapes.size() - 1;  ///< distinguishes a missing key from another value

std::string filled_in(std::string_view shape, std::string_view action, std::string_view otherwise) {
    std::string text;
    for (const char c : shape) {
        if (c == '%')
            text += action;
        else if (c == '$')
            text += otherwise;
        else
            text += c;
    }
    return text;
}

// Library scripts that do more than compare and act, rewritten here; their normal form is the same.

constexpr std::string_view take_all = R"(
    for i, key in ipairs(KEYS) do if redis.call('exists', key) == 1 then return 0 end end
    for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end
    return #KEYS)";

constexpr std::string_view remove_all = R"(
    local n = 0
    for i, key in ipairs(KEYS) do
        if redis.call('get', key) == ARGV[1] then redis.call('del', key) n = n + 1 end
    end
    return n)";

constexpr std::string_view extend_all = R"(
    for i, key in ipairs(KEYS) do if redis.call('get', key) ~= ARGV[1] then return 0 end end
    for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end
    return #KEYS)";

constexpr std::string_view mine_and_left = R"(
    local v = redis.call('get', KEYS[1])
    if not v or v ~= ARGV[1] then return 0 end
    local left = redis.call('pttl', KEYS[1])
    if not left then left = 0 end
    if left < 0 then return 0 end)";

constexpr std::string_view extend_by = R"( redis.call('pexpire', KEYS[1], left + ARGV[2]) return 1)";

constexpr std::string_view extend_or_replace = R"(
    local t = ARGV[2]
    if ARGV[3] == "0" then t = ARGV[2] + left end
    redis.call('pexpire', KEYS[1], t)
    return 1)";

}  // namespace

std::size_t Script::keys_least() const {
    return many_keys() ? 0 : 1;
}

bool Script::many_keys() const {
    return act == ScriptAct::take_all || act == ScriptAct::remove_all || act == ScriptAct::extend_all;
}

bool Script::sets_expiry() const {
    return by_set || act == ScriptAct::take_all || act == ScriptAct::extend_all;
}

std::size_t Script::arguments_least() const {
    return act == ScriptAct::remove || act == ScriptAct::remove_all || act == ScriptAct::left ? 1 : 2;
}

KnownScripts::KnownScripts() {
    add_compare_and_act();
    add_of_libraries();
}

void KnownScripts::add(const std::string& text, const Script& script) {
    const auto [place, added] = by_form_.emplace(normal_form(text), script);
    HOLDFAST_ASSERT(!place->first.empty() && (added || place->second == script));
}

void KnownScripts::add_compare_and_act() {
    for (std::size_t i = 0; i < shapes.size(); ++i)
        for (const Action& action : actions)
            for (const ScriptEnding& ending : endings)
                for (const Otherwise& otherwise : otherwises) {
                    Script script = action.script;
                    if (script.act == ScriptAct::left && ending.reply) continue;  // it would not reply with the time
                    if (ending.reply) script.done = *ending.reply;
                    script.not_done = script.absent = shapes[i].ends_in_nothing ? null_reply : otherwise.reply;
                    if (i == tells_absent) script.absent = number(-1);
                    std::string act(ending.before);
                    act.append(action.call).append(ending.after);
                    add(filled_in(shapes[i].text, act, otherwise.value), script);
                }
}

void KnownScripts::add_of_libraries() {
    add(std::string(take_all), {.act = ScriptAct::take_all});
    add(std::string(remove_all), {.act = ScriptAct::remove_all});
    add(std::string(extend_all), {.act = ScriptAct::extend_all});
    add(std::string(mine_and_left).append(extend_by), {.act = ScriptAct::extend, .done = number(1)});
    add(std::string(mine_and_left).append(extend_or_replace), {.act = ScriptAct::lengthen, .done = number(1)});
}

std::optional<Script> KnownScripts::recognise(std::string_view text) const {
    const std::string form = normal_form(text);
    const auto found = by_form_.find(form);
    if (form.empty() || found == by_form_.end()) return std::nullopt;
    return found->second;
}

}  // namespace holdfast::redis
