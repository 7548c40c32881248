#include <gtest/gtest.h>

#include "store/cas/engine.h"
#include "store/postgres/answers.h"
#include "store/postgres/notices.h"
#include "store/postgres/params.h"
#include "store/postgres/postgres_engine.h"

namespace holdfast::store::postgres {
namespace {

std::string value_of(const PostgresEngineOptions& options, const std::string& wanted) {
    for (const auto& [name, value] : options.parameters)
        if (name == wanted) return value;
    return "(none)";
}

TEST(PostgresOptions, are_libpqs_but_for_our_own) {
    const auto options = parse_postgres_engine(
        "postgres://ann:p%40ss%2Fword@db.example:6432/leases?sslmode=require&schema=two&pool=7&application_name=x");
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->schema, "two");
    EXPECT_EQ(options->pool, 7u);
    EXPECT_EQ(value_of(*options, "user"), "ann");
    EXPECT_EQ(value_of(*options, "password"), "p@ss/word");
    EXPECT_EQ(value_of(*options, "host"), "db.example");
    EXPECT_EQ(value_of(*options, "port"), "6432");
    EXPECT_EQ(value_of(*options, "dbname"), "leases");
    EXPECT_EQ(value_of(*options, "sslmode"), "require");
    EXPECT_EQ(value_of(*options, "application_name"), "x");
}

TEST(PostgresOptions, have_defaults) {
    for (const char* url :
         {"postgresql://", "postgres:///leases", "postgres://a,b:1/leases?target_session_attrs=any"}) {
        const auto options = parse_postgres_engine(url);
        ASSERT_TRUE(options) << url << options.error().message;
        EXPECT_EQ(options->schema, "holdfast");
        EXPECT_EQ(options->pool, 4u);
        EXPECT_EQ(value_of(*options, "password"), "(none)");
    }
}

TEST(PostgresOptions, refuse_what_is_wrong_and_never_repeat_a_password) {
    for (const std::string query : {"?pool=0", "?pool=65", "?pool=x", "?pool", "?schema=", "?schema=A", "?schema=a-b",
                                    "?schema=1a", "?schema=pg_a", "?schema=a%00b", "?schema=%zz", "?unheard_of=1",
                                    "?schema=aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeee"}) {
        const auto options = parse_postgres_engine("postgres://ann:hunter2@host/db" + query);
        ASSERT_FALSE(options) << query;
        EXPECT_EQ(options.error().code, Code::invalid_argument);
        EXPECT_EQ(options.error().message.find("hunter2"), std::string::npos);
    }
    for (const char* url :
         {"", "redis://host", "postgres:/host", "postgres://ann:hunter2/x@[host", "postgres://ann:hunter2%zz@host"}) {
        const auto options = parse_postgres_engine(url);
        ASSERT_FALSE(options) << url;
        EXPECT_EQ(options.error().message.find("hunter2"), std::string::npos) << options.error().message;
    }
    EXPECT_FALSE(parse_postgres_engine(std::string_view("postgres://a\0b", 14)));
}

TEST(PostgresNotices, come_back_as_they_were_whatever_bytes_they_are_of) {
    Notices notices;
    const std::vector<std::string> sent{"one", std::string("\0\xff.,'", 5),
                                        std::string(cas::Engine::notice_bytes, '\xfb')};
    for (const std::string& notice : sent)
        notices.add(notice);
    std::vector<std::string> received;
    for (const std::string& payload : notices.take(100)) {
        EXPECT_LE(payload.size(), payload_bytes);
        const auto in_it = notices_in(payload);
        ASSERT_TRUE(in_it);
        received.insert(received.end(), in_it->begin(), in_it->end());
    }
    EXPECT_EQ(received, sent);
    EXPECT_TRUE(notices.empty());
    EXPECT_EQ(notices_in(payload_of("x"))->at(0), "x");
}

TEST(PostgresNotices, many_small_ones_share_few_payloads) {
    Notices notices;
    for (int i = 0; i < 1000; ++i)
        notices.add("notice number " + std::to_string(i));
    EXPECT_EQ(notices.take(2).size(), 2u);
    EXPECT_FALSE(notices.empty());
    EXPECT_LE(notices.take(100).size(), 2u);
    EXPECT_TRUE(notices.empty());
    EXPECT_TRUE(notices.take(100).empty());
}

TEST(PostgresNotices, that_pile_up_are_lost_from_the_oldest_on) {
    Notices notices;
    for (int i = 0; i < 2000; ++i)
        notices.add(std::string(cas::Engine::notice_bytes, 'x'));
    notices.add("last");
    const auto payloads = notices.take(10'000);
    EXPECT_LT(payloads.size(), 1000u);
    EXPECT_EQ(notices_in(payloads.back())->back(), "last");
}

TEST(PostgresNotices, of_somebody_else_are_none) {
    EXPECT_FALSE(notices_in("not = ours"));
    EXPECT_FALSE(
        notices_in("YWJj."
                   "!"));
    EXPECT_FALSE(notices_in("YQ=="));
}

TEST(PostgresParams, are_in_network_order_one_after_the_other) {
    const std::vector<std::string_view> texts{"ab", ""};
    const std::vector<std::int32_t> numbers{-2};
    Params params;
    params.small(-2).number(258).big(-1).bytes("xyz").byte_strings(texts).byte_strings({}).numbers(numbers).truth(
        false);
    const auto all = params.pointers();
    const auto value = [&](std::size_t i) {
        return std::string(all.values[i], static_cast<std::size_t>(all.lengths[i]));
    };
    ASSERT_EQ(params.count(), 8);
    EXPECT_EQ(value(0), "\xff\xfe");
    EXPECT_EQ(value(1), std::string("\0\0\1\2", 4));
    EXPECT_EQ(value(2), std::string(8, '\xff'));
    EXPECT_EQ(value(3), "xyz");
    EXPECT_EQ(value(4), R"({"\\x6162","\\x"})");
    EXPECT_EQ(all.formats[4], 0);
    EXPECT_EQ(value(5), "{}");
    EXPECT_EQ(value(6), std::string("\0\0\0\1\0\0\0\0\0\0\0\x17\0\0\0\1\0\0\0\1\0\0\0\4\xff\xff\xff\xfe", 28));
    EXPECT_EQ(value(7), std::string(1, '\0'));
    params.replace_last_truth(true);
    EXPECT_EQ(std::string(params.pointers().values[7], 1), "\1");
}

TEST(PostgresParams, of_several_are_arrays_of_what_each_has) {
    const std::vector<std::string_view> holders{"\xff"};
    Params one, other, all;
    one.big(1).bytes("ab").byte_strings(holders);
    other.big(2).bytes("").byte_strings({});
    const std::vector<const Params*> rows{&one, &other};
    all.column(rows, 0, Type::big).column(rows, 1, Type::bytea).column(rows, 2, Type::text).column({}, 0, Type::big);
    const auto pointers = all.pointers();
    const auto value = [&](std::size_t i) {
        return std::string(pointers.values[i], static_cast<std::size_t>(pointers.lengths[i]));
    };
    const auto array_of = [](char type) {
        return std::string("\0\0\0\1\0\0\0\0\0\0\0", 11) + type + std::string("\0\0\0\2\0\0\0\1", 8);
    };
    ASSERT_EQ(all.count(), 4);
    EXPECT_EQ(value(0), array_of(20) + std::string("\0\0\0\x8\0\0\0\0\0\0\0\1\0\0\0\x8\0\0\0\0\0\0\0\2", 24));
    EXPECT_EQ(value(1), array_of(17) + std::string("\0\0\0\2ab\0\0\0\0", 10));
    EXPECT_EQ(value(2), array_of(25) + std::string("\0\0\0\x9", 4) + R"({"\\xff"})" + std::string("\0\0\0\2{}", 6));
    EXPECT_EQ(value(3), std::string("\0\0\0\0\0\0\0\0\0\0\0\x14", 12));
}

TEST(PostgresServerClock, is_even_from_its_last_step_on) {
    const auto server = [](Duration time) { return cas::EngineTime(time); };
    const auto ours = [](Duration time) { return Instant(time); };
    ServerClock clock;
    EXPECT_EQ(clock.not_after(ours(1s), 2s), cas::EngineTime::max());
    EXPECT_FALSE(clock.is_even_for(0s, ours(1s)));
    clock.observe(server(1000s), ours(10s));
    EXPECT_EQ(clock.not_after(ours(11s), 2s), server(1003s));
    EXPECT_FALSE(clock.is_even_for(5s, ours(14s)));
    EXPECT_TRUE(clock.is_even_for(5s, ours(15s)));
    clock.observe(server(1004s + 900ms), ours(15s));
    EXPECT_TRUE(clock.is_even_for(5s, ours(15s)));
    clock.observe(server(2000s), ours(16s));
    EXPECT_FALSE(clock.is_even_for(5s, ours(20s)));
    EXPECT_EQ(clock.not_after(ours(16s), 2s), server(2002s));
    clock.observe(server(100s), ours(22s));
    EXPECT_FALSE(clock.is_even_for(5s, ours(22s)));
}

}  // namespace
}  // namespace holdfast::store::postgres
