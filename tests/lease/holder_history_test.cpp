// No history of sends, lost, late and reordered answers, drifting clocks and suspends lets a holder believe in a lease
// that its store has let expire (T3). The holder reads the clock that ships, on a machine that this test plays.

#include <ctime>
#include <gtest/gtest.h>
#include <map>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "lease/holder_deadlines.h"
#include "lease/skew_margin.h"
#include "support/seeds.h"

namespace {

/// The holder's machine: what its kernel says to clock_gettime(). Not played: the machine of the test.
struct Machine {
    std::chrono::nanoseconds awake{};
    std::chrono::nanoseconds suspended{};
};
const Machine* played = nullptr;

}  // namespace

/// Takes the place of libc's function in this program.
extern "C" int clock_gettime(clockid_t clock, timespec* reading) noexcept {
    if (played == nullptr) return static_cast<int>(::syscall(SYS_clock_gettime, clock, reading));
    const auto since_boot = clock == CLOCK_BOOTTIME ? played->awake + played->suspended : played->awake;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    *reading = {.tv_sec = seconds.count(), .tv_nsec = (since_boot - seconds).count()};
    return 0;
}

namespace holdfast::lease {
namespace {

/// One holder, one store, one lease, on a time line of the store's clock. Requests overlap, so that their answers may
/// change places.
class History {
 public:
    explicit History(std::uint64_t seed) : random_(seed), ttl_(1s + part_of(120s)) { played = &machine_; }
    ~History() { played = nullptr; }
    History(const History&) = delete;
    History& operator=(const History&) = delete;

    void run(int steps) {
        acquire();
        for (int i = 0; i < steps && !(pending_.empty() && expires_at_ <= now_); ++i)
            step();
        pass_until(std::max(now_, expires_at_) + ttl_);
    }

    /// The holder believed in the lease after the store had let it expire.
    int violations() const { return violations_; }
    int renewed() const { return renewed_; }
    int believed() const { return believed_; }
    int expired() const { return expired_; }

 private:
    struct Arrival {
        TimedAnswer answer;
        bool at_the_store = false;
        bool renewal = true;
        Duration back{};
    };

    Duration part_of(Duration most) {
        return Duration{static_cast<Duration::rep>(random_.unit() * static_cast<double>(most.count()))};
    }
    bool one_in(std::uint64_t many) { return random_.below(many) == 0; }

    void step() {
        switch (random_.below(8)) {
            case 0:
                return suspend(part_of(ttl_ / 2));
            case 1:
                return drift();
            case 2:
            case 3:
            case 4:
                return send(true, some_delay());
            default:
                return pass_until(now_ + part_of(ttl_ / 3));
        }
    }

    /// The first request waits for its turn at the store.
    void acquire() {
        send(false, some_delay());
        drift();
        pass_until(now_ + ttl_ / 2);
    }

    void send(bool renewal, Duration there) {
        const HolderInstant sent_at = holder_clock_now();
        if (renewal && one_in(5)) return held_.on_failure(sent_at + part_of(ttl_));  // lost
        Arrival request{.answer = {.sent_at = sent_at, .ttl = ttl_}, .at_the_store = true, .renewal = renewal};
        request.answer.waited = renewal ? Duration{} : part_of(ttl_ * 3);
        request.back = some_delay();
        pending_.emplace(now_ + there + request.answer.waited, request);
    }

    Duration some_delay() { return one_in(2) ? part_of(ttl_ / 200) : part_of(ttl_ * 3 / 4); }

    void suspend(Duration duration) {
        sleeps_ = true;
        pass_until(now_ + duration);
        sleeps_ = false;
        deliver_held_back();
    }

    /// The rates of the two clocks differ by less than the margin. Slow is what is dangerous.
    void drift() { rate_ = one_in(2) ? 0.9902 : 0.9902 + random_.unit() * 0.0196; }

