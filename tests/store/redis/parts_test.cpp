#include <gtest/gtest.h>

#include "codec/resp/resp_command.h"
#include "store/redis/greeting.h"
#include "store/redis/redis_engine.h"
#include "store/redis/scripts.h"
#include "store/redis/slots.h"
#include "store/redis/stored.h"

namespace holdfast::store::redis {
namespace {

EngineTime at(Duration time) {
    return EngineTime{time};
}

TEST(RedisOptions, reads_every_part_of_the_address) {
    const auto options =
        parse_redis_engine("redis://me:p%3Fss@db.example:7000/3?prefix=a.b:c&wait=2&wait_ms=250&cluster=0");
    ASSERT_TRUE(options) << options.error().message;
    EXPECT_EQ(options->address, (codec::resp::RedisAddress{"db.example", 7000, "me", "p?ss", 3}));
    EXPECT_EQ(options->prefix, "a.b:c");
    EXPECT_EQ(options->wait, 2U);
    EXPECT_EQ(options->wait_within, Duration{250ms});
    EXPECT_FALSE(options->cluster);
    EXPECT_EQ(parse_redis_engine("redis://localhost")->prefix, "holdfast");
    EXPECT_TRUE(parse_redis_engine("redis://localhost?cluster=1")->cluster);
}

TEST(RedisOptions, refuses_what_it_does_not_know_and_keeps_the_password_to_itself) {
    for (const char* bad :
         {"redis://h?colour=1", "redis://h?wait", "redis://h?wait=x", "redis://h?wait=101", "redis://h?wait_ms=0",
          "redis://h?cluster=2", "redis://h?prefix=", "redis://h?prefix=a%20b", "redis://h?prefix=%7Ba",
          "redis://h/1?cluster=1", "redis://h?prefix=%zz", "rediss://h", "redis://h?&"}) {
        const auto options = parse_redis_engine(bad);
        ASSERT_FALSE(options) << bad;
        EXPECT_EQ(options.error().code, Code::invalid_argument) << bad;
    }
    EXPECT_EQ(parse_redis_engine("redis://:secret@h?colour=1").error().message.find("secret"), std::string::npos);
    EXPECT_EQ(parse_redis_engine("redis://:secret@h:x").error().message.find("secret"), std::string::npos);
}

cas::Swap swap_of(WriteId becomes, EngineTime written_at) {
    cas::Swap swap;
    swap.name = "@team/FILE:/a/b/**";
    swap.becomes = becomes;
    swap.written_at = written_at;
    return swap;
}

TEST(Stored, is_read_as_it_was_written) {
    const std::vector<std::string_view> holders{"me", "you"};
    for (const WriteId write : {WriteId{1}, WriteId{0xfedcba9876543210, 7}, WriteId{~0ULL, ~0ULL}})
        for (const EngineTime time : {at(-1ns), at(1'700'000'000'123'456'789ns), EngineTime::max()})
            for (const Kind kind : {Kind::record, Kind::document}) {
                cas::Swap swap = swap_of(write, at(1'700'000'000'999'999'999ns));
                swap.kind = kind;
                swap.due = swap.keep_until = time;
                swap.holders = holders;
                const auto stored = read_stored(stored_header(swap) + "by\ntes");
                ASSERT_TRUE(stored);
                EXPECT_EQ(stored->write, write);
                EXPECT_EQ(stored->written_at, at(1'700'000'000'999'999'999ns));
                EXPECT_EQ(stored->bytes, "by\ntes");
            }
    EXPECT_EQ(mark_of({0xc, 0xab}), "hf3 000000000000000c00000000000000ab");
}

TEST(Stored, says_what_the_scripts_read) {
    const std::vector<std::string_view> holders{"me", "you"};
    cas::Swap swap = swap_of(0xab, at(5ns));
    const std::string mark = mark_of(0xab);
    EXPECT_EQ(stored_header(swap), mark + " 00000000\n5 - - 11 13\n");
    swap.holders = holders;
    swap.due = swap.keep_until = at(1500ns);
    EXPECT_EQ(stored_header(swap), mark + " 00000007\nme\nyou\n5 1 2 11 13\n") << "no end is too early";
    swap.kind = Kind::document;
    EXPECT_EQ(stored_header(swap), mark + " 00000007\nme\nyou\n5 1 2\n");
}

TEST(Stored, is_nothing_that_somebody_else_wrote) {
    const std::string write = "hf3 0000000000000000000000000000000b";
    for (const std::string& bad : std::vector<std::string>{"",
                                                           "hf3 ",
                                                           write,
                                                           write + " 00000000",
                                                           write + " 00000000\n",
                                                           write + " 00000000\n1 - -",
                                                           write + " 00000003\nme\n",
                                                           write + " 00000004\nme\n1 - -\n",
                                                           write + " ffffffff\n1 - -\n",
                                                           write + " 0000000x\n1 - -\n",
                                                           write + " 00000000 1 - -\n",
                                                           write + " 00000000\nx - -\n",
                                                           write + " 00000000\n1 x -\n",
                                                           write + " 00000000\n1 - x\n",
                                                           write + " 00000000\n1 -\n",
                                                           write + " 00000000\n99999999999999999999 - -\n",
                                                           write + " 00000000\n" + std::string(600, '1'),
                                                           "hf3 00000000000000000000000000000000 00000000\n1 - -\n",
                                                           "hf3 00000000000000000000000000000g0b 00000000\n1 - -\n",
                                                           "hf2 0000000000000000000000000000000b 1 2\n",
                                                           "{\"json\":1}\n"})
        EXPECT_FALSE(read_stored(bad)) << bad;
    EXPECT_TRUE(read_stored(write + " 00000000\n1 - -\n"));
    EXPECT_TRUE(is_of_older_version("hf1 00000000000000ab 1 2\nbytes"));
    EXPECT_TRUE(is_of_older_version("hf2 0000000000000000000000000000000b 1 2\nbytes"));
    EXPECT_FALSE(is_of_older_version(write));
    EXPECT_FALSE(is_of_older_version("{\"json\":1}\n"));
}

TEST(Notices, share_a_message) {
    const std::string longest(cas::Engine::notice_bytes, 'x');
    EXPECT_EQ(notices_in(with_length("first") + with_length(longest) + with_length("")),
              (std::vector<std::string_view>{"first", longest, ""}));
    EXPECT_TRUE(notices_in("").empty());
    for (const char* bad : {"what somebody else says", "0005four", "000", "-001x", "0001xy"})
        EXPECT_TRUE(notices_in(bad).empty()) << bad;
}

TEST(Micros, are_rounded_so_that_a_window_only_becomes_narrower) {
    EXPECT_EQ(micros_up(at(1001ns)), 2);
    EXPECT_EQ(micros_down(at(1999ns)), 1);
    EXPECT_EQ(micros_up(at(-1001ns)), -1);
    EXPECT_EQ(micros_down(at(-1ns)), -1);
    EXPECT_EQ(from_micros(5), at(5us));
    EXPECT_EQ(read_time("1700000000", "000042"), 1'700'000'000'000'042);
    for (const auto& [seconds, micros] :
         {std::pair{"", "1"}, {"1", ""}, {"1", "1000000"}, {"-1", "0"}, {"1", "x"}, {"99999999999", "0"}})
        EXPECT_FALSE(read_time(seconds, micros)) << seconds << ' ' << micros;
}

TEST(Keys, escape_what_a_pattern_means) {
    const Keys keys{"hf", Keys::In::one_redis};
    EXPECT_EQ(keys.pattern(Kind::record, "a*[b]?\\"), "hf:r:a\\*\\[b\\]\\?\\\\*");
    EXPECT_EQ(keys.name_of(Kind::document, "hf:d:policy"), "policy");
}

TEST(Keys, of_a_cluster_are_all_in_one_slot) {
    const Keys keys{"hf", Keys::In::cluster};
    EXPECT_EQ(keys.kept(Kind::record, "x"), "{hf}:r:x");
    for (const std::string& key : {keys.kept(Kind::record, "{other}x"), keys.kept(Kind::document, "policy"),
                                   keys.holder("h"), keys.folder("FILE:/a"), keys.due(), keys.position()})
        EXPECT_EQ(slot_of(key), slot_of("{hf}")) << key;
}

TEST(Slots, are_those_of_redis) {
    EXPECT_EQ(crc16("123456789"), 0x31c3);
    EXPECT_EQ(slot_of("foo"), 12182);
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
    EXPECT_EQ(slot_of("foo{}{bar}"), crc16("foo{}{bar}") % slot_count);
    EXPECT_EQ(slot_of("foo{{bar}}zap"), crc16("{bar") % slot_count);
    EXPECT_EQ(slot_of("foo{bar}{zap}"), crc16("bar") % slot_count);
    EXPECT_EQ(slot_of("foo{bar"), crc16("foo{bar") % slot_count);
}

codec::resp::Value number(std::int64_t value) {
    return {.type = codec::resp::Value::Type::integer, .number = value};
}
codec::resp::Value text(const std::string& value) {
    return {.type = codec::resp::Value::Type::text, .text = value};
}
codec::resp::Value list(std::vector<codec::resp::Value> items) {
    return {.type = codec::resp::Value::Type::array, .items = std::move(items)};
}

TEST(Slots, have_the_owner_that_a_cluster_names) {
    const auto said = list({list({number(8192), number(16000), list({text("10.0.0.2"), number(7001), text("bb")})}),
                            list({number(0), number(8191), list({text(""), number(7000), text("aa")})})});
    const auto first = read_slots(said, 8191, "seed");
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(first->master);
    EXPECT_EQ(first->master->id, "aa");
    EXPECT_EQ(first->master->place, (Place{"seed", 7000}));
    EXPECT_EQ(first->masters, (std::vector<Place>{{"10.0.0.2", 7001}, {"seed", 7000}}));
    EXPECT_EQ(read_slots(said, 8192, "seed")->master->id, "bb");
    const auto nobody = read_slots(said, 16001, "seed");
    ASSERT_TRUE(nobody) << nobody.error().message;
    EXPECT_FALSE(nobody->master);
}

TEST(Slots, are_refused_if_they_make_no_sense) {
    const auto node = list({text("h"), number(7000), text("aa")});
    for (const codec::resp::Value& bad :
         {number(1), list({}), list({number(1)}), list({list({number(0), number(1)})}),
          list({list({number(5), number(1), node})}), list({list({number(0), number(16384), node})}),
          list({list({number(0), number(1), list({text("h"), number(0), text("aa")})})}),
          list({list({number(0), number(1), list({text("h"), number(1), number(2)})})})})
        EXPECT_FALSE(read_slots(bad, 0, "seed"));
}

TEST(Scripts, go_out_by_name_or_in_full_with_the_same_arguments) {
    ScriptNames names;
    names[static_cast<std::size_t>(Script::fetch)] = std::string(40, 'a');
    std::string by_name;
    CommandWriter(by_name, names, Script::fetch, 2, 1).add("one").add("two").add(7);
    std::string in_full;
    codec::resp::write_command(in_full, {"EVAL", text_of(Script::fetch), "2", "one", "two", "7"});
    EXPECT_EQ(with_text(by_name, Script::fetch), in_full);
    EXPECT_EQ(key_of(by_name, 1), "two");
}

TEST(Folders, have_sets_down_to_a_depth) {
    EXPECT_EQ(folders_above("/a/b/c"), (std::vector<std::string_view>{"", "/a", "/a/b"}));
    EXPECT_EQ(folders_above("a/b"), (std::vector<std::string_view>{"a"}));
    EXPECT_TRUE(folders_above("").empty());
    std::string deep;
    for (int i = 0; i < 500; ++i)
        deep += "/x";
    EXPECT_EQ(folders_above(deep).size(), max_folder_depth + 1);
    EXPECT_EQ(folder_with_set(deep), folders_above(deep).back());
    EXPECT_EQ(folder_with_set(deep.substr(0, 2 * max_folder_depth)), deep.substr(0, 2 * max_folder_depth));
    EXPECT_EQ(folders_above(deep.substr(0, 2 * max_folder_depth) + "/y").back(), deep.substr(0, 2 * max_folder_depth));
}

TEST(Folders, are_named_with_their_scope) {
    using Names = std::vector<std::string_view>;
    EXPECT_EQ(folders_of("FILE:/a/b"), (Names{"FILE:", "FILE:/a"}));
    EXPECT_EQ(folders_of("FILE:/a/**"), (Names{"FILE:"}));
    EXPECT_EQ(folders_of("FILE:/**"), Names{});
    EXPECT_EQ(folders_of("@team/FILE:/a/b/**"), (Names{"@team/FILE:", "@team/FILE:/a"}));
    EXPECT_EQ(folders_of("other/name"), Names{});
}

}  // namespace
}  // namespace holdfast::store::redis
