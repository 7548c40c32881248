#include "etcd_fixture.h"
#include "store/etcd/etcd_keys.h"
#include "store/etcd/lease_spans.h"
#include "store/etcd/seen_writes.h"

namespace holdfast::store::etcd {
namespace {

using namespace std::chrono_literals;

TEST(EtcdAddress, names_members_prefix_and_credentials) {
    const auto plain = parse_etcd_engine("etcd://db");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->members, std::vector<std::string>{"db:2379"});
    EXPECT_EQ(plain->prefix, "holdfast");
    const auto all = parse_etcd_engine("etcd://me:p%40ss:w@a:1,[::1]:2,c/some/folder/");
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->members, (std::vector<std::string>{"a:1", "[::1]:2", "c:2379"}));
    EXPECT_EQ(all->user, "me");
    EXPECT_EQ(all->password, "p@ss:w");
    EXPECT_EQ(all->prefix, "some/folder");
}

TEST(EtcdAddress, is_refused_in_words_that_do_not_repeat_the_password) {
    for (const char* url :
         {"etcd://", "etcd://:2379", "etcd://a:0", "etcd://a:70000", "etcd://a,,b", "etcd://a b:1", "etcd://me:secret@",
          "etcd://me@a", "etcd://me:@a", "etcd://:secret@a", "etcd://me:secret@a:x", "etcd://me:secret@a?tls=1",
          "https://a", "etcds://me:secret@a", "redis://a", "etcd://a/%zz", "etcd://me:secret%@a", "etcd://a/x%00y"}) {
        const auto parsed = parse_etcd_engine(url);
        ASSERT_FALSE(parsed) << url;
        EXPECT_EQ(parsed.error().code, Code::invalid_argument);
        EXPECT_EQ(parsed.error().message.find("secret"), std::string::npos) << parsed.error().message;
    }
    EXPECT_NE(parse_etcd_engine("https://a:2379").error().message.find("cleartext"), std::string::npos);
}

TEST(EtcdKeys, are_what_they_are_the_keys_of) {
    const EtcdKeys keys("p");
    EXPECT_EQ(keys.key(Kind::record, "a/b"), "p/r/a/b");
    EXPECT_EQ(keys.key(Kind::document, "policy"), "p/d/policy");
    EXPECT_EQ(keys.holder_key("me/too", "a/b"), "p/by-holder/me%2Ftoo/a/b");
    EXPECT_EQ(keys.resource_in("p/by-holder/me%2Ftoo/a/b", "me/too"), "a/b");
    EXPECT_EQ(keys.named("p/r/a/b")->name, "a/b");
    EXPECT_EQ(keys.named("p/d/x")->kind, Kind::document);
    for (const char* other : {"p/by-holder/x/y", "q/r/x", "p/r", "p/connection/x"})
        EXPECT_FALSE(keys.named(other)) << other;
}

TEST(EtcdKeys, lie_in_what_is_watched_if_they_are_kept_and_nowhere_else) {
    const EtcdKeys keys("p");
    const KeyRange watched = keys.kept();
    const auto in = [&](const std::string& key) { return key >= watched.first && key < watched.end; };
    EXPECT_TRUE(in(keys.key(Kind::record, "")) && in(keys.key(Kind::record, "\xf4\x8f\xbf\xbf")));
    EXPECT_TRUE(in(keys.key(Kind::document, "x")));
    EXPECT_FALSE(in(keys.holder_key("h", "r")) || in(keys.connection_key("1")));
}

SeenWrite seen(std::int64_t revision, WriteId write, EngineTime since, EngineTime due = EngineTime::max()) {
    SeenWrite one;
    one.revision = revision;
    one.write = write;
    one.since = since;
    one.due = due;
    return one;
}

constexpr EngineTime start{1h};

TEST(SeenWrites, keeps_when_a_write_was_seen_first) {
    SeenWrites table({});
    EXPECT_EQ(table.tell("k", seen(5, 1, start)), start);
    EXPECT_EQ(table.tell("k", seen(5, 1, start + 1s)), start);
    EXPECT_EQ(table.tell("k", seen(6, 2, start + 2s)), start + 2s) << "another write";
    EXPECT_EQ(table.tell("k", seen(6, 2, start + 1s), true), start + 1s) << "who wrote it knows better";
    EXPECT_EQ(table.tell("k", seen(6, 2, start + 9s)), start + 1s);
}

