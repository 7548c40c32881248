#include "store/cas/engine_watch.h"

#include <gtest/gtest.h>

#include "server/front/front_world.h"

namespace holdfast::store::cas {
namespace {

/// One front's watch on the engine.
struct Watching {
    explicit Watching(server::FrontWorld& the_world, bool synchronous = false, const FrontMemory& remembered = {})
        : world(the_world),
          engine(the_world.server),
          watch({.engine = engine,
                 .next_write = the_world.writes(),
                 .on_doubt =
                     [this](Duration lasts, const std::string& reason) {
                         doubt = lasts;
                         why = reason;
                     },
                 .synchronous = synchronous,
                 .remembered = remembered}) {}

    /// How long it doubts the engine that says this of itself. What is not declared yet it declares.
    Duration sees(const EngineHello& hello) {
        doubt = {};
        std::optional<Result<std::string>> found;
        watch.on_reachable(hello, [&](Result<std::string> outcome) { found = std::move(outcome); });
        world.run_until([&] { return found.has_value(); });
        EXPECT_TRUE(*found);
        if (*found && !(*found)->empty()) declares(**found);
        return doubt;
    }
    void declares(const std::string& reason, const std::vector<std::uint64_t>& over = {1}) {
        bool done = false;
        watch.declare(reason, over, [&](const Result<void>& outcome) { done = static_cast<bool>(outcome); });
        world.run_until([&] { return done; });
    }

    server::FrontWorld& world;
    SimEngine engine;
    EngineWatch watch;
    Duration doubt{};
    std::string why;
};

const EngineHello first_boot{"first"};
const EngineHello second_boot{"second"};

}  // namespace

TEST(EngineWatch, has_no_doubt_when_the_engine_is_new_or_the_same) {
    server::FrontWorld world;
    Watching a(world), b(world);
    EXPECT_EQ(a.sees(first_boot), Duration::zero());
    EXPECT_EQ(b.sees(first_boot), Duration::zero());
    EXPECT_EQ(a.sees(first_boot), Duration::zero());
}

TEST(EngineWatch, doubts_an_engine_that_may_have_forgotten_for_as_long_as_the_longest_lease) {
    server::FrontWorld world;
    Watching a(world);
    a.sees(first_boot);
    EXPECT_EQ(a.sees(second_boot), 5min);
}

TEST(EngineWatch, does_not_doubt_a_fail_over_that_is_declared_to_lose_nothing) {
    server::FrontWorld world;
    Watching a(world, true), b(world, true), c(world);
    a.sees(first_boot);
    EXPECT_EQ(a.sees(second_boot), Duration::zero());
    EXPECT_EQ(b.sees(second_boot), Duration::zero());
    EXPECT_EQ(c.sees(second_boot), Duration::zero()) << "it is written down which history it is";
}

TEST(EngineWatch, tells_a_front_that_starts_later_of_a_doubt_and_how_much_of_it_is_left) {
    server::FrontWorld world;
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

TEST(EngineWatch, ends_a_doubt_for_those_who_start_later_unless_there_is_another) {
    server::FrontWorld world;
    Watching a(world), b(world), c(world);
    a.sees(first_boot);
    a.declares("one", {7});
    b.sees(first_boot);
    a.watch.end_doubt();
    world.pass(1s);
    EXPECT_EQ(c.sees(first_boot), Duration::zero());
    EXPECT_TRUE(c.watch.is_over(7));
    c.declares("two", {8});
    a.watch.end_doubt();
    world.pass(1s);
    EXPECT_GT(b.sees(first_boot), 4min) << "it is not the one that the first has waited for";
}

TEST(EngineWatch, notices_from_the_document_that_a_restart_happened_before_it_came) {
    server::FrontWorld world;
    {
        Watching a(world);
        a.sees(first_boot);
    }
    Watching b(world);
    EXPECT_EQ(b.sees(second_boot), 5min);
}

TEST(EngineWatch, doubts_an_engine_that_has_lost_everything_while_it_ran) {
    server::FrontWorld world;
    Watching a(world);
    a.sees(first_boot);
    world.server.restart(false);
    world.pass(1s);
    EXPECT_EQ(a.sees(first_boot), 5min);
}

TEST(EngineWatch, doubts_an_engine_that_lost_everything_since_an_earlier_start_of_this_front) {
    server::FrontWorld world;
    FrontMemory remembered;
    remembered.place.marker = {7, 7};
    remembered.longest = 2h;
    Watching a(world, false, remembered);
    EXPECT_EQ(a.sees(first_boot), 2h);
}

TEST(EngineWatch, names_the_incarnations_of_the_marker_that_doubts_have_ended) {
    server::FrontWorld world;
    Watching a(world), b(world);
    a.sees(first_boot);
    EXPECT_FALSE(a.watch.is_over(7));
    a.declares("one", {7});
    b.sees(first_boot);
    EXPECT_TRUE(b.watch.is_over(7));
    EXPECT_EQ(b.why, "one");
    b.declares("two", {8, 9});
    a.sees(first_boot);
    for (const std::uint64_t incarnation : {7U, 8U, 9U})
        EXPECT_TRUE(a.watch.is_over(incarnation));
    EXPECT_FALSE(a.watch.is_over(10));
    for (std::uint64_t more = 100; more < 200; ++more)
        a.declares("many", {more});
    b.sees(first_boot);
    EXPECT_TRUE(b.watch.is_over(199));
    EXPECT_FALSE(b.watch.is_over(7)) << "they are not kept for ever";
}

TEST(EngineWatch, counts_with_the_longest_lease_that_any_front_has_allowed) {
    server::FrontWorld world;
    Watching a(world), b(world);
    a.sees(first_boot);
    bool done = false;
    a.watch.expect_ttl(2h, [&](const Result<void>& outcome) { done = static_cast<bool>(outcome); });
    world.run_until([&] { return done; });
    EXPECT_EQ(b.sees(second_boot), 2h);
}

TEST(EngineWatch, writes_a_doubt_down_with_its_reason) {
    server::FrontWorld world;
    Watching a(world), b(world);
    a.sees(first_boot);
    a.declares("the clock went ahead");
    EXPECT_EQ(a.doubt, 5min);
    world.pass(1s);
    EXPECT_GT(b.sees(first_boot), 4min);
    EXPECT_EQ(b.why, "the clock went ahead");
}

}  // namespace holdfast::store::cas
