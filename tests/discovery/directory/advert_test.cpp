#include "discovery/directory/advert.h"

#include <gtest/gtest.h>

namespace holdfast::discovery::directory {
namespace {

std::optional<Code> fault_of(const Update& update) {
    const auto fault = fault_in(update);
    return fault ? std::optional(fault->code) : std::nullopt;
}

TEST(Advert, comes_back_from_the_metadata_of_its_lease_as_it_was) {
    const Advert advert{.address = "web.example:443",
                        .alpn = {"h2", "http/1.1"},
                        .metadata = {{"version", "7"}, {"motto", "\"quoted\" \\ caf\xc3\xa9"}},
                        .from = "192.0.2.1",
                        .first_seen_ms = 1'763'208'000'000,
                        .life = 0xffff'ffff'ffff'fff0,
                        .relay = "10.0.0.5:7403",
                        .connection = 12};
    lease::Lease lease;
    lease.metadata = to_json(advert);
    EXPECT_EQ(advert_of(lease), advert);
}

TEST(Advert, is_empty_where_the_metadata_is_not_one) {
    for (const char* text : {"", "[]", "{", "{\"alpn\":7,\"metadata\":[],\"life\":\"x\",\"first_seen_ms\":1.5}"}) {
        lease::Lease lease;
        lease.metadata = text;
        EXPECT_EQ(advert_of(lease), Advert{}) << text;
    }
}

TEST(Advert, has_a_limit_on_everything) {
    Update update;
    EXPECT_EQ(fault_of(update), std::nullopt);
    update.alpn.assign(16, "h2");
    EXPECT_EQ(fault_of(update), std::nullopt);
    update.alpn.assign(17, "h2");
    EXPECT_EQ(fault_of(update), Code::invalid_alpn);
    update.alpn = {""};
    EXPECT_EQ(fault_of(update), Code::invalid_alpn);
    update.alpn = {std::string(256, 'x')};
    EXPECT_EQ(fault_of(update), Code::invalid_alpn);
    update.alpn = {"\xff"};
    EXPECT_EQ(fault_of(update), Code::invalid_alpn);
    update.alpn = {};
    update.metadata = {{"", "x"}};
    EXPECT_EQ(fault_of(update), Code::invalid_metadata);
    update.metadata = {{"a", "1"}, {"a", "2"}};
    EXPECT_EQ(fault_of(update), Code::invalid_metadata);
    update.metadata = {{std::string(129, 'k'), "x"}};
    EXPECT_EQ(fault_of(update), Code::invalid_metadata);
    update.metadata = {{"k", std::string(4095, 'x')}};
    EXPECT_EQ(fault_of(update), std::nullopt);
    update.metadata = {{"k", std::string(4096, 'x')}};
    EXPECT_EQ(fault_of(update), Code::invalid_metadata);
    update.metadata = {{"k", std::string("a\0b", 3)}};
    EXPECT_EQ(fault_of(update), Code::invalid_metadata);
    update.metadata.clear();
    for (int i = 0; i < 65; ++i)
        update.metadata.emplace_back("k" + std::to_string(i), "");
    EXPECT_EQ(fault_of(update), Code::invalid_metadata);
    update.metadata.clear();
    update.address = "a\nb";
    EXPECT_EQ(fault_of(update), Code::invalid_argument);
}

TEST(Advert, never_grows_beyond_what_a_lease_may_carry) {
    Update update;
    update.alpn.assign(16, std::string(255, '"'));
    update.metadata = {{"k", std::string(4000, '"')}};
    EXPECT_EQ(fault_of(update), Code::invalid_metadata);
}

}  // namespace
}  // namespace holdfast::discovery::directory
