#pragma once

#include <cstdint>
#include <string_view>

#include "authority/single_record.h"
#include "base/result.h"

namespace holdfast::redis {

/// What Redis's commands mean for leases. A key is a resource in a namespace of its own, its value is the holder, its
/// expiry is the TTL (docs/redis.md). A lock, which is a string to Redis, is one holder's exclusive lease; a set is
/// those who share the resource.
///
/// The rules run on a transaction of the authority, which brings policy, tokens and events. Each leaves its answer in
/// `number`, as a KeyOutcome or as it says, and in `refused` what the lease's own rules refused. A Redis client is not
/// told what it got, so it gets what it asks for or an error, never less (T3): see SingleRecordSubject::exact.

enum class KeyOutcome : std::int64_t {
    done = 1,
    not_done = 0,     ///< a condition was not met, or the value is another's
    absent = -1,      ///< there is no such key
    wrong_type = -2,  ///< a set where a lock was meant, or the other way round
    same_value = -3,  ///< not done, since this very value has the key already
};
KeyOutcome outcome_of(const core::SingleRecordAnswer& answer);

enum class KeyType : std::uint8_t { none, lock, set };

/// True if a lease with this predicate is a lock, false if it is one of those that share the resource.
bool is_lock(core::Predicate predicate);

/// A record as Redis sees it.
struct KeyView {
    KeyType type = KeyType::none;
    std::string_view value;  ///< of a lock: its holder
    Instant expires_at;      ///< of the last of its leases
};
/// REQUIRES: the record has nothing past its time.
KeyView look(const core::Record& record);

/// Error code `invalid_argument`, saying what to do, for a key or value that cannot be a resource or a holder. Keys
/// that are only looked up need no check: such a one does not exist.
Result<void> check_key(std::string_view key);
Result<void> check_value(std::string_view value);

/// SET. The subject's holder is the value. Every SET that is done is a new grant with a new token (G3), even of the
/// same value: the same value need not be the same client. A key with another value is taken away from its holder,
/// whose lease is revoked. With NX, `same_value` if the key has this very value. What a holder has is never cut short
/// by its own SET, for its answer may get lost (T3).
struct SetTerms {
    enum class When : std::uint8_t { always, absent, present };
    When when = When::always;
    bool get = false;       ///< GET: the value before, in `text`, if `has_text`
    bool keep_ttl = false;  ///< KEEPTTL: ttl is not used
    Duration ttl{};
};
void set_key(core::RecordTransaction& desk, const SetTerms& terms);
/// True if set_key() with GET found a value before.
bool had_value(const core::SingleRecordAnswer& answer);

/// GET: the value in `text`.
void get_key(core::RecordTransaction& desk);
/// DEL: ends what is there, as released.
void remove_key(core::RecordTransaction& desk);
/// GETDEL: the value in `text`.
void get_and_remove_key(core::RecordTransaction& desk);
/// EXISTS and TYPE: `number` is the KeyType.
void type_of_key(core::RecordTransaction& desk);
/// PTTL: `number` is the whole milliseconds left, never more than there are, or -2 if there is no such key.
void time_left(core::RecordTransaction& desk);

/// PEXPIRE: a renewal. It never brings the end forward (R1), so LT is never met; a time of zero or less deletes.
enum class ExpireWhen : std::uint8_t { always, without_expiry, with_expiry, later, earlier };
void expire_key(core::RecordTransaction& desk, Duration ttl, ExpireWhen when);

/// The same, if the value is the subject's holder; else `not_done`, or `absent`.
void remove_if_equal(core::RecordTransaction& desk);
void expire_if_equal(core::RecordTransaction& desk, Duration ttl);
void extend_if_equal(core::RecordTransaction& desk, Duration more);  ///< by what is left and this
void time_left_if_equal(core::RecordTransaction& desk);              ///< `done`, and the answer's lease has it
void compare(core::RecordTransaction& desk);                         ///< only tells

/// SADD, SREM and SISMEMBER: the subject's holder is the member, who shares the resource for the policy's longest TTL,
/// as Redis has no way to say how long. To add it again renews it, and is `not_done`.
void add_member(core::RecordTransaction& desk);
void remove_member(core::RecordTransaction& desk);
void is_member(core::RecordTransaction& desk);
/// SMEMBERS and SCARD: `number` of members; their names in `text`, each ended by a zero byte, which no holder has.
void members(core::RecordTransaction& desk);

}  // namespace holdfast::redis
