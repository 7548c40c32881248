#include "sim/disk.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

struct Bay {
    void write(lease::Token ceiling) {
        disk.write([ceiling](OnDisk& found) { found.ceiling = ceiling; },
                   [this](const Result<void>& written) { ++(written ? finished : refused); });
    }
    void pass(Duration duration) {
        const TrueInstant end = events.now() + duration;
        while (events.run_next(end)) {
        }
    }

    EventQueue events;
    Disk disk{events, 1};
    int finished = 0;
    int refused = 0;
};

TEST(Disk, finishes_writes_later_and_in_order) {
    Bay bay;
    for (lease::Token ceiling = 1; ceiling <= 5; ++ceiling)
        bay.write(ceiling);
    EXPECT_EQ(bay.disk.found().ceiling, 0U);
    bay.pass(1s);
    EXPECT_EQ(bay.disk.found().ceiling, 5U);
    EXPECT_EQ(bay.finished, 5);
}

TEST(Disk, finishes_nothing_while_it_stalls) {
    Bay bay;
    bay.disk.stall_for(40s);
    bay.write(1);
    bay.pass(39s);
    EXPECT_EQ(bay.finished, 0);
    bay.pass(2s);
    EXPECT_EQ(bay.finished, 1);
    bay.write(2);
    bay.disk.stall_for(40s);
    bay.pass(39s);
    EXPECT_EQ(bay.finished, 1) << "what was under way stalls as well";
    bay.disk.mend();
    bay.pass(1s);
    EXPECT_EQ(bay.finished, 2);
}

TEST(Disk, refuses_while_it_fails_and_keeps_nothing_of_it) {
    Bay bay;
    bay.disk.fail_for(5s);
    bay.write(7);
    bay.pass(1s);
    EXPECT_EQ(bay.refused, 1);
    EXPECT_EQ(bay.disk.found().ceiling, 0U);
    bay.pass(5s);
    bay.write(8);
    bay.pass(1s);
    EXPECT_EQ(bay.disk.found().ceiling, 8U);
}

TEST(Disk, may_have_kept_the_first_of_what_was_under_way_at_a_crash_and_tells_nobody) {
    bool kept_some = false, lost_some = false;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        EventQueue events;
        Disk disk(events, seed);
        int told = 0;
        std::vector<int> order;
        for (int i = 0; i < 4; ++i)
            disk.write([&order, i](OnDisk&) { order.push_back(i); }, [&](const Result<void>&) { ++told; });
        disk.crash();
        while (events.run_next(TrueInstant{1min})) {
        }
        EXPECT_EQ(told, 0);
        for (std::size_t i = 0; i < order.size(); ++i)
            EXPECT_EQ(order[i], static_cast<int>(i)) << "nothing behind a gap";
        kept_some |= !order.empty();
        lost_some |= order.size() < 4;
    }
    EXPECT_TRUE(kept_some);
    EXPECT_TRUE(lost_some);
}

TEST(WrittenLog, has_no_gap_replaces_what_is_accepted_again_and_drops_what_a_snapshot_covers) {
    consensus::LogFound log;
    write_down(log, {consensus::LogBallot{3, 0},
                     {{1, {3, 0}, "a"}, {2, {3, 0}, "b"}, {3, {3, 0}, "c"}},
                     consensus::LogIndex{1},
                     {}});
    EXPECT_EQ(log.promised.term, 3U);
    EXPECT_EQ(log.committed, 1U);
    write_down(log, {consensus::LogBallot{4, 1}, {{2, {4, 1}, "x"}}, {}, {}});
    ASSERT_EQ(log.decrees.size(), 3U);
    EXPECT_EQ(log.decrees[1].value, "x");
    EXPECT_EQ(log.decrees[2].value, "c");
    EXPECT_EQ(log.committed, 1U);
    write_down(log, {{}, {}, {}, consensus::LogSnapshot{2, "state"}});
    ASSERT_EQ(log.decrees.size(), 1U);
    EXPECT_EQ(log.decrees[0].index, 3U);
    EXPECT_EQ(log.committed, 2U);
    EXPECT_EQ(log.snapshot->state, "state");
}

}  // namespace
}  // namespace holdfast::sim
