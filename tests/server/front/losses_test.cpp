#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <map>

#include "server/front/front_world.h"
#include "support/seeds.h"

namespace holdfast::server {
namespace {

/// A holder's belief that it has a lease, until it has to stop (T3).
struct LossBelief {
    lease::LeaseName name;
    std::string holder;
    Duration ttl{};
    Duration usable_until{};  ///< true time
};

/// What random requests through several fronts came to, on an engine that loses things and goes back.
struct LossReport {
    std::optional<std::string> violation;
    std::size_t grants = 0, renewals = 0, losses = 0, refused = 0;
};

class LossWorld {
 public:
    explicit LossWorld(std::uint64_t seed) : random_(seed), other_(other_history(seed)) {
        world_.server.says_late = chance(50);
        world_.each_step = [this](Instant now) {
            for (const auto& front : fronts_)
                if (front) front->advance(now);
        };
        for (std::size_t i = 0; i < 3; ++i)
            fronts_.emplace_back(start({}));
        world_.pass(3s);
    }

    LossReport run() {
        for (int step = 0; step < 160 && !report_.violation; ++step) {
            act();
            world_.pass(Duration{1ms} * static_cast<int>(random_.below(200)));
            if (copies_.empty() || world_.time.now() - copies_.back().taken > 2s) keep_copy();
            if (step % 40 == 39) {
                fault();
                settle_down();
            }
        }
        return report_;
    }

 private:
    struct Kept {
        Duration taken;
        store::cas::SimServer::Copy copy;
    };

    bool chance(unsigned percent) { return random_.below(100) < percent; }
    std::unique_ptr<FrontUnderTest> start(const store::cas::FrontMemory& remembered) {
        return std::make_unique<FrontUnderTest>(
            world_,
            FrontUnderTest::Shape{.seed = random_.next(), .new_store = fronts_.size() < 3, .remembered = remembered});
    }
    /// Of a store that has nothing to do with this one, and is further on.
    static store::cas::SimServer::Copy other_history(std::uint64_t seed) {
        FrontWorld elsewhere;
        FrontUnderTest front(elsewhere, {.seed = seed + 1'000'000});
        elsewhere.each_step = [&](Instant now) { front.advance(now); };
        elsewhere.pass(10s);
        elsewhere.server.empty();
        elsewhere.pass(2s);
        elsewhere.server.position += 1'000'000;
        return elsewhere.server.copy();
    }
    void keep_copy() {
        copies_.push_back({world_.time.now(), world_.server.copy()});
        if (copies_.size() > 20) copies_.pop_front();
    }

    // ---- requests ----

    FrontUnderTest& any_front() { return *fronts_[random_.below(fronts_.size())]; }

    void act() {
        const Duration now = world_.time.now();
        std::erase_if(beliefs_, [&](const LossBelief& belief) { return belief.usable_until <= now; });
        if (beliefs_.empty() || chance(60)) return acquire();
        LossBelief& belief = beliefs_[random_.below(beliefs_.size())];
        chance(70) ? renew(belief) : release(belief);
    }

    static Duration usable_until(Duration sent, Duration ttl) {
        return sent + ttl - std::max<Duration>(ttl / 100, 50ms);
    }

    void acquire() {
        authority::AcquireRequest request;
        request.holder = "h" + std::to_string(random_.below(4));
        request.session = std::to_string(random_.next());
        request.intents = {{"r" + std::to_string(random_.below(3)), lease::Predicate::mutates}};
        request.ttl = Duration{1s} * static_cast<int>(1 + random_.below(60));
        LossBelief belief{{request.intents[0].resource, 0}, request.holder, *request.ttl, {}};
        const Duration sent = world_.time.now();
        const lease::Token highest = highest_[belief.name.resource];
        const auto answer = std::make_shared<std::optional<authority::AcquireAnswer>>();
        any_front().authority().acquire(std::move(request),
                                        [answer](authority::AcquireAnswer given) { *answer = std::move(given); });
        world_.run_until([&] { return answer->has_value(); });
        const auto* granted = std::get_if<authority::AcquireGranted>(&**answer);
        if (granted == nullptr) {
            ++report_.refused;
            return;
        }
        ++report_.grants;
        belief.name.token = granted->leases.front().lease.token;
        belief.usable_until = usable_until(sent, belief.ttl);
        if (belief.name.token <= highest) report_.violation = "a lower token on " + to_string(belief.name);
        for (const LossBelief& other : beliefs_)
            if (other.name.resource == belief.name.resource && other.usable_until > world_.time.now())
                report_.violation = "two at once: " + to_string(other.name) + " and " + to_string(belief.name);
        highest_[belief.name.resource] = std::max(highest, belief.name.token);
        beliefs_.push_back(belief);
    }

