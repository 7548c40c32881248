#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "codec/resp/resp_number.h"
#include "doors/resp/command_table.h"
#include "doors/resp/exchange.h"
#include "doors/resp/redis_call.h"
#include "doors/resp/redis_options.h"
#include "doors/resp/session.h"
#include "redis/redis_scripts.h"
#include "redis/script_cache.h"

namespace holdfast::doors::resp {
namespace {

using authority::RecordTransaction;
using authority::SingleRecordAnswer;
using redis::KeyOutcome;
using redis::Script;
using redis::ScriptAct;
using redis::ScriptReply;

// ---- several keys ----

struct ManyKeys;
using ManyKeysPtr = std::shared_ptr<ManyKeys>;

struct ManyKeys {
    Exchange& exchange;
    std::vector<std::string> keys;  ///< without duplicates, sorted
    std::string value;
    Duration ttl;
    std::int64_t named;  ///< number of keys, duplicates included
    std::vector<lease::Token> taken{};
    std::int64_t removed = 0;

    RedisCall call(std::size_t step, bool takes = false) const { return {keys[step], value, takes}; }
};

// ---- take all ----

/// Releases the taken keys, last first, then replies with the error, or with 0.
void give_back(const ManyKeysPtr& many, const std::shared_ptr<const SingleRecordAnswer>& refused) {
    if (many->taken.empty()) {
        if (refused) return fail(many->exchange, *refused);
        return reply_integer(many->exchange, 0);
    }
    const lease::Token token = many->taken.back();
    many->taken.pop_back();
    run(
        many->exchange, many->call(many->taken.size()), [token](RecordTransaction& desk) { desk.release(token); },
        [many, refused](const SingleRecordAnswer&) { give_back(many, refused); });
}

void take_next(const ManyKeysPtr& many) {
    if (many->taken.size() == many->keys.size()) return reply_integer(many->exchange, many->named);
    redis::SetTerms terms;
    terms.when = redis::SetTerms::When::absent;
    terms.ttl = many->ttl;
    run(
        many->exchange, many->call(many->taken.size(), true),
        [terms](RecordTransaction& desk) { redis::set_key(desk, terms); },
        [many](const SingleRecordAnswer& answer) {
            if (answer.refused) return give_back(many, std::make_shared<const SingleRecordAnswer>(answer));
            if (redis::outcome_of(answer) == KeyOutcome::same_value) note_same_value(many->exchange);
            if (redis::outcome_of(answer) != KeyOutcome::done) return give_back(many, nullptr);
            many->taken.push_back(answer.lease.token);
            take_next(many);
        });
}

void look_before_taking(const ManyKeysPtr& many, std::size_t step) {
    if (step == many->keys.size()) return take_next(many);
    run(many->exchange, many->call(step), &redis::compare, [many, step](const SingleRecordAnswer& answer) {
        if (answer.refused) return fail(many->exchange, answer);
        if (redis::outcome_of(answer) == KeyOutcome::done) note_same_value(many->exchange);
        if (redis::outcome_of(answer) != KeyOutcome::absent) return reply_integer(many->exchange, 0);
        look_before_taking(many, step + 1);
    });
}

// ---- remove all ----

void remove_next(const ManyKeysPtr& many, std::size_t step) {
    if (step == many->keys.size()) return reply_integer(many->exchange, many->removed);
    run(many->exchange, many->call(step), &redis::remove_if_equal, [many, step](const SingleRecordAnswer& answer) {
        if (failed(many->exchange, answer)) return;
        many->removed += redis::outcome_of(answer) == KeyOutcome::done ? 1 : 0;
        remove_next(many, step + 1);
    });
}

// ---- extend all ----

void extend_next(const ManyKeysPtr& many, std::size_t step) {
    if (step == many->keys.size()) return reply_integer(many->exchange, many->named);
    run(
        many->exchange, many->call(step),
        [ttl = many->ttl](RecordTransaction& desk) { redis::expire_if_equal(desk, ttl); },
        [many, step](const SingleRecordAnswer& answer) {
            if (failed(many->exchange, answer)) return;
            if (redis::outcome_of(answer) != KeyOutcome::done) return reply_integer(many->exchange, 0);
            extend_next(many, step + 1);
        });
}

void look_before_extending(const ManyKeysPtr& many, std::size_t step) {
    if (step == many->keys.size()) return extend_next(many, 0);
    run(many->exchange, many->call(step), &redis::compare, [many, step](const SingleRecordAnswer& answer) {
        if (failed(many->exchange, answer)) return;
        if (redis::outcome_of(answer) != KeyOutcome::done) return reply_integer(many->exchange, 0);
        look_before_extending(many, step + 1);
    });
}

/// Runs a script over several keys, and replies. Acquiring or extending them is all or nothing, like a manifest (G1):
/// it checks all keys first, and releases those it took if another client takes one meanwhile.
void run_over_keys(Exchange& exchange, const Script& script, std::span<const std::string_view> keys,
                   std::string_view value, Duration ttl) {
    if (keys.size() > lease::limits::intents_per_manifest)
        return fail(exchange, "a script may name at most 256 keys here, as a manifest may");
    const auto many = std::make_shared<ManyKeys>(ManyKeys{
        exchange, {keys.begin(), keys.end()}, std::string(value), ttl, static_cast<std::int64_t>(keys.size())});
    std::sort(many->keys.begin(), many->keys.end());
    many->keys.erase(std::unique(many->keys.begin(), many->keys.end()), many->keys.end());
    if (script.act == ScriptAct::remove_all) return remove_next(many, 0);
    if (script.act == ScriptAct::extend_all) return look_before_extending(many, 0);
    for (const std::string& key : many->keys)
        if (!usable(exchange, key, value)) return;
    look_before_taking(many, 0);
}

constexpr std::string_view unknown_script =
    "Holdfast runs no Lua: it knows the scripts by which lock libraries compare a key's value and delete it or set its "
    "expiry, and this is not one of them, so nothing was changed. A library that renews by it loses its lock at its "
    "expiry. Use LEASE.ACQUIRE, LEASE.RENEW and LEASE.RELEASE, or a library whose scripts docs/redis.md lists";

redis::ScriptCache& book(Exchange& exchange) {
    return exchange.session().parts().scripts;
}

// ---- one key ----

void reply(Exchange& exchange, const ScriptReply& reply) {
    if (reply.kind == ScriptReply::Kind::integer) return reply_integer(exchange, reply.number);
    if (reply.kind == ScriptReply::Kind::ok)
        exchange.reply().simple("OK");
    else
        exchange.reply().null();
    exchange.finish();
}

void reply_to_script(Exchange& exchange, const Script& script, const SingleRecordAnswer& answer) {
    if (failed(exchange, answer)) return;
    const KeyOutcome outcome = redis::outcome_of(answer);
    if (outcome != KeyOutcome::done)
        return reply(exchange, outcome == KeyOutcome::absent ? script.absent : script.not_done);
    if (script.act == ScriptAct::left) return reply_integer(exchange, to_ms(answer.lease.expires_at - answer.at));
    reply(exchange, script.done);
}

void run_rule(RecordTransaction& desk, ScriptAct act, Duration time) {
    switch (act) {
        case ScriptAct::remove:
            return redis::remove_if_equal(desk);
        case ScriptAct::expire:
            return redis::expire_if_equal(desk, time);
        case ScriptAct::extend:
            return redis::extend_if_equal(desk, time);
        default:
            return redis::time_left_if_equal(desk);
    }
}

// ---- EVAL and EVALSHA ----

/// The words after the script: the number of keys, the keys, the arguments.
struct Operands {
    std::span<const std::string_view> keys;
    std::span<const std::string_view> arguments;
};
std::variant<Operands, OptionError> parse_operands(std::span<const std::string_view> words) {
    const auto count = codec::resp::parse_integer(words[0]);
    if (!count) return OptionError(not_an_integer);
    if (*count < 0) return OptionError("Number of keys can't be negative");
    const auto rest = words.subspan(1);
    const auto keys = static_cast<std::size_t>(*count);
    if (keys > rest.size()) return OptionError("Number of keys can't be greater than number of args");
    return Operands{rest.first(keys), rest.subspan(keys)};
}

void run_script(Exchange& exchange, const Script& script, const Operands& operands) {
    const auto arguments = operands.arguments;
    if (operands.keys.size() < script.keys_least() || arguments.size() < script.arguments_least())
        return fail(exchange, "this script takes more keys or arguments than it was given");
    Duration time{};
    if (script.arguments_least() > 1) {
        const auto parsed = parse_time(arguments[1], script.seconds ? TimeUnit::seconds : TimeUnit::milliseconds);
        if (!parsed) return fail(exchange, not_an_integer);
        time = *parsed;
    }
    if (script.sets_expiry() && time <= Duration::zero()) return fail(exchange, "invalid expire time in script");
    if (script.many_keys()) return run_over_keys(exchange, script, operands.keys, arguments[0], time);
    ScriptAct act = script.act;
    if (act == ScriptAct::lengthen)
        act = arguments.size() > 2 && arguments[2] == "0" ? ScriptAct::extend : ScriptAct::expire;
    run(
        exchange, {operands.keys[0], arguments[0]}, [act, time](RecordTransaction& desk) { run_rule(desk, act, time); },
        [&exchange, script](const SingleRecordAnswer& answer) { reply_to_script(exchange, script, answer); });
}

enum class Access : std::uint8_t { reading_and_writing, reading };

void run_checked(Exchange& exchange, const std::optional<Script>& script, Access access) {
    if (!script) return fail(exchange, unknown_script);
    if (access == Access::reading && script->act != ScriptAct::left)
        return fail(exchange, "Write commands are not allowed from read-only scripts.");
    const auto parsed = parse_operands(exchange.words().subspan(2));
    if (const auto* error = std::get_if<OptionError>(&parsed)) return fail(exchange, *error);
    run_script(exchange, *script, std::get<Operands>(parsed));
}

void eval_as(Exchange& exchange, Access access) {
    run_checked(exchange, book(exchange).take_for_run(exchange.words()[1]), access);
}
void eval(Exchange& exchange) {
    eval_as(exchange, Access::reading_and_writing);
}
void eval_ro(Exchange& exchange) {
    eval_as(exchange, Access::reading);
}

void evalsha_as(Exchange& exchange, Access access) {
    const redis::ScriptCache::Entry* entry = book(exchange).find(exchange.words()[1]);
    if (entry == nullptr) return fail(exchange, "NOSCRIPT", "No matching script. Please use EVAL.");
    run_checked(exchange, entry->script, access);
}
void evalsha(Exchange& exchange) {
    evalsha_as(exchange, Access::reading_and_writing);
}
void evalsha_ro(Exchange& exchange) {
    evalsha_as(exchange, Access::reading);
}

// ---- SCRIPT ----

void script_load(Exchange& exchange) {
    const auto loaded = book(exchange).load(exchange.words()[2]);
    if (!loaded) return fail(exchange, "too many scripts are loaded: SCRIPT FLUSH forgets them");
    exchange.reply().bulk(redis::to_hex(loaded->name));
    exchange.finish();
}

void script_exists(Exchange& exchange) {
    const auto names = exchange.words().subspan(2);
    codec::resp::ReplyWriter reply = exchange.reply();
    reply.array(names.size());
    for (const std::string_view text : names)
        reply.integer(book(exchange).find(text) != nullptr ? 1 : 0);
    exchange.finish();
}

void script_flush(Exchange& exchange) {
    const auto words = exchange.words();
    if (words.size() == 3 && !same_word(words[2], "SYNC") && !same_word(words[2], "ASYNC"))
        return fail(exchange, "SCRIPT FLUSH only support SYNC|ASYNC option");
    book(exchange).flush();
    exchange.reply().simple("OK");
    exchange.finish();
}

struct Subcommand {
    std::string_view name;
    std::size_t words_least, max_words;
    void (*handler)(Exchange&);
};
constexpr std::array script_subcommands{Subcommand{"LOAD", 3, 3, script_load},
                                        Subcommand{"EXISTS", 3, codec::resp::max_words, script_exists},
                                        Subcommand{"FLUSH", 2, 3, script_flush}};

void script(Exchange& exchange) {
    const auto words = exchange.words();
    const auto found = std::find_if(script_subcommands.begin(), script_subcommands.end(),
                                    [&](const Subcommand& known) { return same_word(known.name, words[1]); });
    if (found == script_subcommands.end()) return fail(exchange, unknown_subcommand("SCRIPT", words[1]));
    if (words.size() < found->words_least || words.size() > found->max_words)
        return fail(exchange, wrong_arity("script|" + std::string(found->name)));
    found->handler(exchange);
}

/// A release has one argument, the holder. A renewal has a time after it.
constexpr Foresight foresight{3, 4, true, 5};

constexpr std::array script_table{
    RespCommand{"EVAL", -3, eval, true, 0, 0, 0, {}, foresight},
    RespCommand{"EVAL_RO", -3, eval_ro},
    RespCommand{"EVALSHA", -3, evalsha, true, 0, 0, 0, {}, foresight},
    RespCommand{"EVALSHA_RO", -3, evalsha_ro},
    RespCommand{"SCRIPT", -2, script},
};

}  // namespace

std::span<const RespCommand> script_commands() {
    return script_table;
}

}  // namespace holdfast::doors::resp
