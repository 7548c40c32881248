#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "consensus/log_messages.h"

namespace holdfast::consensus {

/// Submitted entries that wait for an answer: those of this node and, if it leads, those that other nodes sent to it.
/// Each is answered once, at the latest at its deadline. All have the same timeout, so the oldest is the first in each
/// list.
class LogSubmissions {
 public:
    using Done = Callback<Result<LogIndex>>;
    /// The recipient of the answer: this node, by a callback, or another, by the number it gave.
    struct Asker {
        Done done;
        store::quorum::NodeIndex node = 0;
        std::uint64_t number = 0;
    };
    struct Waiting {
        Asker asker;
        Instant give_up_at;
        std::string value;
    };
    struct Answer {
        Asker asker;
        Result<LogIndex> outcome;
        bool certainly_not = false;  ///< on an error: it will never be appended
    };

    explicit LogSubmissions(std::uint64_t first_number) : next_number_(first_number) {}

    /// Succeeds if one more of this size may wait.
    Result<void> check_room(std::size_t bytes) const;

    /// Queues an entry to be appended here.
    void queue(Waiting waiting);
    bool has_queued() const { return !queued_.empty(); }
    const std::string& first_queued() const { return queued_.front().value; }
    /// The first queued entry has been given this index. Returns its value.
    std::string place(LogIndex index);

    /// Records an entry that is sent to the leader. Returns its number.
    std::uint64_t forward(Waiting waiting);
    void forwarded_is_at(std::uint64_t number, LogIndex index);

    void applied_to(LogIndex index);
    void give_up(Instant now);
    /// This node no longer leads: its entries in the log may still be chosen, its queued ones will not be.
    void lost_leadership();
    /// Too many disks fail for the entries placed here to be chosen now. They may be once the disks recover.
    void disk_failed(const Error& why);
    /// The leader has reported the same for the entries placed by it.
    void disks_fail_elsewhere();
    Instant due() const;

    /// The next answer to deliver, in order.
    std::optional<Answer> take_answer();

 private:
    struct Forwarded {
        Waiting waiting;
        LogIndex index = 0;  ///< once the leader has reported it
    };

    void answer(Asker asker, Result<LogIndex> outcome, bool certainly_not = false);
    void forget_bytes(const Waiting& waiting) { bytes_ -= waiting.value.size(); }

    std::uint64_t next_number_;
    std::size_t bytes_ = 0;  ///< queued
    std::deque<Waiting> queued_;
    std::map<LogIndex, Waiting> placed_;
    std::map<std::uint64_t, Forwarded> forwarded_;
    std::deque<Answer> answers_;
};

/// The error of a leader whose own disk works.
Error disks_of_others_fail();

}  // namespace holdfast::consensus
