#include "etcd_fixture.h"
#include "store/contract/marker_check.h"
#include "support/etcd_process.h"

namespace holdfast::store::etcd {
namespace {

using namespace std::chrono_literals;
using testing::Test;

class EtcdEngine : public Test {
 protected:
    static void SetUpTestSuite() { etcd_ = new EtcdProcess; }
    static void TearDownTestSuite() {
        delete etcd_;
        etcd_ = nullptr;
    }
    void SetUp() override { ASSERT_TRUE(a.becomes_reachable() && b.becomes_reachable()); }

    /// Each test has keys of its own.
    static std::string url() {
        return etcd_->url() + "/test-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    }

    static EtcdProcess* etcd_;
    Loop loop;
    Front a{loop, url()}, b{loop, url()};
};
EtcdProcess* EtcdEngine::etcd_ = nullptr;

TEST_F(EtcdEngine, keeps_what_was_written_and_says_when) {
    EXPECT_EQ(a.fetch("x")->value.write, 0u);
    const EngineTime before = engine_now();
    auto swapped = a.swap({.name = "x", .becomes = 7, .bytes = std::string("with \0 zero", 11)});
    ASSERT_TRUE(swapped) << swapped.error().message;
    EXPECT_TRUE(swapped->done);
    EXPECT_GE(swapped->now, before);
    const auto own = a.fetch("x");
    ASSERT_TRUE(own);
    EXPECT_EQ(own->value.write, 7u);
    EXPECT_EQ(own->value.bytes, std::string("with \0 zero", 11));
    EXPECT_GE(own->value.written_at, before);
    EXPECT_LE(own->value.written_at, swapped->now);
    EXPECT_EQ(b.fetch("x")->value.bytes, own->value.bytes);
}

TEST_F(EtcdEngine, counts_what_others_wrote_from_when_it_was_first_seen) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 7})->done);
    const EngineTime written = engine_now();
    const auto first = b.fetch("x");
    loop.run_for(100ms);
    const auto second = b.fetch("x");
    EXPECT_EQ(first->value.written_at, second->value.written_at);
    EXPECT_GT(second->now, first->now);
    Front late(loop, url());
    ASSERT_TRUE(late.becomes_reachable());
    EXPECT_GE(late.fetch("x")->value.written_at, written + 100ms) << "who came later counts from later";
}

TEST_F(EtcdEngine, writes_only_on_what_is_expected) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1, .bytes = "first"})->done);
    auto refused = b.swap({.name = "x", .expected = 0, .becomes = 2, .bytes = "second"});
    EXPECT_FALSE(refused->done);
    EXPECT_EQ(refused->found.write, 1u);
    EXPECT_EQ(refused->found.bytes, "first");
    refused = b.swap({.name = "x", .expected = 99, .becomes = 3});
    EXPECT_FALSE(refused->done);
    EXPECT_EQ(refused->found.write, 1u);
    EXPECT_TRUE(b.swap({.name = "x", .expected = 1, .becomes = 4, .bytes = "fourth"})->done);
    refused = a.swap({.name = "x", .expected = 1, .becomes = 5});
    EXPECT_FALSE(refused->done);
    EXPECT_EQ(refused->found.bytes, "fourth");
    refused = a.swap({.name = "never", .expected = 1, .becomes = 6});
    EXPECT_FALSE(refused->done);
    EXPECT_EQ(refused->found.write, 0u);
}

TEST_F(EtcdEngine, swaps_only_where_the_marker_is_still_what_was_seen) {
    contract::check_that_swaps_ask_for_the_marker([&](const cas::Swap& swap) {
        std::optional<Result<cas::Swapped>> answer;
        a.engine().swap(swap, [&](Result<cas::Swapped> swapped) { answer = std::move(swapped); });
        EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }));
        return answer.value_or(Error{Code::no_answer, "no answer"});
    });
}