TEST(SeenWrites, goes_by_the_higher_revision_whatever_comes_first) {
    SeenWrites table({});
    table.tell("k", seen(6, 2, start));
    table.tell("k", seen(5, 1, start + 1s));
    EXPECT_EQ(table.find("k")->write, 2u);
    table.tell_absent("k", 5, start + 1s);
    EXPECT_TRUE(table.find("k")->there);
    table.tell_absent("k", 7, start + 2s);
    EXPECT_FALSE(table.find("k")->there);
    table.tell("k", seen(6, 2, start + 3s));
    EXPECT_FALSE(table.find("k")->there) << "an answer from before it was deleted";
    table.tell("k", seen(8, 3, start + 4s));
    EXPECT_EQ(table.find("k")->write, 3u);
}

TEST(SeenWrites, forgets_deletions_after_a_while) {
    SeenWrites table({.max_keys = 10, .deletions_for = 10s});
    table.tell("k", seen(5, 1, start));
    table.tell_absent("k", 6, start);
    table.tell_absent("other", 6, start + 9s);
    EXPECT_NE(table.find("k"), nullptr);
    table.tell_absent("other", 6, start + 10s);
    EXPECT_EQ(table.find("k"), nullptr);
    table.tell("k", seen(7, 2, start));
    table.tell_absent("k", 8, start + 20s);
    table.tell("k", seen(9, 3, start + 21s));
    table.tell_absent("other", 8, start + 40s);
    EXPECT_EQ(table.find("k")->write, 3u) << "it was made again";
}

