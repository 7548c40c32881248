#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "client/keeper.h"
#include "lease/skew_margin.h"

namespace holdfast::client {
namespace {

constexpr HolderInstant start{1000s};

lease::HolderDeadlines deadlines_from(HolderInstant sent_at, Duration ttl) {
    return lease::HolderDeadlines{lease::TimedAnswer{
        .sent_at = sent_at, .arrived_at = sent_at, .timeline = {ttl / 3, ttl * 2 / 3, ttl * 5 / 6, ttl}, .ttl = ttl}};
}

/// What the network does to one renewal.
struct Weather {
    Duration there{};
    Duration back{};
    bool request_lost = false;
    bool answer_lost = false;
};

/// One lease between a keeper and a server as plain as can be: it renews what has not expired, from when the request
/// arrives.
class Link {
 public:
    explicit Link(Duration ttl) : ttl_(ttl), server_end_(start + ttl) {
        keeper_.add({1, deadlines_from(start, ttl)}, start);
        held_until_ = deadlines_from(start, ttl).end();
    }

    /// Lives through the next thing that happens. False once the lease is over.
    bool step(const Weather& weather, Duration overslept) {
        HolderInstant now = keeper_.next() + overslept;
        if (reply_ && reply_->at <= now) {
            now = reply_->at;
            check(now);
            return take_reply(now);
        }
        check(now);
        if (!keeper_.take_ended(now).empty()) return over();
        if (!keeper_.take_due(now).empty()) send(now, weather);
        return true;
    }

    int renewals() const { return renewals_; }

 private:
    struct Reply {
        HolderInstant at;
        RenewalAnswer answer;
    };

    /// T3: whoever looks at this moment and finds it held has at least the margin left at the server.
    void check(HolderInstant now) const {
        if (now < held_until_) RC_ASSERT(now + lease::skew_margin(ttl_) < server_end_);
        RC_ASSERT(held_until_ + lease::skew_margin(ttl_) <= server_end_);
    }

    void send(HolderInstant now, const Weather& weather) {
        constexpr Duration timeout = 5s;
        reply_ = Reply{now + timeout, RenewalUnanswered{}};
        if (weather.request_lost) return;
        const HolderInstant arrival = now + weather.there;
        const bool alive = arrival < server_end_;
        if (alive) server_end_ = arrival + ttl_;
        if (weather.answer_lost) return;
        reply_->at = arrival + weather.back;
        reply_->answer = RenewalRejected{Code::lease_expired};
        if (alive) reply_->answer = RenewalGranted{deadlines_from(now, ttl_)};
    }

    bool take_reply(HolderInstant now) {
        const Reply reply = *reply_;
        reply_.reset();
        const Outcome outcome = keeper_.answer(1, reply.answer, now);
        if (outcome == Outcome::lost) return over();
        if (const auto* granted = std::get_if<RenewalGranted>(&reply.answer)) {
            RC_ASSERT(now < held_until_);
            held_until_ = granted->deadlines.end();
            ++renewals_;
        }
        return true;
    }

    bool over() {
        RC_ASSERT(keeper_.size() == 0U);
        return false;
    }

    Keeper keeper_{Random(*rc::gen::arbitrary<std::uint64_t>())};
    Duration ttl_;
    HolderInstant server_end_;
    HolderInstant held_until_;
    std::optional<Reply> reply_;
    int renewals_ = 0;
};

Duration some_delay(Duration most) {
    return std::chrono::microseconds(*rc::gen::inRange<std::int64_t>(0, most.count() / 1000));
}

Weather some_weather(Duration ttl, int trouble) {
    return {.there = some_delay(ttl * (1 + trouble) / 12),
            .back = some_delay(ttl * (1 + trouble) / 12),
            .request_lost = *rc::gen::inRange(0, 10) < trouble,
            .answer_lost = *rc::gen::inRange(0, 10) < trouble};
}

/// Now and then the process is stopped for a while.
Duration oversleep(Duration ttl) {
    return *rc::gen::inRange(0, 20) == 0 ? some_delay(ttl) : 0s;
}

RC_GTEST_PROP(Keeper, is_never_held_past_its_sending_plus_the_ttl_less_the_margin, ()) {
    const Duration ttl = std::chrono::milliseconds(*rc::gen::inRange(200, 60'000));
    const int trouble = *rc::gen::inRange(0, 6);
    int renewals = 0;
    int losses = 0;
    for (int life = 0; life < 10; ++life) {
        Link link(ttl);
        int steps = 0;
        while (steps < 100 && link.step(some_weather(ttl, trouble), oversleep(ttl)))
            ++steps;
        renewals += link.renewals();
        losses += steps < 100;
    }
    RC_CLASSIFY(renewals > 20, "renewed more than twenty times");
    RC_CLASSIFY(losses > 0, "lost");
}

RC_GTEST_PROP(Keeper, keeps_a_lease_for_ever_on_a_network_that_works, ()) {
    const Duration ttl = std::chrono::milliseconds(*rc::gen::inRange(1000, 60'000));
    Link link(ttl);
    for (int i = 0; i < 100; ++i)
        RC_ASSERT(link.step({.there = some_delay(ttl / 20), .back = some_delay(ttl / 20)}, 0s));
    RC_ASSERT(link.renewals() >= 45);
}

}  // namespace
}  // namespace holdfast::client
