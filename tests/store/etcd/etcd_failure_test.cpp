#include "etcd_fixture.h"
#include "relay.h"
#include "support/etcd_process.h"

namespace holdfast::store::etcd {
namespace {

using namespace std::chrono_literals;

/// Nobody waits for long in these tests.
EtcdEngineOptions impatient(const std::string& url) {
    auto options = *parse_etcd_engine(url);
    options.connect_within = 1s;
    options.answer_within = 1s;
    return options;
}

bool says(const Error& error, std::string_view part) {
    return error.code == Code::store_unavailable && error.message.find(part) != std::string::npos;
}

TEST(EtcdFailure, fails_at_once_while_nobody_is_there_and_comes_by_itself) {
    EtcdProcess etcd;
    etcd.kill();
    Loop loop;
    Front front(loop, etcd.url());
    ASSERT_TRUE(loop.run_until([&] { return front.times_unreachable > 0; }));
    EXPECT_TRUE(says(front.why, "127.0.0.1")) << front.why.message;
    EXPECT_TRUE(says(front.fetch("x").error(), "127.0.0.1"));
    EXPECT_TRUE(says(front.swap({.name = "x", .becomes = 1}).error(), "127.0.0.1"));
    EXPECT_FALSE(front.overdue());
    EXPECT_NE(front.engine().status().find(R"("reachable":false)"), std::string::npos);
    etcd.start();
    ASSERT_TRUE(front.becomes_reachable());
    EXPECT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
    EXPECT_EQ(front.times_unreachable, 1) << "it is told once";
}

TEST(EtcdFailure, goes_on_after_a_restart_with_the_same_history_and_the_same_ages) {
    EtcdProcess etcd;
    Loop loop;
    Front a(loop, etcd.url()), b(loop, etcd.url());
    ASSERT_TRUE(a.becomes_reachable() && b.becomes_reachable());
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1})->done);
    const auto before = b.fetch("x");
    const std::string history = b.history;
    etcd.kill();
    ASSERT_TRUE(loop.run_until([&] { return !a.reachable && !b.reachable; }));
    EXPECT_FALSE(b.fetch("x"));
    etcd.start();
    ASSERT_TRUE(a.becomes_reachable() && b.becomes_reachable());
    EXPECT_EQ(b.history, history);
    const auto after = b.fetch("x");
    EXPECT_EQ(after->value.write, 1u);
    EXPECT_EQ(after->value.written_at, before->value.written_at);
    EXPECT_TRUE(b.swap({.name = "x", .expected = 1, .becomes = 2})->done);
    EXPECT_TRUE(loop.run_until([&] { return a.fetch("x")->value.write == 2; }));
}

TEST(EtcdFailure, is_heard_to_be_stopped_even_if_nobody_asks_it_anything) {
    EtcdProcess etcd;
    Loop loop;
    Front front(loop, impatient(etcd.url()));
    ASSERT_TRUE(front.becomes_reachable());
    etcd.freeze();
    EXPECT_TRUE(loop.run_until([&] { return !front.reachable; }));
    etcd.thaw();
    EXPECT_TRUE(front.becomes_reachable());
}

TEST(EtcdFailure, does_not_wait_for_an_etcd_that_is_stopped) {
    EtcdProcess etcd;
    Loop loop;
    Front front(loop, impatient(etcd.url()));
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
    etcd.freeze();
    EXPECT_EQ(front.swap({.name = "x", .expected = 1, .becomes = 2}).error().code, Code::store_unavailable);
    EXPECT_EQ(front.fetch("x").error().code, Code::store_unavailable);
    etcd.thaw();
    ASSERT_TRUE(front.becomes_reachable());
    const auto kept = front.fetch("x");
    ASSERT_TRUE(kept);
    EXPECT_TRUE(kept->value.write == 1 || kept->value.write == 2);
    EXPECT_TRUE(front.swap({.name = "x", .expected = kept->value.write, .becomes = 3})->done);
}

TEST(EtcdFailure, finds_out_what_became_of_a_swap_whose_answer_was_lost) {
    EtcdProcess etcd;
    Loop loop;
    Relay relay(loop.io, etcd.port());
    Front front(loop, impatient(relay.url()));
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_TRUE(front.swap({.name = "other", .becomes = 1})->done);
    relay.lose_answers();
    const auto lost = front.swap({.name = "x", .becomes = 2, .bytes = "lost"});
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::store_unavailable);
    ASSERT_TRUE(front.becomes_reachable());
    const auto again = front.swap({.name = "x", .becomes = 3});
    EXPECT_FALSE(again->done);
    EXPECT_EQ(again->found.write, 2u);
    EXPECT_EQ(again->found.bytes, "lost");
}

