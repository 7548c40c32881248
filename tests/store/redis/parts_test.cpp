#include <gtest/gtest.h>

#include "codec/resp/resp_command.h"
#include "store/redis/greeting.h"
#include "store/redis/indices.h"
#include "store/redis/nodes.h"
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
        EXPECT_EQ(options.error().code, "invalid_argument") << bad;
    }
    EXPECT_EQ(parse_redis_engine("redis://:secret@h?colour=1").error().message.find("secret"), std::string::npos);
    EXPECT_EQ(parse_redis_engine("redis://:secret@h:x").error().message.find("secret"), std::string::npos);
}

TEST(Stored, is_read_as_it_was_written) {
    for (const WriteId write : {WriteId{1}, WriteId{0xfedcba9876543210, 7}, WriteId{~0ULL, ~0ULL}})
        for (const EngineTime due : {at(-1ns), at(1'700'000'000'123'456'789ns), EngineTime::max()}) {
            const auto stored = read_stored(stored_header(write, at(1'700'000'000'999'999'999ns), due) + "by\ntes");
            ASSERT_TRUE(stored);
            EXPECT_EQ(stored->value.write, write);
            EXPECT_EQ(stored->value.written_at, at(1'700'000'000'999'999'999ns));
            EXPECT_EQ(stored->value.bytes, "by\ntes");
            EXPECT_EQ(stored->due.value_or(EngineTime::max()), due);
        }
    EXPECT_EQ(mark_of({0xc, 0xab}), "hf2 000000000000000c00000000000000ab");
}

TEST(Stored, is_nothing_that_somebody_else_wrote) {
    for (const char* bad :
         {"", "hf2 ", "hf2 0000000000000000000000000000000b", "hf2 0000000000000000000000000000000b 1 2",
          "hf2 00000000000000000000000000000000 1 2\n", "hf2 ab 1 2\n", "hf2 00000000000000000000000000000g0b 1 2\n",
          "hf2 0000000000000000000000000000000b x 2\n", "hf2 0000000000000000000000000000000b 1 x\n",
          "hf2 0000000000000000000000000000000b 1\n", "hf2 0000000000000000000000000000000b 1 2 3\n",
          "hf2 0000000000000000000000000000000b 99999999999999999999 2\n", "hf1 00000000000000ab 1 2\n",
          "{\"json\":1}\n"})
        EXPECT_FALSE(read_stored(bad)) << bad;
    EXPECT_TRUE(is_of_older_version("hf1 00000000000000ab 1 2\nbytes"));
    EXPECT_FALSE(is_of_older_version("{\"json\":1}\n"));
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
                                   keys.holder("h"), keys.folder("FILE:", "/a"), keys.due(7), keys.position()})
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
    names[static_cast<std::size_t>(Script::look)] = std::string(40, 'a');
    std::string by_name;
    CommandWriter(by_name, names, Script::look, "the key", 1).add(7);
    std::string in_full;
    codec::resp::write_command(in_full, {"EVAL", text_of(Script::look), "1", "the key", "7"});
    EXPECT_EQ(with_text(by_name, Script::look), in_full);
    std::string two_keys;
    CommandWriter(two_keys, names, Script::look, std::size_t{2}, 1).add("one").add("two").add(7);
    std::string two_in_full;
    codec::resp::write_command(two_in_full, {"EVAL", text_of(Script::look), "2", "one", "two", "7"});
    EXPECT_EQ(with_text(two_keys, Script::look), two_in_full);
    EXPECT_EQ(key_of(two_keys, 1), "two");
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

const HashKey some_key{1, 2};

