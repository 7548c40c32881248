// Whatever is lost, late or refused, in whatever order: what a publisher says it holds is its own by the relay's word,
// and it never stops trying.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "discovery/publisher/scripted_relay.h"
#include "support/seeds.h"

namespace holdfast::discovery::publisher {
namespace {

const ErrorCode codes[] = {Code::banned,        Code::name_taken,  Code::superseded,
                           Code::unavailable,   Code::clock_apart, Code::replayed,
                           Code::unknown_lease, Code::recovering,  ErrorCode::named("no_such_code")};

/// Messages take their time, in order, and may be lost with their connection.
class World {
 public:
    explicit World(std::uint64_t seed) : random(seed), core({identity(), {{.name = "web"}}, seed}) {}

    static const identity::Identity& identity() {
        static const identity::Identity one = identity::Identity::generate();
        return one;
    }

    void run_for(Duration duration, bool faults) {
        for (const HolderInstant end = now + duration; now < end;) {
            if (faults && random.below(20) == 0) fault();
            deliver();
            for (const Effect& effect : core.step(now))
                std::visit([this](const auto& what) { carry_out(what); }, effect);
            check();
            HolderInstant next = std::min(core.next_due(), now + 500ms);
            if (!to_relay.empty()) next = std::min(next, to_relay.front().at);
            if (!to_core.empty()) next = std::min(next, to_core.front().at);
            now = std::max(next, now + 1ms);
            check();  // also before anything is done about the time that passed
        }
    }

    /// The one rule: held here means active there (T3, R8).
    void check() {
        if (!core.held(0, now)) return;
        ++times_held;
        if (!relay.active("web", core.advert(0).token(), now)) ++violations;
    }

    Random random;
    ScriptedRelay relay;
    PublisherCore core;
    HolderInstant now{1000s};
    int violations = 0;
    int times_held = 0;
    int faults_made = 0;

 private:
    struct Late {
        HolderInstant at;
        Message message;
    };

    Duration delay() { return slow ? Duration{random.below(20'000'000'000)} : Duration{random.below(50'000'000)}; }

    void fault() {
        ++faults_made;
        switch (random.below(7)) {
            case 0:
                return cut();
            case 1:
                relay.restart();
                return cut();
            case 2:
                now += Duration{random.below(60'000'000'000)};  // suspended
                return;
            case 3:
                slow = !slow;
                return;
            case 4:
                relay.code.reset();
                if (random.below(2) != 0) relay.code = codes[random.below(std::size(codes))];
                return;
            case 5:
                reachable = !reachable;
                return;
            default:
                relay.clock_offset_ms += static_cast<std::int64_t>(random.below(200'000)) - 100'000;
        }
    }

    /// The core hears of it first, as it must: it may know less than the relay, never more.
    void cut() {
        if (connection == 0) return;
        core.on_disconnected("cut", now);
        hang_up();
    }
    void hang_up() {
        relay.connection_closed(connection);
        connection = 0;
        to_relay.clear();
        to_core.clear();
    }

    void carry_out(const Connect&) {
        if (!reachable) return core.on_disconnected("nobody there", now);
        connection = ++connections;
        core.on_connected(now);
    }
    void carry_out(const Disconnect&) { hang_up(); }
    void carry_out(const Send& send) {
        if (connection == 0) return;
        const HolderInstant at = now + delay();
        to_relay.push_back({to_relay.empty() ? at : std::max(at, to_relay.back().at), send.message});
    }
    void carry_out(const Serve&) {}
    void carry_out(const PublisherEvent&) {}

    void deliver() {
        while (!to_relay.empty() && to_relay.front().at <= now) {
            const Message message = to_relay.front().message;
            to_relay.erase(to_relay.begin());
            const HolderInstant at = now + delay();
            const auto say = [&](Message answer) {
                to_core.push_back({to_core.empty() ? at : std::max(at, to_core.back().at), std::move(answer)});
            };
            if (std::holds_alternative<PublisherHello>(message)) say(relay.hello(now));
            if (const auto* update = std::get_if<SignedUpdate>(&message)) say(relay.answer(*update, connection, now));
        }
        while (!to_core.empty() && to_core.front().at <= now) {
            const Message message = to_core.front().message;
            to_core.erase(to_core.begin());
            core.on_message(message, now);
        }
    }

    std::vector<Late> to_relay;
    std::vector<Late> to_core;
    std::uint64_t connection = 0;
    std::uint64_t connections = 0;
    bool slow = false;

 public:
    void calm() {
        slow = false;
        reachable = true;
        relay.code.reset();
    }
    bool reachable = true;
};

TEST(PublisherProperty, holds_only_what_the_relay_would_say_is_its_own_and_always_comes_back) {
    int held = 0;
    int faults = 0;
    for (std::uint64_t seed = first_seed(), end = seed + 150; seed < end; ++seed) {
        World world{seed};
        world.run_for(10min, true);
        ASSERT_EQ(world.violations, 0) << "seed " << seed;
        world.calm();
        world.run_for(3min, false);
        ASSERT_EQ(world.violations, 0) << "seed " << seed;
        EXPECT_TRUE(world.core.held(0, world.now)) << "seed " << seed;
        held += world.times_held;
        faults += world.faults_made;
    }
    EXPECT_GT(held, 50'000) << "too little happened to prove anything";
    EXPECT_GT(faults, 2'000) << "too little happened to prove anything";
}

}  // namespace
}  // namespace holdfast::discovery::publisher
