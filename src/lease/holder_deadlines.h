#pragma once

#include "base/time.h"
#include "lease/timeline.h"

namespace holdfast::lease {

/// An answer that granted or renewed a lease.
struct TimedAnswer {
    HolderInstant sent_at{};     ///< when the transmission that it answers was sent
    HolderInstant arrived_at{};  ///< when it arrived
    Timeline timeline{};
    Duration ttl{};
    Duration waited{};  ///< how long that transmission waited for its turn (`waited_ms`)
};

/// Until when a holder may believe in its lease, and when to renew it: rule T3, for every kind of holder.
///
/// It reads no clock: the caller passes the time of a clock that counts suspend. renew < soft < hard < end, unless the
/// lease was over before it began. An answer moves the deadlines, a failure moves only the next attempt, and from the
/// end on nothing moves anything: what is over stays over.
class HolderDeadlines {
 public:
    /// Of no lease: over.
    HolderDeadlines() = default;
    /// Counts from the moment the transmission was *sent*, plus its wait, no matter when the answer arrived. If the TTL
    /// is so short that the margin cuts into the timeline, the other deadlines shrink in proportion.
    explicit HolderDeadlines(const TimedAnswer& answer);

    /// Deadlines that a message states as instants of this holder's clock (T4). One that is later than its successor is
    /// cut to it.
    struct Stated {
        HolderInstant renew;
        HolderInstant soft;
        HolderInstant hard;
        HolderInstant end;
    };
    explicit HolderDeadlines(const Stated& stated);

    /// The earlier of each: of several leases that are held together (G1).
    HolderDeadlines earlier_of(const HolderDeadlines& other) const;

    HolderInstant renew_at() const { return renew_; }
    HolderInstant soft() const { return soft_; }
    HolderInstant hard() const { return hard_; }
    HolderInstant end() const { return end_; }  ///< from here on the lease is not held
    bool held(HolderInstant now) const { return now < end_; }

    /// The lease was renewed. Returns false if that comes too late: the lease is over, and stays so.
    [[nodiscard]] bool on_answer(const HolderDeadlines& renewed, HolderInstant now);
    /// A renewal failed: the next one is due at `retry_at`.
    void on_failure(HolderInstant retry_at) { renew_ = retry_at; }
    /// Something is to be learned by a renewal now.
    void renew_at_once(HolderInstant now) { renew_ = now; }
    /// Renews sooner by this part of the time from `from`, so that holders that began together do not renew together.
    void hasten(double part, HolderInstant from);

    bool operator==(const HolderDeadlines&) const = default;

 private:
    HolderInstant renew_{};
    HolderInstant soft_{};
    HolderInstant hard_{};
    HolderInstant end_{};
};

}  // namespace holdfast::lease