TEST(IndexMemory, forgets_what_was_used_longest_ago) {
    IndexMemory memory{{.entries = 10, .bytes = 1 << 20}, some_key};
    for (Micros i = 1; i <= 100; ++i) {
        memory.use("r" + std::to_string(i)).due = i;
        EXPECT_LE(memory.size(), 11U);
        memory.use("always").due += 1;
    }
    EXPECT_EQ(memory.use("r100").due, 100);
    EXPECT_EQ(memory.find("r1"), nullptr);
    EXPECT_EQ(memory.find("always")->due, 100);
    IndexMemory small{{.entries = 1000, .bytes = 10'000}, some_key};
    for (int i = 0; i < 100; ++i)
        small.add_holder(small.use("r" + std::to_string(i)), std::string(1000, 'h'));
    EXPECT_LE(small.size(), 12U);
}

TEST(IndexMemory, keeps_what_is_needed_where_it_is) {
    IndexMemory memory{{.entries = 10, .bytes = 1 << 20}, some_key};
    Indexed& under_way = memory.use("under way");
    ++under_way.swaps;
    Indexed& waiting = memory.use("waiting");
    ++waiting.waiting;
    for (int i = 0; i < 100; ++i)
        memory.use("r" + std::to_string(i));
    EXPECT_EQ(memory.find("under way"), &under_way);
    EXPECT_EQ(memory.find("waiting"), &waiting);
    EXPECT_LE(memory.size(), 13U);
    under_way.swaps = 0;
    for (int i = 0; i < 100; ++i)
        memory.use("r" + std::to_string(i));
    EXPECT_EQ(memory.find("under way"), nullptr);
    const auto life = memory.life();
    memory.clear();
    EXPECT_NE(memory.life(), life);
    EXPECT_EQ(memory.find("waiting"), nullptr);
}

TEST(IndexMemory, finds_holders_by_name) {
    IndexMemory memory{{}, some_key};
    Indexed& indexed = memory.use("r");
    for (const char* name : {"m", "a", "z", "k"})
        memory.add_holder(indexed, name);
    for (const char* name : {"m", "a", "z", "k"})
        EXPECT_EQ(indexed.find(name)->name, name);
    EXPECT_EQ(indexed.find("b"), nullptr);
    indexed.erase(indexed.find("k"));
    EXPECT_EQ(indexed.find("k"), nullptr);
    EXPECT_EQ(indexed.holders.size(), 3U);
}

struct Freeing {
    IndexMemory memory{{}, some_key};
    FreedHolders freed;
    std::int64_t score = 0;

    explicit Freeing(FreedHolders::Limits limits) : freed(limits, some_key) {}

    Indexed::Holder& entry(const std::string& resource, const std::string& holder) {
        Indexed& indexed = memory.use(resource);
        Indexed::Holder* const known = indexed.find(holder);
        if (known != nullptr) return *known;
        Indexed::Holder& made = memory.add_holder(indexed, holder);
        made.score = ++score;
        return made;
    }
    void free(const std::string& resource, const std::string& holder, Instant now) {
        freed.add(resource, memory.use(resource), entry(resource, holder), now);
    }
    std::vector<std::string> take(Instant now) {
        std::vector<std::string> out;
        if (freed.has_work(now))
            for (const auto& one : freed.take(memory, now))
                out.push_back(one.resource + " of " + one.holder);
        std::ranges::sort(out);
        return out;
    }
};

TEST(FreedHolders, are_dropped_after_a_while_unless_they_are_needed_again) {
    Freeing rig{{.after = 3s}};
    const Instant start{100s};
    for (const char* resource : {"a", "b", "c", "d"})
        rig.free(resource, "me", start);
    rig.entry("b", "me").held = true;
    rig.memory.use("c").swaps = 1;
    rig.free("d", "me", start + 2s);
    EXPECT_TRUE(rig.take(start + 2s).empty());
    EXPECT_EQ(rig.take(start + 3s), (std::vector<std::string>{"a of me"}));
    EXPECT_EQ(rig.memory.find("a")->find("me"), nullptr);
    EXPECT_EQ(rig.take(start + 6s), (std::vector<std::string>{"d of me"})) << "freed once more since";
    EXPECT_EQ(rig.freed.size(), 0U);
    EXPECT_TRUE(rig.memory.find("b")->find("me") && rig.memory.find("c")->find("me"));
    EXPECT_FALSE(rig.memory.find("b")->is_needed());
    rig.memory.use("c").swaps = 0;
    rig.free("c", "me", start + 7s);
    EXPECT_EQ(rig.take(start + 10s), (std::vector<std::string>{"c of me"}));
}

TEST(FreedHolders, are_dropped_at_once_if_they_are_too_many) {
    Freeing rig{{.entries = 100, .of_holder = 8, .after = 3s}};
    const Instant now{100s};
    for (int i = 0; i < 8; ++i)
        rig.free(std::to_string(i), "walker", now);
    EXPECT_EQ(rig.take(now), (std::vector<std::string>{"0 of walker", "1 of walker", "2 of walker", "3 of walker"}));
    std::size_t dropped = 0;
    for (int i = 0; i < 200; ++i) {
        rig.free("r", "holder " + std::to_string(i), now);
        dropped += rig.take(now).size();
        EXPECT_LE(rig.freed.size(), 100U);
    }
    EXPECT_GE(dropped, 100U);
}

Instant here(Duration time) {
    return Instant{time};
}

TEST(NodeClock, is_known_to_have_stepped) {
    NodeClock clock;
    EXPECT_FALSE(clock.observe({.said = 5'000'000, .asked = here(1s), .received = here(1100ms)}));
    EXPECT_EQ(clock.at_most(here(2s)), at(6s)) << "as if it had been read when it was asked for";
    EXPECT_TRUE(clock.observe({.said = 10'000'000, .asked = here(2s), .received = here(2100ms)})) << "4 s ahead";
    EXPECT_FALSE(clock.observe({.said = 11'000'000, .asked = here(3s), .received = here(3100ms)}));
    EXPECT_TRUE(clock.observe({.said = 9'000'000, .asked = here(4s), .received = here(4100ms)})) << "3 s back";
}

}  // namespace
}  // namespace holdfast::store::redis
