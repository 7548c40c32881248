#include "redis/redis_keys.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "lease/limits.h"
#include "lease/manifest.h"

namespace holdfast::redis {
namespace {

using authority::RecordTransaction;
using lease::Ending;
using lease::Lease;
using lease::Predicate;
using lease::Record;

void tell(RecordTransaction& desk, KeyOutcome outcome) {
    desk.answer().number = static_cast<std::int64_t>(outcome);
}

/// The key has waiters or is reserved for an agent (R5): it has no holder but is not free.
void tell_busy_as_not_done(RecordTransaction& desk) {
    if (desk.answer().refused == Code::busy) desk.answer().refused.reset();
    tell(desk, KeyOutcome::not_done);
}

void end_all(RecordTransaction& desk) {
    while (!desk.record().leases.empty())
        desk.end(desk.record().leases.back().token, Ending::released);
    tell(desk, KeyOutcome::done);
}

void renew_all(RecordTransaction& desk, Duration ttl) {
    for (std::size_t i = 0; i < desk.record().leases.size(); ++i) {
        const Lease& lease = desk.record().leases[i];
        if (desk.renew(lease.token, ttl, lease.holder)) return;
    }
    tell(desk, KeyOutcome::done);
}

/// Compares the value with the subject's holder; `done` if they are equal.
KeyOutcome compared(const RecordTransaction& desk) {
    const KeyView key = look(desk.record());
    if (key.type == KeyType::none) return KeyOutcome::absent;
    if (key.type == KeyType::set) return KeyOutcome::wrong_type;
    return key.value == desk.holder() ? KeyOutcome::done : KeyOutcome::not_done;
}

const Lease* share_of(const RecordTransaction& desk) {
    const auto& leases = desk.record().leases;
    const auto found =
        std::find_if(leases.begin(), leases.end(), [&](const Lease& lease) { return lease.holder == desk.holder(); });
    return found == leases.end() ? nullptr : &*found;
}

/// A new TTL must not shorten what the holder was promised (T3).
Duration not_shorter(const RecordTransaction& desk, Duration ttl) {
    for (const Lease& lease : desk.record().leases)
        if (lease.holder == desk.holder()) ttl = std::max(ttl, lease.expires_at - desk.now());
    return ttl;
}

/// True if all eight bytes are in ' ' to '~'. For any other byte one of the three terms has the highest bit set.
bool all_printable(std::uint64_t bytes) {
    constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
    return ((bytes | (bytes - ones * ' ') | (bytes + ones)) & ones * 0x80) == 0;
}

/// The fast path: true for nearly every key and value, which then needs no further check.
bool plain(std::string_view text, std::size_t max_bytes) {
    if (text.empty() || text.size() > max_bytes) return false;
    std::uint64_t bytes = 0;
    if (text.size() < sizeof bytes)
        return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    const char* const last = text.data() + text.size() - sizeof bytes;
    for (const char* at = text.data(); at < last; at += sizeof bytes) {
        std::memcpy(&bytes, at, sizeof bytes);
        if (!all_printable(bytes)) return false;
    }
    std::memcpy(&bytes, last, sizeof bytes);  // some bytes for the second time
    return all_printable(bytes);
}

/// Uses Redis's terms, so that the message makes sense in the log of a Redis client.
Result<void> in_words_of_redis(Result<void> checked, std::string_view what, std::string_view why) {
    if (checked) return checked;
    std::string message(what);
    message.append(" cannot be used: ").append(checked.error().message).append(why);
    return Error{checked.error().code, std::move(message)};
}

}  // namespace

KeyOutcome outcome_of(const authority::SingleRecordAnswer& answer) {
    return static_cast<KeyOutcome>(answer.number);
}

bool is_lock(Predicate predicate) {
    return predicate == Predicate::mutates || predicate == Predicate::deletes || predicate == Predicate::renames;
}

KeyView look(const Record& record) {
    KeyView view;
    for (const Lease& lease : record.leases) {
        view.expires_at = std::max(view.expires_at, lease.expires_at);
        if (is_lock(lease.predicate)) {
            view.type = KeyType::lock;
            view.value = lease.holder;
        } else if (view.type == KeyType::none) {
            view.type = KeyType::set;
        }
    }
    return view;
}

Result<void> check_key(std::string_view key) {
    if (plain(key, lease::limits::resource_bytes)) return {};
    if (key.empty()) return Error{Code::invalid_argument, "a key must not be empty"};
    return in_words_of_redis(check_text({"it", key}, lease::limits::resource_bytes), "this key",
                             "; a key is the name of a resource here");
}

Result<void> check_value(std::string_view value) {
    if (plain(value, lease::limits::holder_bytes)) return {};
    if (value.empty()) return Error{Code::invalid_argument, "a value must not be empty: it says who holds the lease"};
    return in_words_of_redis(check_text({"it", value}, lease::limits::holder_bytes), "this value",
                             "; a value says who holds the lease");
}

// ---- SET ----

void set_key(RecordTransaction& desk, const SetTerms& terms) {
    const KeyView key = look(desk.record());
    if (terms.get) {
        if (key.type == KeyType::set) return tell(desk, KeyOutcome::wrong_type);
        desk.answer().text = key.value;
    }
    const bool there = key.type != KeyType::none;
    const bool unmet = terms.when == SetTerms::When::absent ? there || !desk.record().reserved.empty()
                                                            : terms.when == SetTerms::When::present && !there;
    const bool same = terms.when == SetTerms::When::absent && key.type == KeyType::lock && key.value == desk.holder();
    if (unmet) return tell(desk, same ? KeyOutcome::same_value : KeyOutcome::not_done);
    if (terms.keep_ttl && !there) {
        desk.answer().refused = Code::ttl_too_short;
        return;
    }
    tell(desk, KeyOutcome::done);
    if (!there) {
        if (desk.acquire(Predicate::mutates, terms.ttl) == Code::busy && terms.when == SetTerms::When::absent)
            tell_busy_as_not_done(desk);
        return;
    }
    desk.replace(Predicate::mutates, terms.keep_ttl ? key.expires_at - desk.now() : not_shorter(desk, terms.ttl));
}

bool had_value(const authority::SingleRecordAnswer& answer) {
    return !answer.text.empty();  // no holder is empty
}

// ---- reading and removing ----

void get_key(RecordTransaction& desk) {
    const KeyView key = look(desk.record());
    if (key.type == KeyType::none) return tell(desk, KeyOutcome::absent);
    if (key.type == KeyType::set) return tell(desk, KeyOutcome::wrong_type);
    desk.answer().text = key.value;
    tell(desk, KeyOutcome::done);
}

void remove_key(RecordTransaction& desk) {
    if (desk.record().leases.empty()) return tell(desk, KeyOutcome::absent);
    end_all(desk);
}

void get_and_remove_key(RecordTransaction& desk) {
    get_key(desk);
    if (outcome_of(desk.answer()) == KeyOutcome::done) end_all(desk);
}

void type_of_key(RecordTransaction& desk) {
    desk.answer().number = static_cast<std::int64_t>(look(desk.record()).type);
}

void time_left(RecordTransaction& desk) {
    const KeyView key = look(desk.record());
    desk.answer().number = key.type == KeyType::none ? -2 : to_ms(key.expires_at - desk.now());
}

// ---- expiry ----

void expire_key(RecordTransaction& desk, Duration ttl, ExpireWhen when) {
    const KeyView key = look(desk.record());
    if (key.type == KeyType::none) return tell(desk, KeyOutcome::absent);
    const bool later = desk.now() + ttl > key.expires_at;
    const bool deletes = ttl <= Duration::zero();
    const bool unmet = when == ExpireWhen::without_expiry || (when == ExpireWhen::later && !later) ||
                       (when == ExpireWhen::earlier && !deletes);
    if (unmet) return tell(desk, KeyOutcome::not_done);
    if (deletes) return end_all(desk);
    renew_all(desk, ttl);
}

void remove_if_equal(RecordTransaction& desk) {
    const KeyOutcome outcome = compared(desk);
    tell(desk, outcome);
    if (outcome == KeyOutcome::done) end_all(desk);
}

void expire_if_equal(RecordTransaction& desk, Duration ttl) {
    const KeyOutcome outcome = compared(desk);
    tell(desk, outcome);
    if (outcome == KeyOutcome::done) expire_key(desk, ttl, ExpireWhen::always);
}

void extend_if_equal(RecordTransaction& desk, Duration more) {
    const KeyOutcome outcome = compared(desk);
    tell(desk, outcome);
    if (outcome != KeyOutcome::done) return;
    expire_key(desk, look(desk.record()).expires_at - desk.now() + more, ExpireWhen::always);
}

void time_left_if_equal(RecordTransaction& desk) {
    const KeyOutcome outcome = compared(desk);
    tell(desk, outcome);
    if (outcome == KeyOutcome::done) desk.answer().lease = desk.record().leases.back();
}

void compare(RecordTransaction& desk) {
    tell(desk, compared(desk));
}

// ---- sets ----

void add_member(RecordTransaction& desk) {
    if (look(desk.record()).type == KeyType::lock) return tell(desk, KeyOutcome::wrong_type);
    const Duration ttl = desk.policy().of(desk.resource()).ttl_max();
    const Lease* share = share_of(desk);
    if (share == nullptr) {
        tell(desk, KeyOutcome::done);
        desk.acquire(Predicate::consumes, ttl);
    } else {
        tell(desk, KeyOutcome::not_done);
        desk.renew(share->token, ttl, share->holder);
    }
}

void remove_member(RecordTransaction& desk) {
    const KeyView key = look(desk.record());
    if (key.type == KeyType::lock) return tell(desk, KeyOutcome::wrong_type);
    tell(desk, KeyOutcome::not_done);
    while (const Lease* share = share_of(desk)) {
        desk.end(share->token, Ending::released);
        tell(desk, KeyOutcome::done);
    }
}

void is_member(RecordTransaction& desk) {
    if (look(desk.record()).type == KeyType::lock) return tell(desk, KeyOutcome::wrong_type);
    tell(desk, share_of(desk) != nullptr ? KeyOutcome::done : KeyOutcome::not_done);
}

void members(RecordTransaction& desk) {
    if (look(desk.record()).type == KeyType::lock) return tell(desk, KeyOutcome::wrong_type);
    std::vector<std::string_view> names;
    for (const Lease& lease : desk.record().leases)
        names.push_back(lease.holder);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string_view name : names)
        desk.answer().text.append(name) += '\0';
    desk.answer().number = static_cast<std::int64_t>(names.size());
}

}  // namespace holdfast::redis