TEST_F(EtcdEngine, lets_one_of_two_that_race_win_each_time) {
    WriteId known;
    std::uint64_t next = 1;
    int won_by_a = 0;
    for (int round = 0; round < 100; ++round) {
        std::optional<Result<cas::Swapped>> one, other;
        const WriteId of_a = next++, of_b = next++;
        const auto ask_a = [&] {
            a.begin({.name = "x", .expected = known, .becomes = of_a}, [&](auto r) { one = r; });
        };
        const auto ask_b = [&] {
            b.begin({.name = "x", .expected = known, .becomes = of_b}, [&](auto r) { other = r; });
        };
        round % 2 == 0 ? (ask_a(), ask_b()) : (ask_b(), ask_a());
        ASSERT_TRUE(loop.run_until([&] { return one && other; }));
        ASSERT_TRUE(*one && *other);
        ASSERT_NE((*one)->done, (*other)->done);
        known = (*one)->done ? of_a : of_b;
        won_by_a += (*one)->done;
        ASSERT_EQ(((*one)->done ? *other : *one)->found.write, known);
    }
    EXPECT_GT(won_by_a, 0);
    EXPECT_LT(won_by_a, 100);
}

TEST_F(EtcdEngine, refuses_what_is_decided_for_another_time) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1})->done);
    auto early = a.swap({.name = "x", .expected = 1, .becomes = 2, .from = engine_now() + 1h});
    ASSERT_TRUE(early);
    EXPECT_FALSE(early->done);
    EXPECT_EQ(early->found.write, 1u);
    EXPECT_TRUE(early->found.bytes.empty());
    const auto late = a.swap({.name = "x", .expected = 1, .becomes = 3, .until = engine_now()});
    EXPECT_FALSE(late->done);
    EXPECT_TRUE(
        a.swap({.name = "x", .expected = 1, .becomes = 4, .from = engine_now(), .until = engine_now() + 1h})->done);
}

TEST_F(EtcdEngine, takes_away_what_is_empty_and_tells_why) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1})->done);
    ASSERT_TRUE(a.swap({.name = "x", .expected = 1, .becomes = 2, .bytes = "", .notice = "it ended"})->done);
    EXPECT_TRUE(loop.run_until([&] { return b.notices == std::vector<std::string>{"it ended"}; }));
    EXPECT_EQ(a.fetch("x")->value.write, 0u);
    EXPECT_EQ(b.fetch("x")->value.write, 0u);
    EXPECT_TRUE(a.scan(Kind::record, "", "", 10)->entries.empty());
    EXPECT_TRUE(b.swap({.name = "x", .expected = 0, .becomes = 3})->done) << "on what is only a notice";
    ASSERT_TRUE(b.swap({.name = "x", .expected = 3, .becomes = 4, .bytes = ""})->done);
    EXPECT_TRUE(a.swap({.name = "x", .expected = 0, .becomes = 5})->done) << "on nothing at all";
}

TEST_F(EtcdEngine, tells_all_fronts_what_a_write_says) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1, .notice = "one"})->done);
    ASSERT_TRUE(
        b.swap({.name = "policy", .becomes = 2, .notice = std::string(7000, 'n'), .kind = Kind::document})->done);
    EXPECT_FALSE(a.swap({.name = "x", .expected = 9, .becomes = 3, .notice = "never"})->done);
    const std::vector<std::string> both{"one", std::string(7000, 'n')};
    EXPECT_TRUE(loop.run_until([&] { return a.notices == both && b.notices == both; }));
}

TEST_F(EtcdEngine, keeps_documents_apart_from_records) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1, .bytes = "record"})->done);
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 2, .bytes = "document", .kind = Kind::document})->done);
    EXPECT_EQ(b.fetch("x")->value.bytes, "record");
    EXPECT_EQ(b.fetch("x", Kind::document)->value.bytes, "document");
}