TEST(EtcdFailure, has_no_swap_take_effect_that_arrives_after_it_is_reachable_again) {
    EtcdProcess etcd;
    Loop loop;
    Relay relay(loop.io, etcd.port());
    Front front(loop, impatient(relay.url()));
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
    relay.hold_requests();
    EXPECT_FALSE(front.swap({.name = "x", .expected = 1, .becomes = 2}));
    ASSERT_TRUE(front.becomes_reachable());
    EXPECT_EQ(front.fetch("x")->value.write, 1u);
    relay.let_go();
    ASSERT_EQ(relay.let_go_count, 1);
    loop.run_for(1s);  // nothing would tell that it has arrived and was refused
    EXPECT_EQ(front.fetch("x")->value.write, 1u);
    EXPECT_TRUE(front.swap({.name = "x", .expected = 1, .becomes = 3})->done);
}

TEST(EtcdFailure, says_that_another_cluster_is_another_history_and_works_with_it) {
    EtcdProcess etcd;
    Loop loop;
    Front front(loop, etcd.url());
    ASSERT_TRUE(front.becomes_reachable());
    const std::string history = front.history;
    for (std::uint64_t write = 1; write <= 5; ++write)
        ASSERT_TRUE(front.swap({.name = "x", .expected = write - 1, .becomes = write, .due_in = 1ms})->done);
    const auto before = front.fetch("x");
    etcd.lose_data();
    ASSERT_TRUE(front.comes_back_after(1));
    EXPECT_NE(front.history, history);
    EXPECT_TRUE(front.lost);
    EXPECT_LT(front.position, before->position);
    EXPECT_EQ(number_in_status(front, "records"), 0);
    EXPECT_EQ(*front.overdue(), std::vector<std::string>());
    const auto empty = front.fetch("x");
    ASSERT_TRUE(empty) << empty.error().message;
    EXPECT_EQ(empty->value.write, 0u);
    EXPECT_FALSE(front.swap({.name = "x", .expected = 5, .becomes = 6})->done);
    EXPECT_TRUE(front.swap({.name = "x", .becomes = 7, .notice = "heard"})->done);
    EXPECT_TRUE(loop.run_until([&] { return front.notices == std::vector<std::string>{"heard"}; }));
    EXPECT_EQ(front.times_unreachable, 1);
}

/// etcd with some writes, of which the last ones are not in the copy that it is restored from.
class EtcdRestored : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(front.becomes_reachable());
        ASSERT_TRUE(front.swap({.name = "x", .becomes = 1, .bytes = "first"})->done);
        etcd.save_data();
        ASSERT_TRUE(front.comes_back_after(1));
        ASSERT_TRUE(front.swap({.name = "x", .expected = 1, .becomes = 2, .notice = "early", .due_in = 1ms})->done);
        ASSERT_TRUE(front.swap({.name = "y", .becomes = 3})->done);
        for (std::uint64_t write = 11; write < 30; ++write)
            last = *front.swap({.name = "z", .expected = write == 11 ? 0 : write - 1, .becomes = write});
        ASSERT_TRUE(last.done);
        ASSERT_TRUE(loop.run_until([&] { return !front.notices.empty(); }));
    }

    EtcdProcess etcd;
    Loop loop;
    Relay relay{loop.io, etcd.port()};
    Front front{loop, relay.url()};
    cas::Swapped last;
};

TEST_F(EtcdRestored, is_told_from_what_it_was_by_its_position) {
    const std::string history = front.history;
    EXPECT_EQ(front.fetch("z")->position, last.position);
    EXPECT_FALSE(front.lost) << "it was only restarted so far";
    etcd.restore_data();
    ASSERT_TRUE(front.comes_back_after(2));
    EXPECT_TRUE(front.lost);
    EXPECT_EQ(front.history, history) << "it keeps the cluster's id";
    EXPECT_GT(front.position, 0u);
    EXPECT_LT(front.position, last.position);
    EXPECT_LT(front.fetch("x")->position, last.position);
}

TEST_F(EtcdRestored, refuses_a_swap_that_requires_what_was_reached_before) {
    etcd.restore_data();
    ASSERT_TRUE(front.comes_back_after(2));
    for (const WriteId expected : {WriteId(1), WriteId(2)}) {
        const auto refused = front.swap({.name = "x", .expected = expected, .becomes = 50, .position = last.position});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Code::store_lost);
        EXPECT_NE(refused.error().message.find("revision"), std::string::npos) << refused.error().message;
    }
    const auto done = front.swap({.name = "other", .becomes = 51, .position = front.position});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_TRUE(done->done);
    EXPECT_GT(done->position, front.position);
}