TEST(SeenWrites, names_what_is_due_in_order) {
    SeenWrites table({});
    table.tell("b", seen(1, 1, start, start + 2s));
    table.tell("a", seen(2, 2, start, start + 1s));
    table.tell("c", seen(3, 3, start, start + 3s));
    table.tell("never", seen(4, 4, start));
    EXPECT_EQ(table.due_before(start + 3s, 10), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(table.due_before(start + 9s, 1), (std::vector<std::string>{"a"}));
    table.tell("a", seen(5, 5, start, start + 8s));
    table.tell_absent("b", 6, start);
    EXPECT_EQ(table.due_before(start + 9s, 10), (std::vector<std::string>{"c", "a"}));
}

TEST(SeenWrites, drops_what_a_review_did_not_show_and_keeps_the_age_of_the_rest) {
    SeenWrites table({});
    table.tell("gone", seen(1, 1, start, start));
    table.tell("stays", seen(2, 2, start));
    table.begin_review();
    EXPECT_EQ(table.tell("stays", seen(2, 2, start + 1h)), start);
    table.tell("new", seen(3, 3, start));
    table.end_review();
    EXPECT_EQ(table.find("gone"), nullptr);
    EXPECT_NE(table.find("new"), nullptr);
    EXPECT_EQ(table.size(), 2u);
    EXPECT_TRUE(table.due_before(start + 1h, 10).empty());
}

TEST(SeenWrites, believes_lower_revisions_once_it_was_cleared) {
    SeenWrites table({});
    table.tell("k", seen(9, 1, start, start + 1s));
    table.tell("gone", seen(8, 2, start));
    table.tell_absent("gone", 10, start);
    table.clear();
    EXPECT_EQ(table.size(), 0u);
    EXPECT_TRUE(table.due_before(start + 1h, 10).empty());
    EXPECT_EQ(table.tell("k", seen(3, 4, start + 2s)), start + 2s);
    EXPECT_EQ(table.find("k")->write, 4u);
    table.tell("gone", seen(4, 5, start + 2s));
    table.tell_absent("other", 5, start + 1h);
    EXPECT_EQ(table.find("gone")->write, 5u) << "the deletion is forgotten as well";
}

TEST(SeenWrites, takes_no_more_than_there_is_room_for) {
    SeenWrites table({.max_keys = 2});
    table.tell("a", seen(1, 1, start));
    table.tell("b", seen(2, 2, start));
    EXPECT_TRUE(table.full());
    EXPECT_EQ(table.tell("c", seen(3, 3, start + 5s)), start + 5s);
    EXPECT_EQ(table.find("c"), nullptr);
    EXPECT_EQ(table.tell("a", seen(4, 4, start + 6s)), start + 6s) << "who is known stays so";
    EXPECT_EQ(table.find("a")->write, 4u);
}

class LeaseSpansTest : public testing::Test {
 protected:
    LeaseNumber lease(EngineTime until, EngineTime now) {
        const auto got = std::make_shared<LeaseNumber>(0);  // it may be told later
        spans.lasting_until(until, now, [got](Result<LeaseNumber> result) { *got = result ? *result : -1; });
        return *got;
    }
    void grant_all() {
        for (auto& [seconds, reply] : std::exchange(asked, {})) {
            granted.push_back(seconds);
            reply(static_cast<LeaseNumber>(granted.size()));
        }
    }

    std::vector<std::pair<std::int64_t, LeaseSpans::Granted>> asked;
    std::vector<std::int64_t> granted;
    LeaseSpans spans{0.01, [this](std::int64_t seconds, LeaseSpans::Granted reply) {
                         asked.emplace_back(seconds, std::move(reply));
                     }};
};

TEST_F(LeaseSpansTest, are_shared_by_what_lasts_about_as_long) {
    EXPECT_EQ(lease(start + 31s, start), 0) << "it has to be asked for";
    grant_all();
    const LeaseNumber first = lease(start + 31s, start);
    EXPECT_EQ(first, 1);
    EXPECT_EQ(lease(start + 39s, start + 5s), first);
    EXPECT_GE(granted[0], 40 * 1.01 + 5) << "it outlasts all that share it, by etcd's clock too";
    EXPECT_LE(granted[0], 60);
}

TEST_F(LeaseSpansTest, are_there_ahead_of_need) {
    lease(start + 31s, start);
    grant_all();
    EXPECT_EQ(lease(start + 31s, start), 1);
    grant_all();
    EXPECT_EQ(lease(start + 41s, start + 10s), 2) << "at once";
}

TEST_F(LeaseSpansTest, are_few_however_much_there_is) {
    for (int i = 0; i < 20'000; ++i) {
        lease(start + i * 1s + std::chrono::seconds(i * 37 % 3600), start + i * 1s);
        grant_all();
    }
    EXPECT_LE(spans.size(), 150u);
}

TEST_F(LeaseSpansTest, tell_all_that_wait_for_one_that_there_is_none) {
    std::vector<std::string> failures;
    for (int i = 0; i < 3; ++i)
        spans.lasting_until(start + 5s, start,
                            [&](Result<LeaseNumber> result) { failures.push_back(result.error().message); });
    ASSERT_EQ(asked.size(), 1u);
    std::exchange(asked, {})[0].second(Error{Code::store_unavailable, "no"});
    EXPECT_EQ(failures, (std::vector<std::string>{"no", "no", "no"}));
    lease(start + 5s, start);
    EXPECT_EQ(asked.size(), 1u) << "it is asked for again";
}

TEST_F(LeaseSpansTest, are_asked_for_again_if_etcd_has_lost_one) {
    lease(start + 5s, start);
    grant_all();
    EXPECT_EQ(lease(start + 5s, start), 1);
    grant_all();
    spans.forget(1);
    EXPECT_EQ(lease(start + 5s, start), 0);
    grant_all();
    EXPECT_EQ(lease(start + 5s, start), 3);
}

TEST_F(LeaseSpansTest, are_all_asked_for_again_by_whoever_needs_one_in_another_history) {
    lease(start + 5s, start);
    grant_all();
    EXPECT_EQ(lease(start + 5s, start), 1);
    bool answered = false;
    spans.lasting_until(start + 1h, start, [&](Result<LeaseNumber> result) { answered = static_cast<bool>(result); });
    spans.forget_all();
    EXPECT_EQ(lease(start + 5s, start), 0);
    grant_all();
    EXPECT_TRUE(answered) << "what was waited for still comes";
    EXPECT_GT(lease(start + 5s, start), 1);
}

}  // namespace
}  // namespace holdfast::store::etcd
