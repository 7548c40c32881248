#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "codec/resp/resp_value.h"

namespace holdfast::client::sessions {

/// This instance's heartbeat and the list of live instances, as a state machine without I/O (O1). The list is read by
/// SCAN, one page at a time, so that renewals need not wait behind a large store; then the remaining TTL of each
/// heartbeat is read. The list is read again at its interval, or when the first heartbeat is about to expire. So a dead
/// instance is noticed when its heartbeat ends, not an interval later.
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
    /// The requests to send now, in this order.
    std::vector<Request> take_due(HolderInstant now);
    /// Answers must come in the order of the requests; an error counts as no answer.
    void answer(const Request& request, const codec::resp::Value& value, HolderInstant now);
    void unanswered(HolderInstant now);

    HolderInstant next() const;
    /// Reads the list again at once.
    void refresh() { refresh_at_ = HolderInstant{}; }

    /// True once after each complete read of the list.
    bool take_news() { return std::exchange(news_, false); }
    /// True once after each read that was given up because the list exceeds the limits. The previous list stays in use.
    bool take_endless() { return std::exchange(endless_, false); }
    /// The live instances, including this one.
    const std::set<std::string>& live() const { return live_; }

 private:
    void scanned(const codec::resp::Value& value, HolderInstant now);
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
    std::vector<std::string> unmeasured_;  ///< instances whose heartbeat TTL is not known yet
    std::size_t measuring_ = 0;
    Duration shortest_{};
    std::set<std::string> live_;
    bool news_ = false;
    bool endless_ = false;
};

}  // namespace holdfast::client::sessions