TEST_F(EtcdEngine, pages_through_names) {
    std::vector<std::string> expected;
    for (int i = 10; i < 35; ++i) {
        expected.push_back("n/" + std::to_string(i));
        ASSERT_TRUE(a.swap({.name = expected.back(), .becomes = WriteId(i)})->done);
    }
    ASSERT_TRUE(a.swap({.name = "other", .becomes = 100})->done);
    std::vector<std::string> seen;
    std::string after;
    int pages = 0;
    do {
        const auto page = b.scan(Kind::record, "n/", after, 10);
        ASSERT_TRUE(page);
        for (const std::string& name : names(page->entries))
            seen.push_back(name);
        after = page->next;
        ++pages;
    } while (!after.empty());
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(pages, 3);
}

TEST_F(EtcdEngine, finds_files_that_overlap) {
    std::uint64_t write = 1;
    for (const char* name : {"FILE:/a/**", "FILE:/a", "FILE:/a/b", "FILE:/a/b/**", "FILE:/a/b/c", "FILE:/ab",
                             "FILE:/**", "FILE:a/b", "@team/FILE:/a/b"})
        ASSERT_TRUE(a.swap({.name = name, .becomes = write++})->done);
    using Names = std::vector<std::string>;
    const auto sorted = [](Result<cas::FoundRecords> read) {
        Names found = names(read->entries);
        std::sort(found.begin(), found.end());
        return found;
    };
    EXPECT_EQ(sorted(b.overlapping("FILE:/a/b")), (Names{"FILE:/**", "FILE:/a/**"}));
    EXPECT_EQ(sorted(b.overlapping("FILE:/a/b/**")), (Names{"FILE:/**", "FILE:/a/**", "FILE:/a/b/c"}));
    EXPECT_EQ(sorted(b.overlapping("FILE:/a/**")), (Names{"FILE:/**", "FILE:/a/b", "FILE:/a/b/**", "FILE:/a/b/c"}));
    EXPECT_EQ(sorted(b.overlapping("@team/FILE:/**")), (Names{"@team/FILE:/a/b"}));
    EXPECT_EQ(sorted(b.overlapping("FILE:a/**")), (Names{"FILE:a/b"}));
    const auto cut = b.overlapping("FILE:/a/**", 2);
    EXPECT_EQ(cut->entries.size(), 2u);
    EXPECT_TRUE(cut->cut);
    EXPECT_FALSE(b.overlapping("FILE:/a/**", 4)->cut);
    std::string deep = "FILE:";
    for (int i = 0; i < 250; ++i)
        deep += "/d";
    EXPECT_EQ(sorted(b.overlapping(deep)), (Names{"FILE:/**"})) << "more folders than one transaction takes";
}

TEST_F(EtcdEngine, finds_what_a_holder_is_in) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1, .holders = {"me/too", "you"}})->done);
    ASSERT_TRUE(a.swap({.name = "y", .becomes = 2, .holders = {"me/too"}})->done);
    ASSERT_TRUE(a.swap({.name = "z", .becomes = 3, .holders = {"me"}})->done);
    EXPECT_EQ(names(b.of_holder("me/too")->entries), (std::vector<std::string>{"x", "y"}));
    EXPECT_EQ(names(b.of_holder("you")->entries), (std::vector<std::string>{"x"}));
    ASSERT_TRUE(b.swap({.name = "x", .expected = 1, .becomes = 4, .holders = {"you"}})->done);
    EXPECT_EQ(names(a.of_holder("me/too")->entries), (std::vector<std::string>{"y"}));
    EXPECT_EQ(names(a.of_holder("you")->entries), (std::vector<std::string>{"x"}));
    EXPECT_TRUE(a.of_holder("nobody")->entries.empty());
    const auto cut = a.of_holder("me/too", 0);
    EXPECT_TRUE(cut->entries.empty() && cut->cut);
}

