#include <gtest/gtest.h>

#include "codec/frame.h"
#include "discovery.pb.h"
#include "discovery/identity/identity.h"
#include "discovery/protocol.h"

namespace holdfast::discovery {
namespace {

std::string code_of(const pb::RelayMessage& wire) {
    const auto message = decode(wire.SerializeAsString());
    return message ? "ok" : std::string(message.error().code.name());
}

std::string code_of(const pb::LeaseUpdateRequest& wire) {
    const auto update = decode_update(wire.SerializeAsString());
    return update ? "ok" : std::string(update.error().code.name());
}

pb::LeaseUpdateRequest registration() {
    pb::LeaseUpdateRequest wire;
    wire.set_action(pb::LeaseUpdateRequest::REGISTER);
    return wire;
}

TEST(PublisherHello, of_an_older_publisher_says_that_it_does_not_know_may_retry) {
    pb::RelayMessage wire;
    wire.mutable_publisher_hello()->set_version(1);
    const auto message = decode(wire.SerializeAsString());
    ASSERT_TRUE(message);
    EXPECT_FALSE(std::get<PublisherHello>(*message).knows_may_retry);
}

TEST(Renewal, of_a_name_of_thirty_bytes_is_a_frame_of_less_than_240_bytes) {
    const identity::Identity identity = identity::Identity::generate();
    const Update update{.action = Action::renew,
                        .name = std::string(30, 'n'),
                        .token = (1ULL << 53) - 1,
                        .ttl = 5min,
                        .relay = UINT64_MAX,
                        .time_ms = 4'000'000'000'000,
                        .nonce = UINT64_MAX};
    const std::string request = encode(update);
    std::string frame;
    append_frame(
        SignedUpdate{request, identity.public_key(), identity.sign(identity::update_purpose, request), UINT32_MAX},
        frame);
    EXPECT_LT(frame.size(), 240U);
}

TEST(DiscoveryMessages, of_no_known_kind_are_malformed) {
    EXPECT_EQ(code_of(pb::RelayMessage{}), "malformed");
    EXPECT_EQ(decode("\xff\xff\xff").error().code, Code::malformed);
    EXPECT_EQ(decode(std::string_view("\xa2\x06\x00", 3)).error().code, Code::malformed) << "a kind of a later version";
}

TEST(DiscoveryMessages, that_are_larger_than_a_frame_are_malformed) {
    pb::RelayMessage wire;
    wire.mutable_update()->set_request(std::string(max_frame_bytes - 10, 'x'));
    EXPECT_EQ(code_of(wire), "ok");
    wire.mutable_update()->set_request(std::string(max_frame_bytes, 'x'));
    EXPECT_EQ(code_of(wire), "malformed");
    EXPECT_EQ(decode_update(std::string(max_frame_bytes + 1, '\0')).error().code, Code::malformed);
}

TEST(DiscoveryMessages, have_tickets_of_one_length_only) {
    for (const std::size_t bytes : {ticket_bytes - 1, ticket_bytes, ticket_bytes + 1}) {
        const std::string ticket(bytes, 't');
        const std::string expected = bytes == ticket_bytes ? "ok" : "malformed";
        pb::RelayMessage wire;
        wire.mutable_offer()->set_ticket(ticket);
        EXPECT_EQ(code_of(wire), expected) << bytes;
        wire.mutable_accept()->set_ticket(ticket);
        EXPECT_EQ(code_of(wire), expected) << bytes;
        wire.mutable_refused()->set_ticket(ticket);
        EXPECT_EQ(code_of(wire), expected) << bytes;
    }
}

TEST(DiscoveryMessages, whose_texts_numbers_or_times_are_out_of_range_are_malformed) {
    pb::RelayMessage wire;
    wire.mutable_response()->set_code(std::string(65, 'c'));
    EXPECT_EQ(code_of(wire), "malformed");
    wire.mutable_response()->set_code("ok");
    EXPECT_EQ(code_of(wire), "ok");
    wire.mutable_response()->set_token(1ULL << 53);
    EXPECT_EQ(code_of(wire), "malformed");
    wire.mutable_response()->set_token((1ULL << 53) - 1);
    EXPECT_EQ(code_of(wire), "ok");
    wire.mutable_response()->set_expires_in_ms(UINT32_MAX);
    EXPECT_EQ(code_of(wire), "malformed");
    wire.mutable_relay_hello()->set_time_ms(-1);
    EXPECT_EQ(code_of(wire), "malformed");
    wire.mutable_relay_hello()->set_time_ms(1LL << 53);
    EXPECT_EQ(code_of(wire), "malformed");
    wire.mutable_update()->set_public_key(std::string(257, 'k'));
    EXPECT_EQ(code_of(wire), "malformed");
    wire.mutable_request()->set_name(std::string(4097, 'n'));
    EXPECT_EQ(code_of(wire), "malformed");
    wire.mutable_failed()->set_relay(std::string(513, 'r'));
    EXPECT_EQ(code_of(wire), "malformed");
}

TEST(Updates, of_no_known_action_are_malformed) {
    pb::LeaseUpdateRequest wire;
    EXPECT_EQ(code_of(wire), "malformed");
    EXPECT_EQ(decode_update("").error().code, Code::malformed);
    wire.set_action(static_cast<pb::LeaseUpdateRequest::Action>(4));
    EXPECT_EQ(code_of(wire), "malformed");
    EXPECT_EQ(code_of(registration()), "ok");
}

TEST(Updates, that_go_over_a_limit_are_malformed) {
    auto wire = registration();
    wire.set_token(1ULL << 53);
    EXPECT_EQ(code_of(wire), "malformed");
    wire = registration();
    wire.set_time_ms(-1);
    EXPECT_EQ(code_of(wire), "malformed");
    wire = registration();
    wire.set_name(std::string(4097, 'n'));
    EXPECT_EQ(code_of(wire), "malformed");
    wire = registration();
    wire.set_address(std::string(513, 'a'));
    EXPECT_EQ(code_of(wire), "malformed");
    wire = registration();
    for (int i = 0; i < 1025; ++i)
        wire.add_alpn("a");
    EXPECT_EQ(code_of(wire), "malformed");
    wire = registration();
    for (int i = 0; i < 1025; ++i)
        wire.add_metadata()->set_key("k");
    EXPECT_EQ(code_of(wire), "malformed");
}

TEST(Updates, keep_what_breaks_only_a_rule_of_names_for_whoever_decides) {
    Update update{.name = std::string(300, 'n')};
    update.alpn.assign(17, "h2");
    EXPECT_EQ(*decode_update(encode(update)), update);
}

}  // namespace
}  // namespace holdfast::discovery
