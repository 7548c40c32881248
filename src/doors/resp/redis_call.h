#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "authority/single_record.h"
#include "doors/resp/exchange.h"
#include "lease/limits.h"
#include "redis/redis_keys.h"

namespace holdfast::doors::resp {

/// The namespace of a database: `redis`, and `redis-1` to `redis-15` for those selected by SELECT. REQUIRES: below
/// `databases` (session.h).
std::string redis_namespace(unsigned database);

/// The resource of a key, built without allocating. Empty, which names no resource, if the key is too long.
class RedisKey {
 public:
    RedisKey(Exchange& exchange, std::string_view key);
    std::string_view resource() const { return {room_.data(), size_}; }

 private:
    std::array<char, lease::limits::resource_bytes + 24> room_;
    std::size_t size_ = 0;
};

/// Runs a rule on a key. `value` is the subject's holder, if the rule needs one.
struct RedisCall {
    std::string_view key;
    std::string_view value{};
    bool takes = false;
};
void run(Exchange& exchange, const RedisCall& call, authority::SingleRecord::Rule rule,
         authority::SingleRecord::Done done);

/// Error replies; they finish the exchange.
void fail_wrong_type(Exchange& exchange);
void fail_no_expiry(Exchange& exchange);
/// Replies why the lease rules refused the request. Always an error, never a reply that could pass for a grant.
void fail(Exchange& exchange, const authority::SingleRecordAnswer& refused);
/// If the answer is an error, replies with it and returns true. REQUIRES: unless refused, `number` of the answer is a
/// redis::KeyOutcome.
bool failed(Exchange& exchange, const authority::SingleRecordAnswer& answer);

/// A lock was refused because the key already holds the same value. Redis answers this like a lock held by another
/// client, and so do we. But a client that runs Redlock over several nodes of one Holdfast can never get a majority, so
/// the operator is warned.
void note_same_value(Exchange& exchange);

/// True if the key and, where given, the value can be a resource and a holder; else replies with the error.
bool usable(Exchange& exchange, std::string_view key, std::string_view value);

void reply_integer(Exchange& exchange, std::int64_t number);

/// Runs a rule on each key, and replies with the sum of `count` over the answers.
void reply_sum(Exchange& exchange, std::span<const std::string_view> keys, void (*rule)(authority::RecordTransaction&),
               std::int64_t (*count)(const authority::SingleRecordAnswer&));

}  // namespace holdfast::doors::resp
