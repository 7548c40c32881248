#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/callback.h"
#include "base/result.h"
#include "base/time.h"

namespace holdfast::store::cas {

/// Identifies one write among all fronts, all their starts and all histories of an engine. None is used twice, so a
/// compare-and-swap never takes a write of another history for the one that was decided on
/// (docs/decisions/0013-engines-that-forget.md). 0: nothing was ever written, or it is gone.
struct WriteId {
    static constexpr std::size_t size = 16;

    constexpr WriteId() = default;
    constexpr WriteId(std::uint64_t number) : count(number) {}
    constexpr WriteId(std::uint64_t start_id, std::uint64_t number) : start(start_id), count(number) {}

    auto operator<=>(const WriteId&) const = default;
    WriteId& operator++() {
        ++count;
        return *this;
    }

    /// `size` bytes, in the order of the ids.
    std::string bytes() const {
        std::string out(size, '\0');
        for (std::size_t i = 0; i < size; ++i)
            out[i] = static_cast<char>((i < 8 ? start : count) >> (56 - 8 * (i % 8)) & 0xff);
        return out;
    }
    /// REQUIRES: `size` bytes.
    static WriteId from_bytes(std::string_view bytes) {
        HOLDFAST_ASSERT(bytes.size() == size);
        WriteId write;
        for (std::size_t i = 0; i < size; ++i) {
            std::uint64_t& half = i < 8 ? write.start : write.count;
            half = half << 8 | static_cast<unsigned char>(bytes[i]);
        }
        return write;
    }

    std::uint64_t start = 0;  ///< random for each start of a front
    std::uint64_t count = 0;  ///< counts up from a random number
};

/// The stored data was written by an older version, whose fronts use other tokens and write ids: the two must not share
/// an engine. Waiting does not help.
inline Error other_format(const std::string& where) {
    return {Code::store_format,
            where +
                ": it was written by an older version of Holdfast; stop all servers of that version, and give this "
                "one another prefix, or delete everything under this one (docs/stores.md)"};
}

/// The clock of an engine. A type of its own, so that no moment on it is ever compared with one of this machine (T1).
struct EngineClock {
    using duration = Duration;
    using rep = Duration::rep;
    using period = Duration::period;
    using time_point = std::chrono::time_point<EngineClock, Duration>;
    static constexpr bool is_steady = false;
};
using EngineTime = EngineClock::time_point;

/// The value that an engine keeps under one name.
struct StoredValue {
    WriteId write = 0;
    EngineTime written_at;  ///< the origin of the times in the bytes
    std::string bytes;
};

/// The two kinds of values: records of resources, which end by themselves, and documents, which do not (the policy,
/// agents, the token ceiling …).
enum class Kind : std::uint8_t { record, document };

/// An engine's position in its own history, as it reports it: etcd's revision, PostgreSQL's place in its write-ahead
/// log, a counter that a script raises in Redis (docs/decisions/0013-engines-that-forget.md). 0: not known.
///
/// In the answer to a successful swap it is a position that the engine keeps as safely as that write; from then on it
/// is required of the engine. In other answers it may be beyond what the engine would keep, and is only compared.
using Position = std::uint64_t;

/// The answer to a read, with the engine's time at which it was true (T1).
struct Reading {
    StoredValue value;
    EngineTime now;
    std::int64_t wall_ms = 0;  ///< since 1970, by the engine's own clock; 0 if it has none
    Position position = 0;
};
struct NamedValue {
    std::string name;
    StoredValue value;
};
struct FoundRecords {
    std::vector<NamedValue> entries;
    EngineTime now;
    bool cut = false;  ///< more exist than were asked for
};
struct Page {
    std::vector<NamedValue> entries;
    EngineTime now;
    std::string next;  ///< where the next page begins; empty at the end
};

/// The record that stands for the history that an engine is in (docs/decisions/0013-engines-that-forget.md): of its
/// write, `start` is the incarnation and `count` the counter. No resource has this name.
inline constexpr std::string_view marker_name = "\1marker";

/// True if the marker is the one that was seen, or later.
constexpr bool stands(WriteId marker, WriteId seen) {
    return marker.start == seen.start && marker.count >= seen.count;
}

/// A conditional write: it takes effect only on the value that it was decided on, and only at a time for which that
/// decision holds. The text need not outlive the call.
///
/// The error is Code::store_lost if it met another marker or an older position than required. The stored value does not
/// count then, and nothing was written, unless the engine reports its position only afterwards: then the write has
/// raised it.
struct Swap {
    Kind kind = Kind::record;
    std::string_view name;
    WriteId expected = 0;  ///< the write that must be current; 0 if there must be none
    WriteId becomes = 0;   ///< this write
    /// The engine's time must be in [from, until): before it, a lease that was taken as ended would still be active;
    /// after it, a lease that was taken as active would have ended (T2).
    EngineTime from = EngineTime::min();
    EngineTime until = EngineTime::max();
    EngineTime written_at;
    std::string_view bytes;                     ///< empty to delete the value
    EngineTime keep_until = EngineTime::max();  ///< for a record: from then on it may be deleted
    EngineTime due = EngineTime::max();         ///< for a record: when overdue() should return it
    /// For a record: the holders of its leases and reservations, in order, each once.
    std::span<const std::string_view> holders;
    /// For a record: these three as given with the expected value, so that an engine changes only what differs in its
    /// indices.
    struct Replaced {
        EngineTime keep_until = EngineTime::max();
        EngineTime due = EngineTime::max();
        std::span<const std::string_view> holders;
    };
    Replaced replaced;
    std::string_view notice;          ///< sent to all fronts if the swap takes effect; empty for none
    bool notice_must_arrive = false;  ///< at all listeners, even if this front dies now
    /// The marker must be this or later, also for the value shown on failure; else error `store_lost`. 0: any.
    WriteId marker;
    /// The engine's position must be this or later; else error `store_lost`. 0: any.
    Position position = 0;
};
struct Swapped {
    bool done = false;
    EngineTime now;
    StoredValue found;  ///< the current value if not done; only `write` if that is as expected (then the time was not)
    Position position = 0;
};

/// An engine's report that it is reachable.
struct EngineHello {
    /// Changes whenever another server may have taken over, or this one was restarted in a way that may have lost
    /// answered writes: etcd's cluster; PostgreSQL's system identifier and timeline; Redis's run and replication ids.
    std::string history;
    Position position = 0;
    /// The engine is not where it was when it was last reachable, though no swap may have required that of it.
    bool lost = false;
};

/// Notifications from an engine. Called from the loop, never from within a call to the engine.
class EngineListener {
 public:
    virtual ~EngineListener() = default;

