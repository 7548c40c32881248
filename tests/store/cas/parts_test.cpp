#include <gtest/gtest.h>

#include "store/cas/engine_clock.h"
#include "store/cas/engine_store.h"
#include "store/cas/known_records.h"
#include "store/cas/notice.h"
#include "store/cas/request_number.h"

namespace holdfast::store::cas {
namespace {

constexpr Instant noon{1000s};
constexpr EngineTime morning{50s};

EngineClockBounds::Sample sample(Duration since_noon, Duration round_trip, Duration since_morning) {
    return {noon + since_noon, noon + since_noon + round_trip, morning + since_morning};
}

TEST(RequestNumber, names_the_server_that_counted_it) {
    const std::uint64_t first = first_request_of(max_request_origin);
    EXPECT_EQ(request_origin(first), max_request_origin);
    EXPECT_EQ(request_origin(first + (std::uint64_t{1} << 39)), max_request_origin);
    EXPECT_NE(first_request_of(7), 0U) << "zero is no request";
    EXPECT_EQ(request_origin(first_request_of(7)), 7U);
    EXPECT_NE(first_request_of(7), first_request_of(8));
}

TEST(EngineClockBounds, lie_between_when_a_question_was_sent_and_when_its_answer_came) {
    EngineClockBounds bounds;
    EXPECT_FALSE(bounds.usable(noon));
    EXPECT_EQ(bounds.add(sample(0s, 10ms, 0s)), Duration::zero());
    EXPECT_TRUE(bounds.usable(noon + 10ms));
    EXPECT_EQ(bounds.latest(noon + 10ms), morning + 10ms);
    EXPECT_EQ(bounds.earliest(noon + 10ms), morning);
    EXPECT_GE(bounds.latest(noon + 1s), morning + 1s) << "and they drift apart";
    EXPECT_LE(bounds.earliest(noon + 1s), morning + 990ms);
    EXPECT_GE(bounds.earliest(bounds.surely_past(morning + 1s)), morning + 1s);
    EXPECT_LE(bounds.surely_past(morning + 1s), noon + 1s + 15ms);
}

TEST(EngineClockBounds, are_drawn_closer_by_a_quick_answer_and_not_widened_by_a_slow_one) {
    EngineClockBounds bounds;
    bounds.add(sample(0s, 100ms, 50ms));
    bounds.add(sample(1s, 2ms, 1s + 1ms));
    bounds.add(sample(2s, 200ms, 2s + 20ms));
    EXPECT_LE(bounds.latest(noon + 3s) - bounds.earliest(noon + 3s), Duration{2ms + 6ms});
}

TEST(EngineClockBounds, cannot_be_used_when_they_are_old_or_wide) {
    EngineClockBounds bounds;
    bounds.add(sample(0s, 1s, 500ms));
    EXPECT_FALSE(bounds.usable(noon + 1s)) << "too wide";
    bounds.add(sample(2s, 1ms, 2s));
    EXPECT_TRUE(bounds.usable(noon + 3s));
    EXPECT_FALSE(bounds.usable(noon + 13s)) << "too old";
}

TEST(EngineClockBounds, notice_a_step_ahead_and_go_along_with_one_back) {
    EngineClockBounds bounds;
    bounds.add(sample(0s, 1ms, 0s));
    EXPECT_EQ(bounds.add(sample(60s, 1ms, 60s + 100ms)), Duration::zero()) << "clocks are set right by a little";
    EXPECT_EQ(bounds.add(sample(61s, 1ms, 1s)), Duration::zero());
    EXPECT_EQ(bounds.latest(noon + 61s + 1ms), morning + 1s + 1ms);
    const Duration ahead = bounds.add(sample(62s, 1ms, 62s));
    EXPECT_GT(ahead, 59s);
    EXPECT_LT(ahead, 61s);
    EXPECT_EQ(bounds.add(sample(63s, 1ms, 63s)), Duration::zero()) << "once";
    EXPECT_EQ(bounds.add(sample(64s, 1h, 64s + 30min)), Duration::zero()) << "a slow answer is no step";
}

TEST(EngineClockBounds, notice_a_step_that_is_more_than_holders_allow_for_and_the_answers_took) {
    for (const Duration took : {1ms, 20ms, 300ms}) {
        EngineClockBounds bounds;
        bounds.add(sample(0s, took, took / 2));
        const Duration step = 50ms + 5ms + took;
        EXPECT_GT(bounds.add(sample(1s, took, 1s + took / 2 + step)), Duration::zero()) << took.count();
    }
}

TEST(EngineClockBounds, notice_many_small_steps_that_come_faster_than_leases_end) {
    EngineClockBounds fast, slow;
    Duration fast_steps{}, slow_steps{};
    for (int second = 0; second < 60; ++second) {
        const Duration now = second * Duration{1s};
        fast_steps += fast.add(sample(now, 1ms, now + second * 20ms));
        slow_steps += slow.add(sample(now, 1ms, now + second * 3ms));
    }
    EXPECT_GT(fast_steps, 600ms);
    EXPECT_EQ(slow_steps, Duration::zero());
}

TEST(EngineClockBounds, go_on_from_what_was_known_at_an_earlier_start) {
    EngineClockBounds earlier, later;
    earlier.add(sample(0s, 1ms, 0s));
    later.resume(earlier.offset());
    EXPECT_FALSE(later.usable(noon + 60s)) << "that was long ago";
    EXPECT_GT(later.add(sample(60s, 1ms, 180s)), 119s);
    EngineClockBounds even;
    even.resume(earlier.offset());
    EXPECT_EQ(even.add(sample(60s, 1ms, 60s)), Duration::zero());
}

lease::Lease lease(lease::Token token, Duration expires) {
    lease::Lease made;
    made.token = token;
    made.ttl = 10s;
    made.holder = "alice";
    made.acquired_at = made.held_since = Instant{};
    made.expires_at = Instant{expires};
    return made;
}

StoredRecord kept_with(std::vector<lease::Lease> leases) {
    StoredRecord kept{WriteId(1, 1), morning, {}};
    kept.relative.record.leases = std::move(leases);
    return kept;
}

TEST(WriteId, has_bytes_of_one_length_in_the_order_of_the_ids) {
    for (const WriteId write : {WriteId{}, WriteId{1}, WriteId{0x0102030405060708, 0xf9fafbfcfdfeff00}})
        EXPECT_EQ(WriteId::from_bytes(write.bytes()), write);
    EXPECT_EQ((WriteId{0x0102030405060708, 9}.bytes()), std::string("\1\2\3\4\5\6\7\10\0\0\0\0\0\0\0\11", 16));
    EXPECT_LT((WriteId{1, ~0ULL}.bytes()), (WriteId{2, 0}.bytes()));
}

TEST(StoredRecord, comes_back_as_it_was_written) {
    const ClockRates rates(0);
    const Moment here{noon, morning};
    lease::Record record;
    record.leases.push_back(lease(7, 0s));
    record.leases[0].acquired_at = record.leases[0].held_since = noon;
    record.leases[0].expires_at = noon + 10s;
    record.last_token = 7;
    const StoredRecord kept = to_stored(record, here, rates, WriteId(3, 9));
    EXPECT_EQ(kept.write, (WriteId{3, 9}));
    EXPECT_EQ(record_here(kept, here, rates), record);
    const lease::Record elsewhere = record_here(kept, {Instant{5s}, morning + 4s}, rates);
    EXPECT_EQ(elsewhere.leases[0].expires_at, Instant{11s}) << "six of ten seconds are left (T1)";
}

TEST(StoredRecord, says_for_which_times_a_decision_on_it_holds) {
    StoredRecord kept = kept_with({lease(1, 10s), lease(2, 20s)});
    kept.relative.record.waiters.push_back({.id = 1, .until = Instant{15s}, .holder = {}, .session = {}});
    EXPECT_EQ(window_of(kept, morning).from, EngineTime::min());
    EXPECT_EQ(window_of(kept, morning).until, morning + 10s);
    EXPECT_EQ(window_of(kept, morning + 10s).from, morning + 10s);
    EXPECT_EQ(window_of(kept, morning + 16s).from, morning + 15s);
    EXPECT_EQ(window_of(kept, morning + 16s).until, morning + 20s);
    kept.relative.record.leases[1].resumable = true;
    EXPECT_EQ(window_of(kept, morning + 21s).until, morning + 20s + lease::limits::grace) << "R5";
}

TEST(StoredRecord, is_kept_for_as_long_as_its_leases_stay_answerable) {  // R3
    StoredRecord kept = kept_with({lease(1, 10s)});
    EXPECT_EQ(next_end(kept), morning + 10s);
    EXPECT_EQ(nothing_left_from(kept), morning + 10s + lease::limits::ended_kept);
    kept.relative.record.leases.clear();
    kept.relative.record.ended.push_back({1, lease::Ending::released, Instant{2s}});
    EXPECT_EQ(next_end(kept), EngineTime::max()) << "history needs nobody's care";
    EXPECT_EQ(nothing_left_from(kept), morning + 2s + lease::limits::ended_kept);
    kept.relative.record.past.push_back({"alice", Instant{2s}, 1h});
    EXPECT_EQ(nothing_left_from(kept), morning + 2s + 1h) << "R6";
    lease::Lease metered = lease(2, 10s);
    metered.metered = true;
    metered.held_since = Instant{-2h};
    kept.relative.record.leases = {metered};
    EXPECT_EQ(nothing_left_from(kept), morning + 10s + 2h + 10s) << "it may be forgotten only that long after its end";
}

TEST(StoredRecord, stops_at_the_ends_of_time) {
    StoredRecord kept = kept_with({lease(1, Duration::max())});
    kept.written_at = EngineTime::max() - 1s;
    EXPECT_EQ(nothing_left_from(kept), EngineTime::max());
    EXPECT_EQ(window_of(kept, EngineTime::min()).until, EngineTime::max());
    record_here(kept, {noon, EngineTime::min() + 1s}, ClockRates(0.01));
}

TEST(RecordNotice, comes_back_as_it_was_sent) {
    RecordNotice notice{
        WriteId(2, 5), "r", true, {{ChangeKind::granted, lease(9, 10s)}, {ChangeKind::expired, lease(3, 0s)}}, false};
    notice.changes[0].lease.metadata = "{}";
    const auto read = decode_notice(encode_notice(notice, Engine::notice_bytes));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->write, notice.write);
    EXPECT_EQ(read->resource, "r");
    EXPECT_TRUE(read->freed);
    EXPECT_FALSE(read->cut);
    ASSERT_EQ(read->changes.size(), 2U);
    EXPECT_EQ(read->changes[0].became, ChangeKind::expired);
    EXPECT_EQ(read->changes[1].lease, notice.changes[0].lease);
}

TEST(RecordNotice, leaves_out_what_there_is_no_room_for_and_says_so) {
    RecordNotice notice{WriteId(2, 5), "r", true, {{ChangeKind::granted, lease(9, 10s)}}, false};
    notice.changes[0].lease.metadata = std::string(8000, 'x');
    const auto without = decode_notice(encode_notice(notice, 7000));
    ASSERT_TRUE(without);
    EXPECT_TRUE(without->cut);
    ASSERT_EQ(without->changes.size(), 1U);
    EXPECT_EQ(without->changes[0].lease.metadata, "");
    notice.changes.resize(1000, notice.changes[0]);
    const std::string bytes = encode_notice(notice, 7000);
    EXPECT_LE(bytes.size(), 7000U);
    EXPECT_TRUE(decode_notice(bytes)->cut);
    EXPECT_EQ(decode_notice(bytes)->changes.size(), 0U);
}

TEST(RecordNotice, is_not_mistaken_for_anything_else) {
    EXPECT_FALSE(decode_notice(""));
    EXPECT_FALSE(decode_notice("policy"));
    EXPECT_FALSE(decode_notice("R"));
    EXPECT_FALSE(decode_notice("R\xff\xff\xff"));
    std::string bytes = encode_notice({WriteId(2, 5), "r", true, {{ChangeKind::granted, lease(9, 10s)}}, false}, 7000);
    for (std::size_t length = 0; length < bytes.size(); ++length)
        decode_notice(std::string_view(bytes).substr(0, length));
}

TEST(KnownRecords, are_those_that_were_used_last) {
    KnownRecords known(2, {1, 2});
    for (const char* name : {"a", "b"})
        known.put(name, kept_with({lease(1, 10s)}), {true, noon});
    EXPECT_NE(known.find("a"), nullptr);
    known.put("c", kept_with({lease(1, 10s), lease(2, 10s)}), {true, noon + 1s});
    EXPECT_EQ(known.find("b"), nullptr);
    EXPECT_EQ(known.leases(), 3U);
    EXPECT_EQ(*known.take_due(noon), "a");
    EXPECT_EQ(known.take_due(noon), nullptr) << "its time does not come twice";
    EXPECT_EQ(known.next_due(), noon + 1s);
    known.drop("c");
    EXPECT_EQ(known.leases(), 1U);
    EXPECT_EQ(known.next_due(), Instant::max());
}

TEST(KnownRecords, are_dropped_for_a_write_that_they_do_not_have) {
    KnownRecords known(10, {1, 2});
    known.put("r", kept_with({}), {true, Instant::max(), 77});
    known.drop_unless("r", WriteId(1, 1));
    known.drop_unless("r", 77);
    EXPECT_NE(known.find("r"), nullptr);
    known.drop_unless("r", 78);
    EXPECT_EQ(known.find("r"), nullptr);
}

}  // namespace
}  // namespace holdfast::store::cas
