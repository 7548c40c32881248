#include "store/memory/packed_record.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/assert.h"

namespace holdfast::store::memory {
namespace {

constexpr std::size_t header_bytes = sizeof(std::uint16_t) + 1;  ///< room and flags

constexpr std::uint8_t predicate_mask = 0x07;
constexpr std::uint8_t extended = 0x06;  // instead of a predicate, which is in the second flags
constexpr std::uint8_t no_lease = 0x07;  // instead of a predicate
constexpr std::uint8_t flag_renewable = 0x08;
constexpr std::uint8_t flag_session = 0x10;
constexpr std::uint8_t flag_reason = 0x20;
constexpr std::uint8_t flag_metadata = 0x40;
constexpr std::uint8_t flag_ended = 0x80;  // has ended leases or waiters: a count follows
static_assert(lease::all_predicates.size() <= extended);

// In the byte with the count of ended leases:
constexpr std::uint8_t flag_waiters = 0x80;

// The second flags, with the predicate in the same bits:
constexpr std::uint8_t flag_resumable = 0x08;
constexpr std::uint8_t flag_priority = 0x10;
constexpr std::uint8_t flag_progress = 0x20;
constexpr std::uint8_t flag_held_since = 0x40;
constexpr std::uint8_t flag_metered = 0x80;
// If the predicate there is `extended`, it follows in a byte after the second flags, and then acquired_wall_ms.

constexpr std::size_t ms48_bytes = 6;  ///< signed milliseconds in 48 bits: 4,400 years either way
constexpr std::size_t ended_bytes = sizeof(lease::Token) + sizeof(Duration::rep) + sizeof(lease::Ending);
constexpr std::size_t lease_bytes = sizeof(Duration::rep) + sizeof(lease::Token) + sizeof(std::uint32_t) + ms48_bytes;

/// A length of up to 14 bits: one byte below 128, two above.
std::size_t length_bytes(std::string_view text) {
    return text.size() < 128 ? 1 : 2;
}
std::size_t text_bytes(std::string_view text) {
    return length_bytes(text) + text.size();
}

class Writer {
 public:
    explicit Writer(char* at) : at_(at) {}

    template <class T>
    void put(T value) {
        std::memcpy(at_, &value, sizeof(T));
        at_ += sizeof(T);
    }

    void put_ms48(std::int64_t ms) {
        std::memcpy(at_, &ms, ms48_bytes);
        at_ += ms48_bytes;
    }

    void put_length(std::size_t length) {
        HOLDFAST_ASSERT(length < 1 << 14);
        if (length < 128) return put(static_cast<std::uint8_t>(length));
        put(static_cast<std::uint8_t>(0x80 | (length & 0x7f)));
        put(static_cast<std::uint8_t>(length >> 7));
    }

    void put_text(std::string_view text) {
        put_length(text.size());
        std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
    }

    void skip(std::size_t bytes) { at_ += bytes; }

 private:
    char* at_;
};

class Reader {
 public:
    explicit Reader(const char* at) : at_(at) {}

    template <class T>
    T get() {
        T value;
        std::memcpy(&value, at_, sizeof(T));
        at_ += sizeof(T);
        return value;
    }

    Instant get_instant() { return Instant{Duration{get<Duration::rep>()}}; }

    /// Instants before the start of the clock are negative: leases restored after a reboot (S1).
    std::int64_t get_ms48() {
        std::int64_t ms = 0;
        std::memcpy(&ms, at_, ms48_bytes);
        at_ += ms48_bytes;
        constexpr int unused_bits = 8 * (sizeof ms - ms48_bytes);
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(ms) << unused_bits) >> unused_bits;
    }

    std::string_view get_text() {
        std::size_t length = get<std::uint8_t>();
        if (length >= 128) length = (length & 0x7f) | static_cast<std::size_t>(get<std::uint8_t>()) << 7;
        const std::string_view text{at_, length};
        at_ += length;
        return text;
    }

 private:
    const char* at_;
};

std::uint32_t whole_ms(Duration duration) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(to_ms(duration), 0, UINT32_MAX));
}

std::uint8_t second_flags_of(const lease::Lease& lease) {
    std::uint8_t flags = lease.resumable ? flag_resumable : 0;
    if (lease.priority) flags |= flag_priority;
    if (lease.progress) flags |= flag_progress;
    if (lease.held_since != lease.acquired_at) flags |= flag_held_since;
    if (lease.metered) flags |= flag_metered;
    return flags;
}

bool has_count(const lease::Record& record) {
    return !record.ended.empty() || !record.waiters.empty();
}

bool is_extended(const lease::Lease& lease) {
    return second_flags_of(lease) != 0 || lease.acquired_wall_ms != 0;
}

