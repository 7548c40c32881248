#include "front/engine_watch.h"

#include <gtest/gtest.h>

#include "front_world.h"

namespace holdfast::core {
namespace {

/// One front's watch on the engine.
struct Watching {
    explicit Watching(FrontWorld& the_world)
        : world(the_world),
          engine(the_world.server),
          watch({engine, the_world.writes(), [this](Duration lasts, const std::string&) { doubt = lasts; }}) {}

    Duration sees(const EngineHello& hello) {
        doubt = {};
        bool done = false;
        watch.on_reachable(hello, [&](const Result<void>& outcome) { done = static_cast<bool>(outcome); });
        world.run_until([&] { return done; });
        return doubt;
    }

    FrontWorld& world;
    SimEngine engine;
    EngineWatch watch;
    Duration doubt{};
};

const EngineHello first_boot{"first", true};
const EngineHello second_boot{"second", true};

}  // namespace

TEST(EngineWatch, has_no_doubt_when_the_engine_is_new_or_the_same) {
    FrontWorld world;
    Watching a(world), b(world);
    EXPECT_EQ(a.sees(first_boot), Duration::zero());
    EXPECT_EQ(b.sees(first_boot), Duration::zero());
    EXPECT_EQ(a.sees(first_boot), Duration::zero());
}

TEST(EngineWatch, doubts_an_engine_that_may_have_forgotten_for_as_long_as_the_longest_lease) {
    FrontWorld world;
    Watching a(world);
    a.sees(first_boot);
    EXPECT_EQ(a.sees(second_boot), 5min);
}

TEST(EngineWatch, does_not_doubt_a_restart_that_forgets_nothing) {
    FrontWorld world;
    Watching a(world);
    a.sees({"first", false});
    EXPECT_EQ(a.sees({"second", false}), Duration::zero());
}

TEST(EngineWatch, tells_a_front_that_starts_later_of_a_doubt_and_how_much_of_it_is_left) {
    FrontWorld world;
    Watching a(world), b(world), c(world);
    a.sees(first_boot);
    a.sees(second_boot);
    world.pass(1min);
    const Duration left = b.sees(second_boot);
    EXPECT_GT(left, 3min);
    EXPECT_LT(left, 4min + 1s);
    world.pass(5min);
    EXPECT_EQ(c.sees(second_boot), Duration::zero());
}

TEST(EngineWatch, notices_from_the_document_that_a_restart_happened_before_it_came) {
    FrontWorld world;
    {
        Watching a(world);
        a.sees(first_boot);
    }
    Watching b(world);
    EXPECT_EQ(b.sees(second_boot), 5min);
}

TEST(EngineWatch, doubts_an_engine_that_has_lost_everything_while_it_ran) {
    FrontWorld world;
    Watching a(world);
    a.sees(first_boot);
    world.server.restart(false);
    world.pass(1s);
    EXPECT_EQ(a.sees({"first", false}), 5min);
}

TEST(EngineWatch, counts_with_the_longest_lease_that_any_front_has_allowed) {
    FrontWorld world;
    Watching a(world), b(world);
    a.sees(first_boot);
    bool done = false;
    a.watch.expect_ttl(2h, [&](const Result<void>& outcome) { done = static_cast<bool>(outcome); });
    world.run_until([&] { return done; });
    EXPECT_EQ(b.sees(second_boot), 2h);
}

TEST(EngineWatch, writes_down_that_a_clock_stepped) {
    FrontWorld world;
    Watching a(world), b(world);
    a.sees(first_boot);
    a.watch.on_clock_stepped(1h, [](const Result<void>&) {});
    EXPECT_EQ(a.doubt, 5min);
    world.pass(1s);
    EXPECT_GT(b.sees(first_boot), 4min);
}

}  // namespace holdfast::core