    void renew(LossBelief& belief) {
        authority::RenewRequest request;
        request.holder = belief.holder;
        request.leases.push_back({belief.name, {}});
        const Duration sent = world_.time.now();
        const auto answers = std::make_shared<std::vector<authority::RenewAnswer>>();
        any_front().authority().renew(
            std::move(request), [answers](std::vector<authority::RenewAnswer> given) { *answers = std::move(given); });
        world_.run_until([&] { return !answers->empty(); });
        if (!std::holds_alternative<authority::RenewedLease>(answers->front().result)) return;
        ++report_.renewals;
        belief.usable_until = std::max(belief.usable_until, usable_until(sent, belief.ttl));
    }

    void release(const LossBelief& belief) {
        any_front().authority().release({.caller = {}, .name = belief.name, .holder = belief.holder},
                                        [](const auto&) {});
        std::erase_if(beliefs_, [name = belief.name](const LossBelief& one) { return one.name == name; });
        world_.pass(50ms);
    }

    // ---- what happens to the engine ----

    /// A copy that is older than the last raise of the marker.
    const store::cas::SimServer::Copy& older_copy() {
        std::size_t most = 0;
        while (most + 1 < copies_.size() && copies_[most + 1].taken < world_.time.now() - 2s)
            ++most;
        return copies_[random_.below(most + 1)].copy;
    }

    void fault() {
        store::cas::SimServer& server = world_.server;
        ++report_.losses;
        switch (random_.below(7)) {
            case 0:
                return server.empty();
            case 1:
                server.things.erase(store::cas::Kind::record);
                return;
            case 2:
                return server.restore({older_copy().things, std::nullopt});
            case 3:
                return server.restore(older_copy());
            case 4:
                return server.restore(other_);
            case 5:  // another server takes over, which lacks the last writes
                server.set_reachable(false);
                server.restore(copies_.back().copy);
                return server.restart(true);
            default:
                server.clock.ahead += 200ms + Duration{1ms} * static_cast<int>(random_.below(100'000));
                return;
        }
    }

    /// Requests meet the loss at once, and some fronts are started anew, with and without their memory.
    void settle_down() {
        for (int i = 0; i < 5 && !report_.violation; ++i)
            act();
        for (std::size_t i = 1; i < fronts_.size(); ++i) {
            if (!chance(40)) continue;
            const store::cas::FrontMemory remembered =
                chance(50) ? fronts_[i]->front().memory() : store::cas::FrontMemory{};
            fronts_[i].reset();
            fronts_[i] = start(remembered);
        }
        for (int i = 0; i < 10 && !report_.violation; ++i) {
            act();
            world_.pass(200ms);
        }
        while (fronts_[0]->authority().recovering_for() > 1s)
            world_.pass(1s);
        world_.pass(3s);
        copies_.clear();
    }

    FrontWorld world_;
    Random random_;
    store::cas::SimServer::Copy other_;
    std::vector<std::unique_ptr<FrontUnderTest>> fronts_;
    std::deque<Kept> copies_;
    std::vector<LossBelief> beliefs_;
    std::map<std::string, lease::Token> highest_;
    LossReport report_;
};

}  // namespace

TEST(Losses, never_let_two_hold_at_once_nor_lower_a_token) {
    LossReport sum;
    for (std::uint64_t seed = first_seed(), end = seed + 8; seed < end; ++seed) {
        const LossReport report = LossWorld(seed).run();
        ASSERT_EQ(report.violation, std::nullopt) << "seed " << seed;
        sum.grants += report.grants;
        sum.renewals += report.renewals;
        sum.losses += report.losses;
        sum.refused += report.refused;
    }
    EXPECT_GT(sum.grants, 120U) << "too little happened to prove anything";
    EXPECT_GT(sum.renewals, 40U);
    EXPECT_GT(sum.losses, 25U);
    EXPECT_GT(sum.refused, 40U);
}

}  // namespace holdfast::server