TEST_F(EtcdRestored, is_not_taken_for_what_was_remembered_of_it) {
    ASSERT_TRUE(loop.run_until([&] { return *front.overdue() == std::vector<std::string>{"x"}; }));
    etcd.restore_data();
    ASSERT_TRUE(front.comes_back_after(2));
    EXPECT_EQ(*front.overdue(), std::vector<std::string>());
    const auto first = front.fetch("x");
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->value.bytes, "first");
    EXPECT_EQ(front.fetch("x")->value.written_at, first->value.written_at) << "it ages from when it was seen again";
    EXPECT_EQ(front.fetch("y")->value.write, 0u);
    EXPECT_EQ(number_in_status(front, "records"), 1);
    EXPECT_TRUE(front.swap({.name = "y", .becomes = 40})->done);
    EXPECT_TRUE(front.swap({.name = "x", .expected = 1, .becomes = 41, .notice = "again", .due_in = 1ms})->done);
    EXPECT_TRUE(loop.run_until([&] { return front.notices.back() == "again"; })) << "it watches from now on";
    EXPECT_TRUE(loop.run_until([&] { return *front.overdue() == std::vector<std::string>{"x"}; }));
}

TEST_F(EtcdRestored, is_noticed_by_what_it_shows_even_if_its_revisions_are_higher_again) {
    relay.cut();
    ASSERT_TRUE(loop.run_until([&] { return !front.reachable; }));
    etcd.restore_data();
    const std::string key = R"({"key":"b3RoZXI=","value":"eA=="})";  // other, x
    for (cas::Position written = 0; written < last.position; ++written)
        ASSERT_NE(etcd.post("/v3/kv/put", key).find("header"), std::string::npos);
    relay.mend();
    ASSERT_TRUE(front.comes_back_after(2));
    EXPECT_GT(front.position, last.position) << "else this is another test";
    const auto older = front.fetch("x");
    ASSERT_FALSE(older);
    EXPECT_TRUE(says(older.error(), "older write")) << older.error().message;
    ASSERT_TRUE(front.comes_back_after(3));
    const auto first = front.fetch("x");
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->value.write, 1u);
    EXPECT_EQ(front.fetch("x")->value.written_at, first->value.written_at);
    EXPECT_TRUE(front.swap({.name = "x", .expected = 1, .becomes = 60})->done);
}

TEST(EtcdFailure, sends_a_thousand_calls_of_one_turn_together) {
    EtcdProcess etcd;
    Loop loop;
    Relay relay(loop.io, etcd.port());
    Front front(loop, relay.url());
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_TRUE(front.swap({.name = "first", .becomes = 1, .holders = {"me"}})->done);
    relay.turns = 0;
    int done = 0;
    for (int i = 0; i < 1000; ++i)
        front.begin({.name = "n" + std::to_string(i), .becomes = WriteId(10 + i), .holders = {"me"}},
                    [&](auto swapped) { done += swapped && swapped->done; });
    ASSERT_TRUE(loop.run_until([&] { return done == 1000; }));
    EXPECT_LT(relay.turns, 200) << "etcd gives 64 KiB of room at first, and each time it makes more it speaks";
    relay.turns = done = 0;
    for (int i = 0; i < 1000; ++i)
        front.engine().fetch(Kind::record, "n" + std::to_string(i),
                             [&](auto reading) { done += reading && reading->value.write != 0; });
    ASSERT_TRUE(loop.run_until([&] { return done == 1000; }));
    EXPECT_LT(relay.turns, 200);
}

