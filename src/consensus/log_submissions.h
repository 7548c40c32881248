#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "consensus/log_messages.h"

namespace holdfast::core {

/// Entries that somebody waits for, from the asking to the answer: those of this node and, if it leads, those that
/// other nodes sent it. Each has one answer, at the latest when its time is up. All have the same time, so the oldest
/// is the first in each list.
class LogSubmissions {
 public:
    using Done = Callback<Result<LogIndex>>;
    /// Who is told: this node, by a callback, or another, by the number it gave.
    struct Asker {
        Done done;
        NodeIndex node = 0;
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
        bool certainly_not = false;  ///< after an error: it will never be appended either
    };

    explicit LogSubmissions(std::uint64_t first_number) : next_number_(first_number) {}

    /// Nothing if one more of this size may wait, else why not.
    std::optional<Error> refusal(std::size_t bytes) const;

    /// Waits to be appended here.
    void queue(Waiting waiting);
    bool has_queued() const { return !queued_.empty(); }
    const std::string& first_queued() const { return queued_.front().value; }
    /// The first in the queue is at this place in the log. Returns its value.
    std::string place(LogIndex index);

    /// Goes to the leader under the number returned.
    std::uint64_t forward(Waiting waiting);
    void forwarded_is_at(std::uint64_t number, LogIndex index);

    void applied_to(LogIndex index);
    void give_up(Instant now);
    /// This node does not lead any more: what is in the log may still be chosen, what is queued will not be.
    void lost_leadership();
    /// So many disks have refused that nothing that was placed here can be chosen.
    void disk_failed(const Error& why);
    /// Likewise of what was placed by the leader, which has said so.
    void disks_fail_elsewhere();
    Instant due() const;

    /// What is to be said, in order.
    std::optional<Answer> take_answer();

 private:
    struct Forwarded {
        Waiting waiting;
        LogIndex index = 0;  ///< once the leader told
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

/// What a leader says whose own disk is well.
Error disks_of_others_fail();

}  // namespace holdfast::core
