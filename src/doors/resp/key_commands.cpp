#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

#include "doors/resp/command_table.h"
#include "doors/resp/redis_call.h"
#include "doors/resp/redis_options.h"

namespace holdfast::doors::resp {
namespace {

using authority::RecordTransaction;
using authority::SingleRecordAnswer;
using redis::KeyOutcome;
using redis::SetTerms;

// ---- SADD and its kin ----

/// SADD and SREM handle members one after the other. A member that fails ends the command; the changes before it
/// remain.
struct MemberChanges {
    Exchange& exchange;
    std::string key;
    std::vector<std::string> names;
    void (*rule)(RecordTransaction&);
    bool takes;
    std::size_t next = 0;
    std::int64_t done = 0;
};

void change_next(const std::shared_ptr<MemberChanges>& changes) {
    if (changes->next == changes->names.size()) return reply_integer(changes->exchange, changes->done);
    const std::string& name = changes->names[changes->next++];
    run(changes->exchange, {changes->key, name, changes->takes}, changes->rule,
        [changes](const SingleRecordAnswer& answer) {
            if (failed(changes->exchange, answer)) return;
            changes->done += redis::outcome_of(answer) == redis::KeyOutcome::done ? 1 : 0;
            change_next(changes);
        });
}

constexpr std::size_t members_per_command = 256;  // as many as the intents of a manifest (G1)

void change(Exchange& exchange, void (*rule)(RecordTransaction&), bool takes) {
    const auto words = exchange.words();
    const auto names = words.subspan(2);
    if (names.size() > members_per_command) return fail(exchange, "more than 256 members in one command");
    if (takes)
        for (const std::string_view name : names)
            if (!usable(exchange, words[1], name)) return;
    change_next(std::make_shared<MemberChanges>(
        MemberChanges{exchange, std::string(words[1]), {names.begin(), names.end()}, rule, takes}));
}

void sadd(Exchange& exchange) {
    change(exchange, redis::add_member, true);
}

void srem(Exchange& exchange) {
    change(exchange, redis::remove_member, false);
}

void sismember(Exchange& exchange) {
    const auto words = exchange.words();
    run(exchange, {words[1], words[2]}, &redis::is_member, [&exchange](const SingleRecordAnswer& answer) {
        if (!failed(exchange, answer)) reply_integer(exchange, answer.number);
    });
}

void smembers(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::members, [&exchange](const SingleRecordAnswer& answer) {
        if (failed(exchange, answer)) return;
        codec::resp::ReplyWriter reply = exchange.reply();
        reply.array(static_cast<std::size_t>(answer.number));
        std::string_view names = answer.text;
        for (std::size_t end = names.find('\0'); end != std::string_view::npos; end = names.find('\0')) {
            reply.bulk(names.substr(0, end));
            names.remove_prefix(end + 1);
        }
        exchange.finish();
    });
}

void scard(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::members, [&exchange](const SingleRecordAnswer& answer) {
        if (!failed(exchange, answer)) reply_integer(exchange, answer.number);
    });
}

// ---- SET and its kin ----

void reply_to_set(Exchange& exchange, const SetTerms& terms, const SingleRecordAnswer& answer) {
    if (failed(exchange, answer)) return;
    if (redis::outcome_of(answer) == KeyOutcome::same_value) note_same_value(exchange);
    codec::resp::ReplyWriter reply = exchange.reply();
    if (terms.get && redis::had_value(answer))
        reply.bulk(answer.text);
    else if (terms.get || redis::outcome_of(answer) != KeyOutcome::done)
        reply.null();
    else
        reply.simple("OK");
    exchange.finish();
}

void run_set(Exchange& exchange, const RedisCall& call, const SetTerms& terms) {
    if (!usable(exchange, call.key, call.value)) return;
    run(
        exchange, {call.key, call.value, true}, [terms](RecordTransaction& desk) { redis::set_key(desk, terms); },
        [&exchange, terms](const SingleRecordAnswer& answer) { reply_to_set(exchange, terms, answer); });
}

void set(Exchange& exchange) {
    const auto words = exchange.words();
    const auto parsed = parse_set_options(words.subspan(3));
    if (const auto* error = std::get_if<OptionError>(&parsed)) return fail(exchange, *error);
    const SetOptions& options = std::get<SetOptions>(parsed);
    if (options.no_expiry) return fail_no_expiry(exchange);
    run_set(exchange, {words[1], words[2]}, options.terms);
}

void set_for(Exchange& exchange, TimeUnit unit) {
    const auto words = exchange.words();
    const auto ttl = parse_time(words[2], unit);
    if (!ttl) return fail(exchange, not_an_integer);
    if (*ttl <= Duration::zero()) {
        return fail(exchange, fmt::format("invalid expire time in '{}' command", lower_case(words[0])));
    }
    SetTerms terms;
    terms.ttl = *ttl;
    run_set(exchange, {words[1], words[3]}, terms);
}
void psetex(Exchange& exchange) {
    set_for(exchange, TimeUnit::milliseconds);
}
void setex(Exchange& exchange) {
    set_for(exchange, TimeUnit::seconds);
}

// ---- GET and its kin ----

void reply_with_value(Exchange& exchange, const SingleRecordAnswer& answer) {
    if (failed(exchange, answer)) return;
    if (redis::outcome_of(answer) == KeyOutcome::done)
        exchange.reply().bulk(answer.text);
    else
        exchange.reply().null();
    exchange.finish();
}

void get(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::get_key,
        [&exchange](const SingleRecordAnswer& answer) { reply_with_value(exchange, answer); });
}

