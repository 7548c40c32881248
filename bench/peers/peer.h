#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::bench {

/// CLOCK_MONOTONIC: all processes of a machine read the same one.
using SteadyClock = std::chrono::steady_clock;
using Moment = SteadyClock::time_point;
using Milliseconds = std::chrono::milliseconds;

/// A server that has not answered by then will not: the order fails.
inline constexpr std::chrono::seconds answer_limit{30};

/// Who asks whom: one process is one holder.
struct PeerSetting {
    std::string holder;
    std::vector<std::uint16_t> ports;  ///< of the nodes of one service, on loopback; at least one
};

/// What the server gives that uses it in this way. They stand beside its figures.
struct Promises {
    bool durable = false;        ///< a grant that was answered survives the death of all servers, by the disk
    bool replicated = false;     ///< … and of a minority of them, without a gap that people must end
    bool token = false;          ///< a grant carries a number that rises from holder to holder (G3)
    std::string local_deadline;  ///< by what `held` knows that it is over; empty: it does not know by itself
};

/// A question to the server: when it was about to be sent, and when its answer was read. Of a question that was asked
/// again, at another node say, those of the one that was answered.
struct Exchange {
    Moment asked;
    Moment answered;
};

struct Granting : Exchange {
    bool granted = false;
    std::optional<std::uint64_t> token;
    std::string why;  ///< it was not granted
};

struct Doing : Exchange {
    bool done = false;
    std::string why;  ///< it was not done, if the server says so
};

struct Showing : Exchange {
    std::optional<std::string> holder;  ///< as PeerSetting has it; none: the lease is free
};

/// Leases `first` … `first + count - 1` of a numbered set.
struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

/// How renewals go fastest: so many leases by one request, or by requests sent together, and so many of those under way
/// at once. Where one request renews all that the holder has, `leases` is 0.
struct Batching {
    std::uint32_t leases = 1000;
    std::uint32_t under_way = 1;
};

/// A lease whose end is watched. It is asked for with `ttl`; a server that knows only whole seconds, say, is asked for
/// the next longer time that it knows, and that is then in `ttl`.
struct Ending : Exchange {
    Milliseconds ttl{0};
};

/// A lease of the watched set that was seen to have ended.
struct SeenEnd {
    std::uint32_t number = 0;
    Moment at;
};

/// The names of the two numbered sets.
inline std::string fill_name(std::uint32_t number) {
    return "fill-" + std::to_string(number);
}
inline std::string end_name(std::uint32_t number) {
    return "end-" + std::to_string(number);
}

/// A holder that talks to one kind of server, as a competent user of that server would write it. Used by one thread.
/// Nothing waits longer than `answer_limit` for a server that does not answer. What cannot be carried out throws
/// std::runtime_error, with a sentence that says why, and the peer stays usable: it connects again when it must.
///
/// Each kind has a function in its header that makes one: `std::unique_ptr<Peer> redis_peer(PeerSetting setting)`, in
/// redis_peer.h, and so on. It may connect at once and throw, too.
class Peer {
 public:
    virtual ~Peer() = default;

    virtual Promises promises() = 0;

    // One lease by its name. The peer knows the last grant of each name, with its TTL, until drop().

    /// Asks once. Names that it holds already are asked for all the same.
    virtual Granting acquire(const std::string& name, Milliseconds ttl) = 0;
    /// Waits for a turn as the server lets one wait; not granted when `within` is over.
    virtual Granting await(const std::string& name, Milliseconds ttl, Milliseconds within) = 0;
    /// For the TTL of the grant. Sends what belongs to the last grant of that name, also if its time is over by now:
    /// the server is to compare; if it refuses, the lease is not held. Throws if there never was one.
    virtual Doing renew(const std::string& name) = 0;
    /// In the same way. The grant is known also after this, so that it can be released again.
    virtual Doing release(const std::string& name) = 0;
    /// What is known here, without asking anybody.
    virtual bool held(const std::string& name) = 0;
    virtual Showing owner(const std::string& name) = 0;

    // Many at once.

    /// Acquires fill_name() of the range, which is not held, in the way that is fastest. Throws if one is not granted.
    virtual void fill(Range range, Milliseconds ttl) = 0;
    virtual Batching batching() = 0;
    /// Sends the renewals of a range that was filled, `batching().leases` at most, or all if that is 0. May as well do
    /// nothing yet. Ranges are finished in the order in which they began.
    virtual void begin_renewals(Range range) = 0;
    /// Waits for their answers, and throws if one of the leases was not renewed; then nothing is under way any more.
    virtual void finish_renewals(Range range) = 0;

    // Watching leases end.

    /// To be called before the first is acquired. Forgets an earlier set. Says in a few words how it learns of the
    /// ends: by events, by asking over and over.
    virtual std::string watch_ends() = 0;
    /// The most that acquire_ending() takes at once.
    virtual std::uint32_t ending_batch() { return 100; }
    /// Acquires end_name(first), end_name(first + 1), …, with the TTL of each, and writes down when it was asked and
    /// answered. Throws if one is not granted.
    virtual void acquire_ending(std::uint32_t first, std::span<Ending> leases) = 0;
    /// Adds what has been seen to end: returns as soon as there is anything new, or at `until`. It may be over already:
    /// then it only looks what is there. Called often, so that what comes is read at once.
    virtual void see_ends(Moment until, std::vector<SeenEnd>& seen) = 0;

    // Knowing by oneself.

    /// Asks itself `count` times, as `held` does, whether fill-0 is held, without looking for it by its name each time.
    /// How often it was.
    virtual std::uint64_t check_locally(std::uint64_t count) = 0;

    /// Forgets everything and loses its connections without a word, as a process that dies. The next order begins
    /// afresh.
    virtual void drop() = 0;
};

}  // namespace holdfast::bench
