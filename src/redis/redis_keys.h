#pragma once

#include <cstdint>
#include <string_view>

#include "authority/single_record.h"
#include "base/result.h"

namespace holdfast::redis {

/// Maps Redis commands to leases. A key is a resource in a namespace of its own, its value is the holder, its expiry is
/// the TTL (docs/redis.md). A lock, which is a string in Redis, is one holder's exclusive lease; the members of a set
/// are holders that share the resource.
///
/// The rules run in a transaction of the authority, which provides policy, tokens and events. Each puts its answer in
/// `number`, as a KeyOutcome unless stated otherwise, and a refusal by the lease rules in `refused`. A Redis client
/// does not learn the granted TTL, so it gets what it asks for or an error, never less (T3): see
/// SingleRecordSubject::exact.

enum class KeyOutcome : std::int64_t {
    done = 1,
    not_done = 0,     ///< a condition was not met, or the key has another value
    absent = -1,      ///< the key does not exist
    wrong_type = -2,  ///< a set where a lock was expected, or vice versa
    same_value = -3,  ///< not done: the key already has this value
};
KeyOutcome outcome_of(const authority::SingleRecordAnswer& answer);

enum class KeyType : std::uint8_t { none, lock, set };

/// True if a lease with this predicate is a lock, false if it is a member of a set.
bool is_lock(lease::Predicate predicate);

/// A record as Redis sees it.
struct KeyView {
    KeyType type = KeyType::none;
    std::string_view value;  ///< the holder of a lock
    Instant expires_at;      ///< the latest expiry of its leases
};
/// REQUIRES: the record is settled.
KeyView look(const lease::Record& record);

/// Error code `invalid_argument`, with advice, for a key or value that cannot be a resource or a holder. Keys that are
/// only read need no check: an invalid key does not exist.
Result<void> check_key(std::string_view key);
Result<void> check_value(std::string_view value);

/// SET. The subject's holder is the value. Every SET that is done is a new grant with a new token (G3), even with the
/// same value: the same value need not mean the same client. If the key has another value, the lease of that holder is
/// revoked. With NX, `same_value` if the key already has this value. A holder's own SET never shortens its lease,
/// because the answer may be lost (T3).
struct SetTerms {
    enum class When : std::uint8_t { always, absent, present };
    When when = When::always;
    bool get = false;       ///< GET: the previous value in `text`; see had_value()
    bool keep_ttl = false;  ///< KEEPTTL: ttl is not used
    Duration ttl{};
};
void set_key(authority::RecordTransaction& desk, const SetTerms& terms);
/// True if set_key() with GET found a previous value.
bool had_value(const authority::SingleRecordAnswer& answer);

/// GET: the value in `text`.
void get_key(authority::RecordTransaction& desk);
/// DEL: releases all leases of the key.
void remove_key(authority::RecordTransaction& desk);
/// GETDEL: the value in `text`.
void get_and_remove_key(authority::RecordTransaction& desk);
/// EXISTS and TYPE: `number` is the KeyType.
void type_of_key(authority::RecordTransaction& desk);
/// PTTL: `number` is the time left in whole milliseconds, rounded down, or -2 if the key does not exist.
void time_left(authority::RecordTransaction& desk);

/// PEXPIRE: a renewal. It never makes the expiry earlier (R1), so LT is not met, except by a time of zero or less,
/// which deletes.
enum class ExpireWhen : std::uint8_t { always, without_expiry, with_expiry, later, earlier };
void expire_key(authority::RecordTransaction& desk, Duration ttl, ExpireWhen when);

/// The same, if the value is the subject's holder; otherwise `not_done`, `absent` or `wrong_type`.
void remove_if_equal(authority::RecordTransaction& desk);
void expire_if_equal(authority::RecordTransaction& desk, Duration ttl);
void extend_if_equal(authority::RecordTransaction& desk, Duration more);  ///< to the time left plus `more`
void time_left_if_equal(authority::RecordTransaction& desk);              ///< `done`, with the answer's lease
void compare(authority::RecordTransaction& desk);                         ///< only reports the outcome

/// SADD, SREM and SISMEMBER: the subject's holder is the member. It shares the resource for the policy's longest TTL,
/// since Redis has no TTL for members. Adding it again renews its lease and gives `not_done`.
void add_member(authority::RecordTransaction& desk);
void remove_member(authority::RecordTransaction& desk);
void is_member(authority::RecordTransaction& desk);
/// SMEMBERS and SCARD: `number` is the number of members. Their names are in `text`, each terminated by a zero byte,
/// which no holder contains.
void members(authority::RecordTransaction& desk);

}  // namespace holdfast::redis