void getdel(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::get_and_remove_key,
        [&exchange](const SingleRecordAnswer& answer) { reply_with_value(exchange, answer); });
}

std::int64_t was_done(const SingleRecordAnswer& answer) {
    return redis::outcome_of(answer) == KeyOutcome::done ? 1 : 0;
}

void del(Exchange& exchange) {
    reply_sum(exchange, exchange.words().subspan(1), redis::remove_key, was_done);
}

std::int64_t is_there(const SingleRecordAnswer& answer) {
    return static_cast<redis::KeyType>(answer.number) != redis::KeyType::none ? 1 : 0;
}

void exists(Exchange& exchange) {
    reply_sum(exchange, exchange.words().subspan(1), redis::type_of_key, is_there);
}

void type(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::type_of_key, [&exchange](const SingleRecordAnswer& answer) {
        if (answer.refused) return fail(exchange, answer);
        constexpr std::array<std::string_view, 3> names{"none", "string", "set"};
        exchange.reply().simple(names[static_cast<std::size_t>(answer.number)]);
        exchange.finish();
    });
}

// ---- expiry ----

void expire_by(Exchange& exchange, TimeUnit unit) {
    const auto words = exchange.words();
    const auto ttl = parse_time(words[2], unit);
    if (!ttl) return fail(exchange, not_an_integer);
    const auto parsed = parse_expire_options(words.subspan(3));
    if (const auto* error = std::get_if<OptionError>(&parsed)) return fail(exchange, *error);
    const redis::ExpireWhen when = std::get<redis::ExpireWhen>(parsed);
    run(
        exchange, {words[1]}, [time = *ttl, when](RecordTransaction& desk) { redis::expire_key(desk, time, when); },
        [&exchange](const SingleRecordAnswer& answer) {
            if (!failed(exchange, answer)) reply_integer(exchange, was_done(answer));
        });
}
void pexpire(Exchange& exchange) {
    expire_by(exchange, TimeUnit::milliseconds);
}
void expire(Exchange& exchange) {
    expire_by(exchange, TimeUnit::seconds);
}

void pttl(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::time_left, [&exchange](const SingleRecordAnswer& answer) {
        if (answer.refused) return fail(exchange, answer);
        reply_integer(exchange, answer.number);
    });
}

/// Rounded as in Redis.
void ttl(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::time_left, [&exchange](const SingleRecordAnswer& answer) {
        if (answer.refused) return fail(exchange, answer);
        reply_integer(exchange, answer.number < 0 ? answer.number : (answer.number + 500) / 1000);
    });
}

// ---- not a lease ----

void refuse_without_expiry(Exchange& exchange) {
    fail_no_expiry(exchange);
}

void refuse_persist(Exchange& exchange) {
    fail(exchange, "a key is a lease here, and every lease ends: it cannot be made to last; extend it with PEXPIRE");
}

void refuse_instant(Exchange& exchange) {
    fail(exchange, instants_refused);
}

void refuse_flush(Exchange& exchange) {
    fail(exchange,
         "Holdfast does not end everybody's leases at once: delete the keys by name with DEL, or let an admin revoke "
         "them");
}

constexpr std::array key_table{
    RespCommand{"SET", -3, set, true, 1, 1, 1, {}, {1, 2, true}},
    RespCommand{"SETNX", 3, refuse_without_expiry, true, 1, 1, 1},
    RespCommand{"PSETEX", 4, psetex, true, 1, 1, 1},
    RespCommand{"SETEX", 4, setex, true, 1, 1, 1},
    RespCommand{"GET", 2, get, false, 1, 1, 1, {}, {1, 0, true}},
    RespCommand{"GETDEL", 2, getdel, true, 1, 1, 1},
    RespCommand{"DEL", -2, del, true, 1, -1, 1, {}, {1, 0, true}},
    RespCommand{"UNLINK", -2, del, true, 1, -1, 1},
    RespCommand{"EXISTS", -2, exists, false, 1, -1, 1},
    RespCommand{"TYPE", 2, type, false, 1, 1, 1},
    RespCommand{"PEXPIRE", -3, pexpire, true, 1, 1, 1, {}, {1, 0, true}},
    RespCommand{"EXPIRE", -3, expire, true, 1, 1, 1, {}, {1, 0, true}},
    RespCommand{"PEXPIREAT", -3, refuse_instant, true, 1, 1, 1},
    RespCommand{"EXPIREAT", -3, refuse_instant, true, 1, 1, 1},
    RespCommand{"PEXPIRETIME", 2, refuse_instant, false, 1, 1, 1},
    RespCommand{"EXPIRETIME", 2, refuse_instant, false, 1, 1, 1},
    RespCommand{"PERSIST", 2, refuse_persist, true, 1, 1, 1},
    RespCommand{"PTTL", 2, pttl, false, 1, 1, 1, {}, {1, 0, true}},
    RespCommand{"TTL", 2, ttl, false, 1, 1, 1},
    RespCommand{"SADD", -3, sadd, true, 1, 1, 1},
    RespCommand{"SREM", -3, srem, true, 1, 1, 1},
    RespCommand{"SISMEMBER", 3, sismember, false, 1, 1, 1},
    RespCommand{"SMEMBERS", 2, smembers, false, 1, 1, 1},
    RespCommand{"SCARD", 2, scard, false, 1, 1, 1},
    RespCommand{"FLUSHDB", -1, refuse_flush, true},
    RespCommand{"FLUSHALL", -1, refuse_flush, true},
};

}  // namespace

std::span<const RespCommand> key_commands() {
    return key_table;
}

}  // namespace holdfast::doors::resp
