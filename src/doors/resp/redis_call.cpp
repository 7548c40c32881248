#include "doors/resp/redis_call.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "authority/authority.h"
#include "base/assert.h"
#include "doors/resp/lease_replies.h"
#include "doors/resp/session.h"

namespace holdfast::doors::resp {

std::string redis_namespace(unsigned database) {
    HOLDFAST_ASSERT(database < static_cast<unsigned>(databases));
    return database == 0 ? "redis" : "redis-" + std::to_string(database);
}

RedisKey::RedisKey(Exchange& exchange, std::string_view key) {
    if (key.size() > lease::limits::resource_bytes) return;
    const std::string_view prefix = exchange.session().key_prefix();
    char* end = std::copy(prefix.begin(), prefix.end(), room_.data());
    end = std::copy(key.begin(), key.end(), end);
    size_ = static_cast<std::size_t>(end - room_.data());
}

void run(Exchange& exchange, const RedisCall& call, authority::SingleRecord::Rule rule,
         authority::SingleRecord::Done done) {
    const RedisKey key(exchange, call.key);
    exchange.authority().single_record().update(
        {.resource = key.resource(), .holder = call.value, .extra = {}, .takes = call.takes, .exact = true},
        std::move(rule), std::move(done));
}

void fail_wrong_type(Exchange& exchange) {
    fail(exchange, "WRONGTYPE", "Operation against a key holding the wrong kind of value");
}

void fail_no_expiry(Exchange& exchange) {
    fail(exchange, "a key is a lease here, and every lease ends: say how long with PX milliseconds or EX seconds");
}

void fail(Exchange& exchange, const authority::SingleRecordAnswer& refused) {
    const Code code = *refused.refused;
    codec::resp::ReplyWriter reply = exchange.reply();
    if (code == Code::recovering || code == Code::stopping) {
        // Redis's own error while it starts: clients treat it as temporary.
        reply.error("LOADING", with_retry(advice_of(code), refused.retry_in));
    } else if (code == Code::memory_full) {
        reply.error("OOM", with_retry(advice_of(code), refused.retry_in));  // likewise
    } else if (code == Code::ttl_too_long) {
        put_error(reply, code,
                  fmt::format("{}: at most {} ms", advice_of(code),
                              to_ms(exchange.authority().policy().of(refused.resource).ttl_max())));
    } else {
        put_error(reply, code, refused.detail, refused.retry_in);
    }
    exchange.finish();
}

bool failed(Exchange& exchange, const authority::SingleRecordAnswer& answer) {
    if (answer.refused) {
        fail(exchange, answer);
        return true;
    }
    if (redis::outcome_of(answer) != redis::KeyOutcome::wrong_type) return false;
    fail_wrong_type(exchange);
    return true;
}

void note_same_value(Exchange& exchange) {
    exchange.session().parts().note_same_value();
}

bool usable(Exchange& exchange, std::string_view key, std::string_view value) {
    const auto is_good = [&](const Result<void>& checked) {
        if (!checked) fail(exchange, checked.error().message);
        return static_cast<bool>(checked);
    };
    return is_good(redis::check_key(key)) && is_good(redis::check_value(value));
}

void reply_integer(Exchange& exchange, std::int64_t number) {
    exchange.reply().integer(number);
    exchange.finish();
}

namespace {

struct Sum {
    Exchange& exchange;
    std::size_t missing;
    std::int64_t total = 0;
    std::optional<authority::SingleRecordAnswer> refused{};

    void arrived() {
        if (--missing > 0) return;
        if (refused) return fail(exchange, *refused);
        reply_integer(exchange, total);
    }
};

}  // namespace

void reply_sum(Exchange& exchange, std::span<const std::string_view> keys, void (*rule)(authority::RecordTransaction&),
               std::int64_t (*count)(const authority::SingleRecordAnswer&)) {
    if (keys.size() == 1)
        return run(exchange, {keys[0]}, rule, [&exchange, count](const authority::SingleRecordAnswer& answer) {
            if (answer.refused) return fail(exchange, answer);
            reply_integer(exchange, count(answer));
        });
    const auto sum = std::make_shared<Sum>(Sum{exchange, keys.size()});
    for (const std::string_view key : keys)
        run(exchange, {key}, rule, [sum, count](const authority::SingleRecordAnswer& answer) {
            if (answer.refused) sum->refused = answer;
            sum->total += count(answer);
            sum->arrived();
        });
}

}  // namespace holdfast::doors::resp