    void pass_until(Duration until) {
        while (now_ < until) {
            Duration next = until;
            if (!pending_.empty()) next = std::min(next, std::max(pending_.begin()->first, now_));
            if (expires_at_ > now_) next = std::min(next, expires_at_);
            advance(next - now_);
            check();
            if (!pending_.empty() && pending_.begin()->first <= now_) handle_first();
            check();
        }
    }

    void advance(Duration by) {
        now_ += by;
        const Duration counted{static_cast<Duration::rep>(static_cast<double>(by.count()) * rate_)};
        (sleeps_ ? machine_.suspended : machine_.awake) += counted;
        if (by > Duration{} && now_ == expires_at_) ++expired_;
    }

    void handle_first() {
        auto arrival = pending_.extract(pending_.begin()).mapped();
        if (arrival.at_the_store) return at_the_store(arrival);
        if (sleeps_)
            held_back_.push_back(arrival);
        else
            at_the_holder(arrival);
    }

    /// T2, R1.
    void at_the_store(Arrival& request) {
        if (request.renewal && now_ >= expires_at_) return;
        expires_at_ = std::max(expires_at_, now_ + ttl_);
        if (request.renewal && one_in(5)) return;  // the answer is lost
        request.at_the_store = false;
        request.answer.timeline = {ttl_ / 3, ttl_ * 2 / 3, ttl_ * 5 / 6, ttl_};
        request.answer.waited = surely_waited(request.answer.waited, default_rho);
        pending_.emplace(now_ + request.back, request);
    }

    void at_the_holder(Arrival& arrival) {
        const HolderInstant now = holder_clock_now();
        arrival.answer.arrived_at = now;
        const HolderDeadlines answered{arrival.answer};
        if (!arrival.renewal) {
            held_ = answered;
        } else if (const bool was_held = held_.held(now); held_.on_answer(answered, now)) {
            if (!was_held) ++violations_;
            ++renewed_;
        }
    }

    void deliver_held_back() {
        for (Arrival& arrival : std::exchange(held_back_, {}))
            at_the_holder(arrival);
        check();
    }

    /// The rule. Expiry is strict: at that instant it may have another holder already (T2).
    void check() {
        if (!held_.held(holder_clock_now())) return;
        ++believed_;
        if (now_ >= expires_at_) ++violations_;
    }

    Random random_;
    const Duration ttl_;
    Machine machine_{.awake = 1000s};
    double rate_ = 1;
    bool sleeps_ = false;
    Duration now_{};         ///< true time, which is the store's
    Duration expires_at_{};  ///< at the store
    HolderDeadlines held_;
    std::multimap<Duration, Arrival> pending_;
    std::vector<Arrival> held_back_;
    int violations_ = 0;
    int renewed_ = 0;
    int believed_ = 0;
    int expired_ = 0;
};

TEST(HolderHistory, never_lets_a_holder_believe_after_the_stores_expiry) {
    long believed = 0;
    long renewed = 0;
    long expired = 0;
    for (std::uint64_t seed = first_seed(), end = seed + 10'000; seed < end; ++seed) {
        History history(seed);
        history.run(40);
        ASSERT_EQ(history.violations(), 0) << "seed " << seed;
        believed += history.believed();
        renewed += history.renewed();
        expired += history.expired();
    }
    EXPECT_GT(believed, 100'000) << "too little happened to prove anything";
    EXPECT_GT(renewed, 5'000) << "too little happened to prove anything";
    EXPECT_GT(expired, 6'000) << "too little happened to prove anything";
}

TEST(HolderClock, counts_the_time_in_which_the_machine_is_suspended) {  // T3
    Machine machine{.awake = 1000s};
    played = &machine;
    const HolderInstant before = holder_clock_now();
    machine.suspended += 3h;
    const HolderInstant after = holder_clock_now();
    played = nullptr;
    EXPECT_EQ(after - before, 3h);
}

}  // namespace
}  // namespace holdfast::lease
