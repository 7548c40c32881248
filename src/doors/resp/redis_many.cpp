#include "doors/resp/redis_many.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "doors/resp/redis_call.h"

namespace holdfast {
namespace {

using core::RecordTransaction;
using core::SingleRecordAnswer;
using redis::KeyOutcome;

struct ManyKeys;
using ManyKeysPtr = std::shared_ptr<ManyKeys>;

struct ManyKeys {
    Exchange& exchange;
    std::vector<std::string> keys;  ///< each once, by name
    std::string value;
    Duration ttl;
    std::int64_t named;  ///< how many there were, with repeated ones
    std::vector<core::Token> taken{};
    std::int64_t removed = 0;

    RedisCall call(std::size_t step, bool takes = false) const { return {keys[step], value, takes}; }
};

// ---- take all ----

/// Gives back, last first, what was taken; then replies with the error, or with nothing done.
void give_back(const ManyKeysPtr& many, const std::shared_ptr<const SingleRecordAnswer>& refused) {
    if (many->taken.empty()) {
        if (refused) return fail(many->exchange, *refused);
        return reply_integer(many->exchange, 0);
    }
    const core::Token token = many->taken.back();
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

}  // namespace

void run_over_keys(Exchange& exchange, const redis::Script& script, std::span<const std::string_view> keys,
                   std::string_view value, Duration ttl) {
    if (keys.size() > core::limits::intents_per_manifest)
        return fail(exchange, "a script may name at most 256 keys here, as a manifest may");
    const auto many = std::make_shared<ManyKeys>(ManyKeys{
        exchange, {keys.begin(), keys.end()}, std::string(value), ttl, static_cast<std::int64_t>(keys.size())});
    std::sort(many->keys.begin(), many->keys.end());
    many->keys.erase(std::unique(many->keys.begin(), many->keys.end()), many->keys.end());
    if (script.act == redis::ScriptAct::remove_all) return remove_next(many, 0);
    if (script.act == redis::ScriptAct::extend_all) return look_before_extending(many, 0);
    for (const std::string& key : many->keys)
        if (!usable(exchange, key, value)) return;
    look_before_taking(many, 0);
}

}  // namespace holdfast
