#include "discovery/publisher/advert.h"

#include <gtest/gtest.h>

namespace holdfast::discovery::publisher {
namespace {

std::string code_of(const Advertisement& what) {
    const auto checked = check(what);
    return checked ? "ok" : std::string(checked.error().code.name());
}

TEST(Advertisements, within_the_limits_always_fit_into_a_frame) {
    Advertisement largest{.name = std::string(255, 'n'), .ttl = 24h, .address = std::string(261, 'a')};
    largest.alpn.assign(16, std::string(255, 'p'));
    largest.metadata.emplace_back(std::string(128, 'k'), std::string(4096 - 128, 'v'));
    ASSERT_EQ(code_of(largest), "ok");
    Update update;
    update.name = largest.name;
    update.address = largest.address;
    update.alpn = largest.alpn;
    update.metadata = largest.metadata;
    std::string frame;
    append_frame(SignedUpdate{encode(update), std::string(32, 'k'), std::string(64, 's'), 1}, frame);
    EXPECT_LT(frame.size(), max_frame_bytes);
}

TEST(Advertisements, over_a_limit_are_refused_with_the_code_that_a_relay_would_give) {
    EXPECT_EQ(code_of({.name = std::string(256, 'n')}), "invalid_name");
    EXPECT_EQ(code_of({.name = "a\nb"}), "invalid_name");
    EXPECT_EQ(code_of({.name = "\xff"}), "invalid_name");
    EXPECT_EQ(code_of({.ttl = 25h}), "ttl_too_long");
    EXPECT_EQ(code_of({.address = std::string(262, 'a')}), "invalid_argument");
    EXPECT_EQ(code_of({.alpn = std::vector<std::string>(17, "h2")}), "invalid_alpn");
    EXPECT_EQ(code_of({.alpn = {""}}), "invalid_alpn");
    EXPECT_EQ(code_of({.alpn = {std::string(256, 'p')}}), "invalid_alpn");
    EXPECT_EQ(code_of({.metadata = {{"", "v"}}}), "invalid_metadata");
    EXPECT_EQ(code_of({.metadata = {{std::string(129, 'k'), "v"}}}), "invalid_metadata");
    EXPECT_EQ(code_of({.metadata = {{"k", std::string(4096, 'v')}}}), "invalid_metadata");
    EXPECT_EQ(code_of({.metadata = {{"k", "\xff"}}}), "invalid_metadata");
    Advertisement many;
    for (int i = 0; i < 65; ++i)
        many.metadata.emplace_back("k" + std::to_string(i), "v");
    EXPECT_EQ(code_of(many), "invalid_metadata");
}

UpdateResponse yes(std::uint64_t token, Duration expires_in) {
    UpdateResponse response{.name = "web", .token = token};
    response.ttl = 60s;
    response.expires_in = expires_in;
    response.renew_in = 5s;
    return response;
}

TEST(Advert, counts_from_its_request_less_the_margin_of_its_ttl) {  // T3
    constexpr HolderInstant asked_at{100s};
    Advert advert{{.name = "web"}};
    Random random(1);
    PublisherEvents events;
    (void)advert.ask(1, asked_at);
    advert.on_answer(yes(7, 40s), asked_at + 3s, random, events);
    EXPECT_EQ(advert.held_until(), asked_at + 40s - 600ms);
}

TEST(Advert, is_not_held_again_by_an_answer_that_comes_after_its_end) {  // T3
    constexpr HolderInstant asked_at{100s};
    Advert advert{{.name = "web"}};
    Random random(1);
    PublisherEvents events;
    (void)advert.ask(1, asked_at);
    advert.on_answer(yes(7, 60s), asked_at, random, events);
    (void)advert.ask(2, asked_at + 50s);
    const HolderInstant end = advert.held_until();
    advert.on_answer(yes(7, 60s), end, random, events);
    EXPECT_FALSE(advert.held(end));
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back().what, PublisherEventKind::lost);
    EXPECT_TRUE(advert.wants_to_ask(end)) << "it registers again";
}

}  // namespace
}  // namespace holdfast::discovery::publisher