TEST_F(EtcdEngine, finds_all_of_many_holders_and_of_many_records) {
    std::vector<std::string> many;
    for (int i = 0; i < 300; ++i)
        many.push_back("holder-" + std::to_string(i));
    auto crowd = a.swap({.name = "crowd", .becomes = 1, .holders = many});
    ASSERT_TRUE(crowd) << crowd.error().message;
    for (const char* one : {"holder-0", "holder-150", "holder-299"})
        EXPECT_EQ(names(b.of_holder(one)->entries), (std::vector<std::string>{"crowd"}));
    int done = 0;
    for (int i = 0; i < 1500; ++i)
        a.begin({.name = "many/" + std::to_string(i), .becomes = WriteId(10 + i), .holders = {"one"}},
                [&](auto result) { done += result && result->done; });
    ASSERT_TRUE(loop.run_until([&] { return done == 1500; }));
    const auto all = b.of_holder("one", 2000);
    EXPECT_EQ(all->entries.size(), 1500u);
    EXPECT_FALSE(all->cut);
    EXPECT_TRUE(b.of_holder("one", 1200)->cut);
}

TEST_F(EtcdEngine, names_what_is_overdue_until_somebody_writes_it) {
    ASSERT_TRUE(a.swap({.name = "soon", .becomes = 1, .due_in = 10ms})->done);
    ASSERT_TRUE(a.swap({.name = "later", .becomes = 2, .due_in = 1h})->done);
    EXPECT_TRUE(b.overdue()->empty());
    EXPECT_TRUE(loop.run_until([&] { return *b.overdue() == std::vector<std::string>{"soon"}; }));
    Front late(loop, url());
    ASSERT_TRUE(late.becomes_reachable());
    EXPECT_TRUE(loop.run_until([&] { return *late.overdue() == std::vector<std::string>{"soon"}; }))
        << "who came later";
    ASSERT_TRUE(b.swap({.name = "soon", .expected = 1, .becomes = 3})->done);
    EXPECT_TRUE(b.overdue()->empty());
    EXPECT_TRUE(loop.run_until([&] { return a.overdue()->empty(); }));
}

TEST_F(EtcdEngine, has_etcd_forget_a_record_that_nobody_needs_and_not_before) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1, .holders = {"me"}, .keep_for = 2s})->done);
    const auto written = std::chrono::steady_clock::now();
    ASSERT_TRUE(loop.run_until([&] { return b.fetch("x")->value.write == 0; }));
    EXPECT_GE(std::chrono::steady_clock::now() - written, 2s);
    EXPECT_TRUE(b.of_holder("me")->entries.empty());
    EXPECT_TRUE(a.swap({.name = "x", .expected = 0, .becomes = 2})->done);
}

TEST_F(EtcdEngine, keeps_a_record_that_is_written_again_in_time) {
    ASSERT_TRUE(a.swap({.name = "short", .becomes = 1, .keep_for = 1s})->done);
    ASSERT_TRUE(a.swap({.name = "renewed", .becomes = 2, .holders = {"me"}, .keep_for = 1s})->done);
    ASSERT_TRUE(b.swap({.name = "renewed", .expected = 2, .becomes = 3, .holders = {"me"}, .keep_for = 10min})->done);
    ASSERT_TRUE(loop.run_until([&] { return b.fetch("short")->value.write == 0; }));
    EXPECT_EQ(b.fetch("renewed")->value.write, 3u);
    EXPECT_EQ(names(b.of_holder("me")->entries), (std::vector<std::string>{"renewed"}));
}