std::uint8_t flags_of(const lease::Record& record) {
    std::uint8_t flags = has_count(record) ? flag_ended : 0;
    if (record.leases.empty()) return flags | no_lease;
    const lease::Lease& lease = record.leases.front();
    flags |= is_extended(lease) ? extended : static_cast<std::uint8_t>(lease.predicate);
    if (lease.renewable) flags |= flag_renewable;
    if (!lease.session.empty()) flags |= flag_session;
    if (!lease.reason.empty()) flags |= flag_reason;
    if (!lease.metadata.empty()) flags |= flag_metadata;
    return flags;
}

std::size_t size_of(const lease::Lease& lease) {
    std::size_t size = lease_bytes + text_bytes(lease.holder);
    for (const std::string* text : {&lease.session, &lease.reason, &lease.metadata})
        if (!text->empty()) size += text_bytes(*text);
    const std::uint8_t second = second_flags_of(lease);
    if (!is_extended(lease)) return size;
    size += 1;
    if (lease.acquired_wall_ms != 0) size += 1 + ms48_bytes;
    if (lease.priority) size += sizeof *lease.priority;
    if (lease.progress) size += sizeof lease.progress->count + sizeof(Duration::rep);
    return (second & flag_held_since) != 0 ? size + sizeof(Duration::rep) : size;
}

void put_lease(Writer& out, const lease::Lease& lease) {
    out.put(lease.expires_at.time_since_epoch().count());
    out.put(lease.token);
    out.put(whole_ms(lease.ttl));
    out.put_ms48(to_ms(lease.acquired_at.time_since_epoch()));
    out.put_text(lease.holder);
    if (!lease.session.empty()) out.put_text(lease.session);
    if (!lease.reason.empty()) out.put_text(lease.reason);
    if (!lease.metadata.empty()) out.put_text(lease.metadata);
    const std::uint8_t second = second_flags_of(lease);
    if (!is_extended(lease)) return;
    const auto predicate = static_cast<std::uint8_t>(lease.predicate);
    const bool dated = lease.acquired_wall_ms != 0;
    out.put(static_cast<std::uint8_t>(second | (dated ? extended : predicate)));
    if (dated) out.put(predicate);
    if (dated) out.put_ms48(lease.acquired_wall_ms);
    if (lease.priority) out.put(*lease.priority);
    if (lease.progress) out.put(lease.progress->count);
    if (lease.progress) out.put(lease.progress->since.time_since_epoch().count());
    if ((second & flag_held_since) != 0) out.put(lease.held_since.time_since_epoch().count());
}

void get_extension(Reader& reader, lease::Lease& lease) {
    const auto flags = reader.get<std::uint8_t>();
    const bool dated = (flags & predicate_mask) == extended;
    lease.predicate = static_cast<lease::Predicate>(dated ? reader.get<std::uint8_t>() : flags & predicate_mask);
    if (dated) lease.acquired_wall_ms = reader.get_ms48();
    lease.resumable = (flags & flag_resumable) != 0;
    lease.metered = (flags & flag_metered) != 0;
    if ((flags & flag_priority) != 0) lease.priority = reader.get<lease::Priority>();
    if ((flags & flag_progress) != 0) {
        const auto count = reader.get<std::uint64_t>();
        lease.progress = lease::Progress{count, reader.get_instant()};
    }
    if ((flags & flag_held_since) != 0) lease.held_since = reader.get_instant();
}

void get_lease(Reader& reader, std::uint8_t flags, lease::Lease& lease) {
    lease.renewable = (flags & flag_renewable) != 0;
    lease.expires_at = reader.get_instant();
    lease.token = reader.get<lease::Token>();
    lease.ttl = std::chrono::milliseconds{reader.get<std::uint32_t>()};
    lease.acquired_at = Instant{std::chrono::milliseconds{reader.get_ms48()}};
    lease.held_since = lease.acquired_at;
    lease.acquired_wall_ms = 0;
    lease.resumable = false;
    lease.metered = false;
    lease.priority.reset();
    lease.progress.reset();
    lease.holder = reader.get_text();
    const auto get_if = [&](std::uint8_t flag, std::string& text) {
        text.clear();
        if ((flags & flag) != 0) text = reader.get_text();
    };
    get_if(flag_session, lease.session);
    get_if(flag_reason, lease.reason);
    get_if(flag_metadata, lease.metadata);
    const std::uint8_t predicate = flags & predicate_mask;
    if (predicate == extended)
        get_extension(reader, lease);
    else
        lease.predicate = static_cast<lease::Predicate>(predicate);
}

constexpr std::uint8_t waiter_is_agent = 0x08;  // beside its predicate

std::size_t size_of(const std::vector<lease::Waiter>& waiters) {
    std::size_t size = 1;
    for (const lease::Waiter& waiter : waiters)
        size += sizeof waiter.id + sizeof waiter.priority + 1 + sizeof(Duration::rep) + text_bytes(waiter.holder) +
                text_bytes(waiter.session);
    return size;
}