TEST(EtcdFailure, reads_everything_again_if_etcd_has_compacted_what_it_missed) {
    EtcdProcess etcd;
    Loop loop;
    Relay relay(loop.io, etcd.port());
    Front behind(loop, impatient(relay.url())), other(loop, etcd.url());
    ASSERT_TRUE(behind.becomes_reachable() && other.becomes_reachable());
    ASSERT_TRUE(other.swap({.name = "gone", .becomes = 1, .due_in = 1ms})->done);
    ASSERT_TRUE(other.swap({.name = "stays", .becomes = 2})->done);
    ASSERT_TRUE(other.swap({.name = "changes", .becomes = 3, .notice = "seen"})->done);
    ASSERT_TRUE(loop.run_until([&] { return behind.notices == std::vector<std::string>{"seen"}; }));
    const auto known = behind.fetch("stays");
    relay.cut();
    ASSERT_TRUE(loop.run_until([&] { return !behind.reachable; }));
    ASSERT_TRUE(other.swap({.name = "gone", .expected = 1, .becomes = 4, .bytes = ""})->done);
    ASSERT_TRUE(other.swap({.name = "changes", .expected = 3, .becomes = 5, .notice = "missed", .due_in = 1ms})->done);
    for (std::uint64_t write = 6; write < 16; ++write)
        ASSERT_TRUE(other.swap({.name = "more" + std::to_string(write), .becomes = write})->done);
    const std::string revision = std::to_string(number_in_status(other, "revision"));
    ASSERT_NE(etcd.post("/v3/kv/compaction", R"({"revision":")" + revision + R"("})").find("header"),
              std::string::npos);
    relay.mend();
    ASSERT_TRUE(behind.becomes_reachable());
    EXPECT_EQ(behind.fetch("stays")->value.written_at, known->value.written_at) << "what it knew the age of";
    EXPECT_TRUE(loop.run_until([&] { return *behind.overdue() == std::vector<std::string>{"changes"}; }))
        << "that it has missed one, and that the other is gone";
    EXPECT_TRUE(behind.swap({.name = "changes", .expected = 5, .becomes = 20})->done);
    EXPECT_TRUE(behind.swap({.name = "gone", .expected = 0, .becomes = 21})->done);
    ASSERT_TRUE(other.swap({.name = "more", .becomes = 30, .notice = "again"})->done);
    EXPECT_TRUE(loop.run_until([&] { return !behind.notices.empty() && behind.notices.back() == "again"; }));
}

TEST(EtcdFailure, hears_after_a_short_break_what_was_said_in_it) {
    EtcdProcess etcd;
    Loop loop;
    Relay relay(loop.io, etcd.port());
    Front behind(loop, impatient(relay.url())), other(loop, etcd.url());
    ASSERT_TRUE(behind.becomes_reachable() && other.becomes_reachable());
    relay.cut();
    ASSERT_TRUE(loop.run_until([&] { return !behind.reachable; }));
    ASSERT_TRUE(other.swap({.name = "x", .becomes = 1, .notice = "in between"})->done);
    relay.mend();
    ASSERT_TRUE(behind.becomes_reachable());
    EXPECT_TRUE(loop.run_until([&] { return behind.notices == std::vector<std::string>{"in between"}; }));
}

TEST(EtcdFailure, is_away_while_etcd_has_no_space_and_back_when_it_has) {
    EtcdProcess etcd(1, {"--quota-backend-bytes", "2000000"});
    Loop loop;
    Front front(loop, etcd.url());
    ASSERT_TRUE(front.becomes_reachable());
    std::uint64_t write = 0;
    std::optional<Error> full;
    while (!full && write < 2000) {  // it counts now and then only
        auto swapped =
            front.swap({.name = "x", .expected = write, .becomes = write + 1, .bytes = std::string(100'000, 'b')});
        if (swapped)
            ++write;
        else
            full = swapped.error();
    }
    ASSERT_TRUE(full);
    EXPECT_TRUE(says(*full, "database space exceeded")) << full->message;
    EXPECT_FALSE(front.reachable) << "the connection is there, but nothing can be written";
    EXPECT_TRUE(says(front.why, "etcdserver: mvcc: database space exceeded")) << front.why.message;
    EXPECT_TRUE(says(front.why, "disarm")) << "and what to do";
    EXPECT_TRUE(says(front.fetch("x").error(), "database space exceeded"));
    const std::string revision = std::to_string(number_in_status(front, "revision"));
    etcd.post("/v3/kv/compaction", R"({"revision":")" + revision + R"(","physical":true})");
    etcd.post("/v3/maintenance/defragment", "{}");
    EXPECT_FALSE(front.reachable) << "as long as the alarm is on";
    const std::string alarms = etcd.post("/v3/maintenance/alarm", R"({"action":"GET"})");
    const std::size_t begin = alarms.find(R"("memberID":)"), end = alarms.find(R"(}])");
    ASSERT_TRUE(begin < end && end < alarms.size()) << alarms;
    etcd.post("/v3/maintenance/alarm", R"({"action":"DEACTIVATE",)" + alarms.substr(begin, end - begin) + "}");
    ASSERT_TRUE(front.becomes_reachable());
    EXPECT_EQ(front.times_unreachable, 1) << "it is told once";
    EXPECT_EQ(front.fetch("x")->value.write, WriteId(write));
    EXPECT_TRUE(front.swap({.name = "x", .expected = write, .becomes = write + 1})->done);
}

}  // namespace
}  // namespace holdfast::store::etcd