    /// Also called after each outage, during which notices may have been missed.
    virtual void on_reachable(const EngineHello& hello) = 0;
    /// Called again whenever the reason changes.
    virtual void on_unreachable(const Error& why) = 0;
    /// A notice of any front, this one included. Notices may be lost, duplicated and late.
    virtual void on_notice(std::string_view notice) = 0;
};

/// A database that is shared with other fronts, reduced to what a store needs: a compare-and-swap on one name, some
/// kinds of reads, and notices to all fronts. Knows nothing of leases.
///
/// Nothing blocks. Calls made in one turn of the loop travel together, and their answers come in later turns, in any
/// order. Error `store_unavailable`: the engine cannot be reached (then at once), or did not answer in time. A swap
/// with this error may have taken effect, or may still do so within `swap_lingers` of the call.
class Engine {
 public:
    virtual ~Engine() = default;

    /// The limit of a notice; a longer one must be shortened.
    static constexpr std::size_t notice_bytes = 5000;

    virtual void fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) = 0;
    virtual void swap(const Swap& swap, Callback<Result<Swapped>> reply) = 0;

    // Reads of several records. Each record is as it was at some moment between the call and the answer; writes before
    // the call are seen. Records past `keep_until` may be included.

    /// The records that overlap with this `FILE:` resource (lease/resource.h), at most `most` of them.
    virtual void overlapping(std::string_view resource, std::size_t most, Callback<Result<FoundRecords>> reply) = 0;
    /// The records that were written with this holder. May return others besides.
    virtual void of_holder(std::string_view holder, std::size_t most, Callback<Result<FoundRecords>> reply) = 0;
    /// The values whose names begin with `prefix`, a bounded number: a page may be short, or empty, and still have a
    /// next one. A value that exists throughout is returned at least once.
    virtual void scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
                      Callback<Result<Page>> reply) = 0;
    /// The names of records that were due some seconds ago and have not been written since: the front that should have
    /// written them may be gone. Need not return a name to the same front each time.
    virtual void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) = 0;

    /// The largest difference in rate of the clocks that measure time (Q7); zero where the engine has the only one.
    virtual double rho() const { return 0; }
    /// How long after its call an unanswered swap may still take effect.
    virtual Duration swap_lingers() const = 0;

    virtual void start(EngineListener& listener) = 0;
    /// Answers all calls under way with the error. The listener is not called any more.
    virtual void stop() = 0;

    /// The answer to GET /v1/store: a JSON object for operators.
    virtual std::string status() const = 0;
};

}  // namespace holdfast::store::cas
