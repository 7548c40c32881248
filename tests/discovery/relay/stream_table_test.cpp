#include "discovery/relay/stream_table.h"

#include <gtest/gtest.h>
#include <map>

namespace holdfast::discovery::relay {
namespace {

using Ids = std::vector<std::uint64_t>;

const StreamTable::Time start{1000s};

std::map<std::string, StreamTable::ServiceTraffic> traffic_of(const StreamTable& book) {
    std::map<std::string, StreamTable::ServiceTraffic> all;
    book.for_each_service([&](const std::string& name, const auto& traffic) { all.emplace(name, traffic); });
    return all;
}

StreamWish wish(std::uint64_t consumer, std::string service = "web", std::uint64_t publisher = 1) {
    return {consumer, publisher, std::move(service), "identity"};
}

TEST(StreamTable, redeems_a_ticket_once) {
    StreamTable book({});
    ASSERT_TRUE(book.offer(wish(7), "ticket", start));
    EXPECT_EQ(book.counts().waiting, 1u);
    const auto opened = book.redeem("ticket", start);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->consumer, 7u);
    EXPECT_EQ(book.counts().waiting, 0u);
    EXPECT_EQ(book.counts().open, 1u);
    EXPECT_FALSE(book.redeem("ticket", start));
    EXPECT_FALSE(book.redeem("another", start));
}

TEST(StreamTable, redeems_no_ticket_that_is_past_its_time_swept_or_not) {
    StreamTable book({.ticket_life = 10s});
    ASSERT_TRUE(book.offer(wish(7), "ticket", start));
    EXPECT_FALSE(book.redeem("ticket", start + 10s));
    EXPECT_EQ(book.advance(start + 10s, 10), Ids{7});
    EXPECT_EQ(book.counts().unanswered, 1u);
    EXPECT_EQ(book.counts().waiting, 0u);
}

TEST(StreamTable, tells_in_bounded_steps_who_got_no_answer) {
    StreamTable book({.ticket_life = 10s});
    for (std::uint64_t consumer = 1; consumer <= 5; ++consumer)
        ASSERT_TRUE(book.offer(wish(consumer), std::to_string(consumer), start));
    EXPECT_EQ(book.advance(start + 10s - 1ns, 2), Ids{});
    EXPECT_EQ(book.advance(start + 10s, 2), (Ids{1, 2}));
    EXPECT_EQ(book.advance(start + 10s, 2), (Ids{3, 4}));
    EXPECT_EQ(book.advance(start + 10s, 2), Ids{5});
}

TEST(StreamTable, lets_only_the_publisher_that_was_asked_refuse) {
    StreamTable book({});
    ASSERT_TRUE(book.offer(wish(7), "ticket", start));
    EXPECT_FALSE(book.refuse("ticket", 2));
    EXPECT_EQ(book.refuse("ticket", 1)->consumer, 7u);
    EXPECT_FALSE(book.refuse("ticket", 1));
    EXPECT_FALSE(book.redeem("ticket", start));
}

TEST(StreamTable, voids_the_ticket_of_a_consumer_that_left) {
    StreamTable book({});
    ASSERT_TRUE(book.offer(wish(7), "ticket", start));
    book.give_up(7);
    book.give_up(8);
    EXPECT_FALSE(book.redeem("ticket", start));
    EXPECT_EQ(book.counts().waiting, 0u);
}

TEST(StreamTable, ends_the_offers_of_a_publisher_that_left_but_not_its_streams) {
    StreamTable book({});
    ASSERT_TRUE(book.offer(wish(7), "a", start));
    ASSERT_TRUE(book.offer(wish(8), "b", start));
    ASSERT_TRUE(book.offer(wish(9, "web", 2), "c", start));
    ASSERT_TRUE(book.redeem("a", start));
    EXPECT_EQ(book.publisher_gone(1), Ids{8});
    EXPECT_EQ(book.publisher_gone(1), Ids{});
    EXPECT_EQ(book.counts().open, 1u);
    EXPECT_TRUE(book.redeem("c", start));
}

TEST(StreamTable, limits_streams_by_service_by_identity_and_in_all) {
    StreamTable book({.max_streams = 4, .per_service = 2, .per_identity = 3});
    ASSERT_TRUE(book.offer(wish(1, "web"), "1", start));
    ASSERT_TRUE(book.offer(wish(2, "web"), "2", start));
    EXPECT_FALSE(book.offer(wish(3, "web"), "3", start)) << "per service";
    ASSERT_TRUE(book.offer(wish(4, "db"), "4", start));
    EXPECT_FALSE(book.offer(wish(5, "mail"), "5", start)) << "per identity";
    ASSERT_TRUE(book.offer({6, 2, "chat", "another"}, "6", start));
    EXPECT_FALSE(book.offer({7, 3, "news", "a third"}, "7", start)) << "in all";
    EXPECT_EQ(book.counts().refused_by_limit, 3u);
    const auto opened = book.redeem("1", start);
    ASSERT_TRUE(opened);
    EXPECT_FALSE(book.offer(wish(8, "web"), "8", start)) << "an open stream counts like an offer";
    book.ended(opened->stream);
    book.ended(opened->stream);
    EXPECT_TRUE(book.offer(wish(8, "web"), "8", start));
}

TEST(StreamTable, limits_the_offers_under_way_of_one_publisher) {
    StreamTable book({.offers_per_publisher = 2});
    ASSERT_TRUE(book.offer(wish(1), "1", start));
    ASSERT_TRUE(book.offer(wish(2), "2", start));
    EXPECT_FALSE(book.offer(wish(3), "3", start));
    ASSERT_TRUE(book.redeem("1", start));
    EXPECT_TRUE(book.offer(wish(3), "3", start));
}

TEST(StreamTable, counts_what_was_carried_also_of_services_it_has_forgotten) {
    StreamTable book({});
    ASSERT_TRUE(book.offer(wish(1), "1", start));
    const auto opened = book.redeem("1", start);
    ASSERT_TRUE(opened);
    opened->service->to_consumer += 100;
    opened->service->to_publisher += 7;
    const auto traffic = traffic_of(book);
    ASSERT_EQ(traffic.count("web"), 1u);
    EXPECT_EQ(traffic.at("web").streams, 1u);
    EXPECT_EQ(traffic.at("web").total, 1u);
    EXPECT_EQ(traffic.at("web").carried.to_consumer, 100u);
    (void)book.advance(start + 1h, 10);
    EXPECT_EQ(traffic_of(book).size(), 1u) << "it still has a stream";
    book.ended(opened->stream);
    (void)book.advance(start + 2h, 10);
    EXPECT_TRUE(traffic_of(book).empty());
    EXPECT_EQ(book.carried().to_consumer, 100u);
    EXPECT_EQ(book.carried().to_publisher, 7u);
    EXPECT_EQ(book.counts().total, 1u);
}

TEST(StreamTable, keeps_what_a_service_has_used_up_between_two_short_streams) {
    StreamTable book({.rate_per_service = 1000});
    ASSERT_TRUE(book.offer(wish(1), "1", start));
    const auto first = book.redeem("1", start);
    book.ended(first->stream);
    (void)book.advance(start + 5s, 10);
    ASSERT_TRUE(book.offer(wish(2), "2", start + 6s));
    EXPECT_EQ(book.redeem("2", start + 6s)->service, first->service);
}

}  // namespace
}  // namespace holdfast::discovery::relay
