#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "discovery/relay/relay_metrics.h"

namespace holdfast::discovery::relay {
namespace {

const StreamTable::Time start{1000s};

std::string text_of(const prometheus::Registry& registry) {
    return prometheus::TextSerializer().Serialize(registry.Collect());
}

bool says(const std::string& text, const std::string& line) {
    return text.find(line) != std::string::npos;
}

TEST(RelayMetrics, tell_what_streams_carry_in_all_and_by_service) {
    prometheus::Registry registry;
    RelayMetrics metrics(registry);
    StreamTable book({});
    ASSERT_TRUE(book.offer({1, 1, "web", "identity"}, "ticket", start));
    const auto opened = book.redeem("ticket", start);
    ASSERT_TRUE(opened);
    opened->service->to_consumer += 1234;
    metrics.tell({.publishers = 3, .streams = book.counts(), .carried = book.carried()}, book);
    const std::string text = text_of(registry);
    EXPECT_TRUE(says(text, "holdfast_relay_publishers 3")) << text;
    EXPECT_TRUE(says(text, "holdfast_relay_streams 1"));
    EXPECT_TRUE(says(text, "holdfast_relay_streams_total 1"));
    EXPECT_TRUE(says(text, "holdfast_relay_bytes_total{to=\"consumer\"} 1234"));
    EXPECT_TRUE(says(text, "holdfast_relay_service_streams{service=\"web\"} 1"));
    EXPECT_TRUE(says(text, "holdfast_relay_service_bytes_total{service=\"web\",to=\"consumer\"} 1234"));
}

TEST(RelayMetrics, forget_a_service_that_has_had_no_streams_for_a_while_but_not_its_bytes) {
    prometheus::Registry registry;
    RelayMetrics metrics(registry);
    StreamTable book({});
    ASSERT_TRUE(book.offer({1, 1, "web", "identity"}, "ticket", start));
    const auto opened = book.redeem("ticket", start);
    opened->service->to_publisher += 55;
    metrics.tell({.streams = book.counts(), .carried = book.carried()}, book);
    book.ended(opened->stream);
    (void)book.advance(start + 1h, 10);
    metrics.tell({.streams = book.counts(), .carried = book.carried()}, book);
    const std::string text = text_of(registry);
    EXPECT_FALSE(says(text, "service=\"web\"")) << text;
    EXPECT_TRUE(says(text, "holdfast_relay_bytes_total{to=\"publisher\"} 55"));
}

TEST(RelayMetrics, name_a_bounded_number_of_services) {
    prometheus::Registry registry;
    RelayMetrics metrics(registry);
    StreamTable book({});
    for (std::uint64_t i = 1; i <= 150; ++i)
        ASSERT_TRUE(book.offer({i, i, "s" + std::to_string(i), "identity"}, std::to_string(i), start));
    metrics.tell({}, book);
    const std::string text = text_of(registry);
    std::size_t named = 0;
    for (auto at = text.find("holdfast_relay_service_streams{"); at != std::string::npos;
         at = text.find("holdfast_relay_service_streams{", at + 1))
        ++named;
    EXPECT_EQ(named, RelayMetrics::max_services);
}

}  // namespace
}  // namespace holdfast::discovery::relay
