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

namespace holdfast::core {

/// Names one write among those of all fronts, of all their starts and of all histories of an engine: none is used
/// twice, so a compare-and-set never takes a write of another history for the one that was decided on
/// (docs/decisions/0013-engines-that-forget.md). 0: nothing was ever written, or what was is gone.
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
    /// REQUIRES: as many bytes.
    static WriteId from_bytes(std::string_view bytes) {
        HOLDFAST_ASSERT(bytes.size() == size);
        WriteId write;
        for (std::size_t i = 0; i < size; ++i) {
            std::uint64_t& half = i < 8 ? write.start : write.count;
            half = half << 8 | static_cast<unsigned char>(bytes[i]);
        }
        return write;
    }

    std::uint64_t start = 0;  ///< random, of one start of a front
    std::uint64_t count = 0;  ///< from a random number on
};

/// What is there was written by an older version, whose fronts give other tokens and have other write ids: the two must
/// not share an engine. Waiting does not help.
inline Error other_format(const std::string& where) {
    return {"store_format",
            where +
                ": it was written by an older version of Holdfast; stop all servers of that version, and "
                "give this one another prefix, or delete what is under this one (docs/stores.md)"};
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

/// What an engine keeps under one name.
struct Kept {
    WriteId write = 0;
    EngineTime written_at;  ///< what the times in the bytes count from
    std::string bytes;
};

/// One of the two kinds of things that are kept: the records of resources, which come to an end by themselves, and
/// documents, which do not (the policy, agents, the ceiling of tokens …).
enum class Kind : std::uint8_t { record, document };

/// How far an engine says that it has come in its own history: etcd's revision, PostgreSQL's place in its write-ahead
/// log, a counter that a script raises in Redis (docs/decisions/0013-engines-that-forget.md). 0: not known.
///
/// In the answer to a swap that was done it is a position that the engine keeps as safely as that write; from then on
/// it is required of the engine. In other answers it may be beyond what the engine would keep, and is only compared.
using Position = std::uint64_t;

/// The answer to a look, with the engine's time at which it was true (T1).
struct Reading {
    Kept kept;
    EngineTime now;
    std::int64_t wall_ms = 0;  ///< since 1970, by the engine's own clock; 0: it has none
    Position position = 0;
};
struct NamedKept {
    std::string name;
    Kept kept;
};
struct Sight {
    std::vector<NamedKept> entries;
    EngineTime now;
    bool cut = false;  ///< there is more than was asked for
};
struct Page {
    std::vector<NamedKept> entries;
    EngineTime now;
    std::string next;  ///< where the next page begins; empty at the end
};

/// The record that stands for the history that an engine is in (docs/decisions/0013-engines-that-forget.md): of its
/// write, `start` is the incarnation and `count` the counter. No resource has this name.
inline constexpr std::string_view marker_name = "\1marker";

/// True if the marker is still what was seen, or further on.
constexpr bool stands(WriteId marker, WriteId seen) {
    return marker.start == seen.start && marker.count >= seen.count;
}

/// The answer to a swap that met another marker or an older position than it must: nothing that is there counts, and
/// nothing was written, unless the engine says its position only afterwards: then the write has raised it.
inline constexpr std::string_view store_lost = "store_lost";

/// A write that takes effect only on what it was decided on, and only at a time for which that decision holds. The text
/// need not outlive the call.
struct Swap {
    Kind kind = Kind::record;
    std::string_view name;
    WriteId expected = 0;  ///< what must be there; 0: nothing
    WriteId becomes = 0;   ///< this write
    /// The engine's time must be in [from, until): before, somebody's lease that was taken for over would not be; from
    /// then on, one that was taken for active would be over (T2).
    EngineTime from = EngineTime::min();
    EngineTime until = EngineTime::max();
    EngineTime written_at;
    std::string_view bytes;                     ///< empty: there is nothing left to keep
    EngineTime keep_until = EngineTime::max();  ///< of a record: from then on it may be forgotten
    EngineTime due = EngineTime::max();         ///< of a record: when overdue() should name it
    std::span<const std::string_view> holders;  ///< of a record: whose leases and reservations are in it
    std::string_view notice;                    ///< told to all fronts if it takes effect; empty: nothing
    bool notice_must_arrive = false;            ///< at whoever listens, even if this front dies now
    /// The marker, which must be there or further on, also for what is shown instead; else error `store_lost`. 0: any.
    WriteId marker;
    /// The engine's position must be this or further on, likewise. 0: any.
    Position position = 0;
};
struct Swapped {
    bool done = false;
    EngineTime now;
    Kept found;  ///< what is there instead, if it was not done; only `write` if that is as expected (the time was not)
    Position position = 0;
};

/// How an engine says that it is there.
struct EngineHello {
    /// Changes whenever another server may have taken over, or this one was restarted in a way that may have lost what
    /// it had answered: etcd's cluster; PostgreSQL's system identifier and timeline; Redis's run and replication ids.
    std::string history;
    Position position = 0;
    /// It is not where it was when it could be reached before, though nobody may have required that of it in a swap.
    bool lost = false;
};

/// What an engine tells of its own accord. Called from the loop, never from within a call to the engine.
class EngineListener {
 public:
    virtual ~EngineListener() = default;

    /// Also after each time that it could not be reached, and notices may have been missed meanwhile.
    virtual void on_reachable(const EngineHello& hello) = 0;
    /// Again whenever it cannot be reached for another reason than before.
    virtual void on_unreachable(const Error& why) = 0;
    /// A notice of any front, this one included. Notices may be lost, doubled and late.
    virtual void on_notice(std::string_view notice) = 0;
};

/// A database that other fronts use at the same time, reduced to what a store needs of it: one compare-and-set on one
/// name, some ways of looking, and a way to tell all fronts something. Knows nothing of leases.
///
/// Nothing blocks. Calls that are made in one turn of the loop travel together, and their answers come in later turns,
/// in any order. Error `store_unavailable`: the engine cannot be reached (then at once), or did not answer in time; if
/// that was a swap, it may have taken effect or still do so, within `swap_lingers` of the call.
class Engine {
 public:
    virtual ~Engine() = default;

    /// Where a notice is longer than this, only a shorter one can be sent.
    static constexpr std::size_t notice_bytes = 5000;

    virtual void fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) = 0;
    virtual void swap(const Swap& swap, Callback<Result<Swapped>> reply) = 0;

    // Looks at several records at once. Each is as it was at some moment between the call and the answer; what was
    // written before the call is seen. Records that are past `keep_until` may be among them.

    /// Those that overlap with this `FILE:` resource (lease/resource.h), at most `most` of them.
    virtual void overlapping(std::string_view resource, std::size_t most, Callback<Result<Sight>> reply) = 0;
    /// Those that were written with this holder. May show others besides.
    virtual void of_holder(std::string_view holder, std::size_t most, Callback<Result<Sight>> reply) = 0;
    /// Those whose names begin like this, a bounded number of them: a page may be short, or empty, and still have a
    /// next one. What is there throughout is shown at least once.
    virtual void scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
                      Callback<Result<Page>> reply) = 0;
    /// The names of records that were due some seconds ago and that nobody has written since: whoever should have done
    /// so may be gone. Not each time the same front need be told.
    virtual void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) = 0;

    /// How far the clocks that time is measured with may differ in rate (Q7); zero where the engine has the only one.
    virtual double rho() const { return 0; }
    /// How long after its call a swap that was not answered may still take effect.
    virtual Duration swap_lingers() const = 0;

    virtual void start(EngineListener& listener) = 0;
    /// Whatever is under way is answered with the error; nothing is told any more.
    virtual void stop() = 0;

    /// The answer to GET /v1/store: a JSON object with what people should know of it.
    virtual std::string status() const = 0;
};

}  // namespace holdfast::core