void put_waiters(Writer& out, const std::vector<lease::Waiter>& waiters) {
    out.put(static_cast<std::uint8_t>(waiters.size()));
    for (const lease::Waiter& waiter : waiters) {
        out.put(waiter.id);
        out.put(waiter.priority);
        out.put(static_cast<std::uint8_t>(static_cast<std::uint8_t>(waiter.predicate) |
                                          (waiter.agent ? waiter_is_agent : 0)));
        out.put(waiter.until.time_since_epoch().count());
        out.put_text(waiter.holder);
        out.put_text(waiter.session);
    }
}

void get_waiters(Reader& reader, std::vector<lease::Waiter>& waiters) {
    waiters.resize(reader.get<std::uint8_t>());
    for (lease::Waiter& waiter : waiters) {
        waiter.id = reader.get<std::uint64_t>();
        waiter.priority = reader.get<lease::Priority>();
        const auto flags = reader.get<std::uint8_t>();
        waiter.predicate = static_cast<lease::Predicate>(flags & predicate_mask);
        waiter.agent = (flags & waiter_is_agent) != 0;
        waiter.until = reader.get_instant();
        waiter.holder = reader.get_text();
        waiter.session = reader.get_text();
    }
}

}  // namespace

/// last_token is not stored: it must be the token of a lease in the record, active or ended.
bool PackedRecord::can_pack_queue(const lease::Record& record) {
    return record.waiters.size() <= max_waiters &&
           (record.last_token == 0 || record.find(record.last_token) != nullptr ||
            record.find_ended(record.last_token) != nullptr);
}

std::size_t PackedRecord::size_of(std::string_view resource, const lease::Record& record) {
    std::size_t size = header_bytes + text_bytes(resource);
    if (!record.leases.empty()) size += memory::size_of(record.leases.front());
    if (!has_count(record)) return size;
    size += 1 + ended_bytes * record.ended.size();
    return record.waiters.empty() ? size : size + memory::size_of(record.waiters);
}

void PackedRecord::pack(std::string_view resource, const lease::Record& record, std::span<char> out) {
    HOLDFAST_ASSERT(can_pack(record) && record.ended.size() < flag_waiters && out.size() <= UINT16_MAX);
    const bool counted = has_count(record);
    // First, because the name may lie in the buffer that is written.
    std::memmove(out.data() + header_bytes + (counted ? 1 : 0) + length_bytes(resource), resource.data(),
                 resource.size());
    Writer writer{out.data()};
    writer.put(static_cast<std::uint16_t>(out.size()));
    writer.put(flags_of(record));
    if (counted)
        writer.put(static_cast<std::uint8_t>(record.ended.size() | (record.waiters.empty() ? 0U : flag_waiters)));
    writer.put_length(resource.size());
    writer.skip(resource.size());
    if (!record.leases.empty()) put_lease(writer, record.leases.front());
    for (const lease::EndedLease& ended : record.ended) {
        writer.put(ended.token);
        writer.put(ended.at.time_since_epoch().count());
        writer.put(ended.how);
    }
    if (!record.waiters.empty()) put_waiters(writer, record.waiters);
}

std::size_t PackedRecord::room() const {
    return Reader{bytes_}.get<std::uint16_t>();
}

std::string_view PackedRecord::resource() const {
    Reader reader{bytes_ + 2};
    if ((reader.get<std::uint8_t>() & flag_ended) != 0) reader.get<std::uint8_t>();
    return reader.get_text();
}

bool PackedRecord::has_lease() const {
    return (Reader{bytes_ + 2}.get<std::uint8_t>() & predicate_mask) != no_lease;
}

std::string_view PackedRecord::holder() const {
    const std::string_view name = resource();
    Reader reader{name.data() + name.size() + lease_bytes};
    return reader.get_text();
}

void PackedRecord::unpack(lease::Record& out) const {
    Reader reader{bytes_ + 2};
    const auto flags = reader.get<std::uint8_t>();
    const std::uint8_t counted = (flags & flag_ended) != 0 ? reader.get<std::uint8_t>() : std::uint8_t{0};
    const std::size_t ended = counted & static_cast<std::uint8_t>(~flag_waiters);
    reader.get_text();
    out.waiters.clear();
    out.reserved.clear();
    out.past.clear();
    out.last_token = 0;
    const bool had = !out.leases.empty();
    const bool has = (flags & predicate_mask) != no_lease;
    if (had && !has) out.spare.swap(out.leases.front().holder);
    out.leases.resize(has ? 1 : 0);
    if (!had && has) out.leases.front().holder.swap(out.spare);
    for (lease::Lease& lease : out.leases) {
        get_lease(reader, flags, lease);
        out.last_token = lease.token;
    }
    out.ended.resize(ended);
    for (lease::EndedLease& entry : out.ended) {
        entry.token = reader.get<lease::Token>();
        entry.at = reader.get_instant();
        entry.how = reader.get<lease::Ending>();
        out.last_token = std::max(out.last_token, entry.token);
    }
    if ((counted & flag_waiters) != 0) get_waiters(reader, out.waiters);
}

}  // namespace holdfast::store::memory
