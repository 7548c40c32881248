#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "codec/resp/resp_value.h"

namespace holdfast {

/// This instance's heartbeat and the list of those who live, in steps and without I/O (O1). The list is read by SCAN, a
/// piece at a time so that renewals need not wait behind a large store, and then by how long each heartbeat has left:
/// it is read again at its interval, or when the first of them is about to run out. So a dead instance is noticed as
/// its heartbeat ends, and not an interval later.
class Membership {
 public:
    struct Rules {
        std::string instance;
        Duration heartbeat_every = 10s;
        Duration refresh_every = 10s;
    };
    Membership(Rules rules, HolderInstant origin) : rules_(std::move(rules)), heartbeat_at_(origin), origin_(origin) {}

    enum class Ask { heartbeat, scan, ttl };
    struct Request {
        Ask ask = Ask::heartbeat;
        std::string argument{};  ///< the cursor, or the instance
    };
    /// What is to be sent now, in this order.
    std::vector<Request> take_due(HolderInstant now);
    /// In the order of the requests; an error stands for no answer.
    void answer(const Request& request, const resp::Value& value, HolderInstant now);
    void unanswered(HolderInstant now);

    HolderInstant next() const;
    /// Reads the list again at once.
    void refresh() { refresh_at_ = HolderInstant{}; }

    /// True once after the list was read whole.
    bool take_news() { return std::exchange(news_, false); }
    /// Said once for each time that the list has no end, or one that is too far off. The one read before stays.
    bool take_endless() { return std::exchange(endless_, false); }
    /// This instance included.
    const std::set<std::string>& live() const { return live_; }

 private:
    void scanned(const resp::Value& value, HolderInstant now);
    void finish(HolderInstant now);
    void start_over(HolderInstant at);

    const Rules rules_;
    HolderInstant heartbeat_at_;
    const HolderInstant origin_;
    HolderInstant refresh_at_{};
    bool scanning_ = false;
    bool under_way_ = false;
    std::string cursor_{'0'};
    std::size_t pages_ = 0;
    std::set<std::string> found_;
    std::vector<std::string> unmeasured_;  ///< whose heartbeat's end is not known yet
    std::size_t measuring_ = 0;
    Duration shortest_{};
    std::set<std::string> live_;
    bool news_ = false;
    bool endless_ = false;
};

}  // namespace holdfast