TEST_F(EtcdEngine, takes_nothing_that_others_wrote_for_its_own) {
    // PREFIX/r/x = "junk", both in base64.
    const auto base64 = [](std::string text) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        std::string out;
        for (std::size_t i = 0; i < text.size(); i += 3) {
            std::uint32_t bits = 0;
            for (std::size_t j = 0; j < 3; ++j)
                bits = bits << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0u);
            for (std::size_t j = 0; j < 4; ++j)
                out += j <= text.size() - i ? digits[bits >> (18 - 6 * j) & 63] : '=';
        }
        return out;
    };
    const std::string prefix = url().substr(url().rfind('/') + 1);
    etcd_->post("/v3/kv/put", R"({"key":")" + base64(prefix + "/r/x") + R"(","value":")" + base64("junk") + R"("})");
    for (Front* front : {&a, &b}) {
        EXPECT_EQ(front->fetch("x").error().code, Code::store_unavailable);
        const auto swapped = front->swap({.name = "x", .expected = 0, .becomes = 1});
        ASSERT_FALSE(swapped);
        EXPECT_NE(swapped.error().message.find("not written by Holdfast"), std::string::npos)
            << swapped.error().message;
        EXPECT_EQ(front->scan(Kind::record, "", "", 10).error().code, Code::store_unavailable);
        EXPECT_TRUE(front->swap({.name = "y", .expected = 0, .becomes = 2})) << "the rest goes on";
        EXPECT_TRUE(front->reachable);
    }
}

TEST_F(EtcdEngine, takes_big_values_and_says_when_one_is_too_big) {
    const std::string big(1 << 20, 'b');
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1, .bytes = big})->done);
    EXPECT_TRUE(b.fetch("x")->value.bytes == big);
    const auto refused = a.swap({.name = "y", .becomes = 2, .bytes = std::string(3 << 20, 'b')});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::store_unavailable);
    EXPECT_NE(refused.error().message.find("larg"), std::string::npos) << refused.error().message;
    EXPECT_TRUE(a.reachable);
    EXPECT_EQ(a.fetch("y")->value.write, 0u);
}

TEST_F(EtcdEngine, says_what_people_should_know) {
    ASSERT_TRUE(a.swap({.name = "x", .becomes = 1})->done);
    const std::string status = a.engine().status();
    for (const char* part : {R"("engine":"etcd")", R"("version":"3.)", R"("reachable":true)", R"("revision":)",
                             R"("round_trip_us":)", R"("addresses":["127.0.0.1:)"})
        EXPECT_NE(status.find(part), std::string::npos) << status;
    EXPECT_EQ(a.history, b.history);
    EXPECT_EQ(a.engine().rho(), 0.01);
}

TEST_F(EtcdEngine, refuses_at_once_what_goes_beyond_its_bounds) {
    auto options = *parse_etcd_engine(url());
    options.max_calls = 10;
    Front small(loop, options);
    ASSERT_TRUE(small.becomes_reachable());
    int answered = 0, refused = 0;
    for (int i = 0; i < 100; ++i)
        small.engine().fetch(Kind::record, "x", [&](Result<cas::Reading> result) {
            ++answered;
            if (!result) refused += result.error().code == Code::store_unavailable;
        });
    ASSERT_TRUE(loop.run_until([&] { return answered == 100; }));
    EXPECT_GE(refused, 90);
    EXPECT_LT(refused, 100);
    EXPECT_TRUE(small.reachable);
    options.max_calls = 1000;
    options.max_unsent_bytes = 100'000;
    Front narrow(loop, options);
    ASSERT_TRUE(narrow.becomes_reachable());
    EXPECT_FALSE(narrow.swap({.name = "x", .becomes = 1, .bytes = std::string(200'000, 'b')}));
    EXPECT_TRUE(narrow.swap({.name = "x", .becomes = 2})->done);
}

TEST_F(EtcdEngine, answers_what_is_under_way_when_it_is_stopped) {
    Front other(loop, url());
    ASSERT_TRUE(other.becomes_reachable());
    int failed = 0;
    other.engine().fetch(Kind::record, "x", [&](Result<cas::Reading> result) { failed += !result; });
    other.begin({.name = "x", .becomes = 1}, [&](Result<cas::Swapped> result) { failed += !result; });
    other.engine().stop();
    other.engine().fetch(Kind::record, "x", [&](Result<cas::Reading> result) { failed += !result; });
    EXPECT_TRUE(loop.run_until([&] { return failed == 3; }));
    EXPECT_EQ(other.times_unreachable, 0) << "nothing is told any more";
}

}  // namespace
}  // namespace holdfast::store::etcd
