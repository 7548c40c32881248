#include "store/state/record_codec.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

core::Lease lease_of(core::Token token, core::Predicate predicate) {
    return {.token = token,
            .predicate = predicate,
            .renewable = token % 2 == 0,
            .ttl = 60s,
            .acquired_at = Instant{-5s},
            .expires_at = Instant{55s},
            .holder = "alice",
            .session = "s1",
            .reason = "because",
            .metadata = R"({"a":1})"};
}

TEST(RecordCodec, gives_back_every_field_of_a_record) {
    core::Record record;
    core::Token token = 10;
    for (const auto predicate : core::all_predicates)
        record.leases.push_back(lease_of(++token, predicate));
    record.ended = {{3, core::Ending::released, Instant{1s}},
                    {2, core::Ending::expired, Instant{-2s}},
                    {4, core::Ending::revoked, Instant{3s}}};
    record.last_token = token;
    EXPECT_EQ(decode_record(encode_record(record)), record);
}

TEST(RecordCodec, leaves_waiters_out) {
    core::Record record;
    record.leases.push_back(lease_of(7, core::Predicate::mutates));
    core::Record expected = record;
    record.waiters.push_back({.id = 1, .until = Instant{1s}, .holder = "bob", .session = ""});
    EXPECT_EQ(decode_record(encode_record(record)), expected);
}

TEST(RecordCodec, refuses_what_is_not_a_record) {
    EXPECT_EQ(decode_record("\xff\xff not a message"), std::nullopt);

    core::Record out_of_order;
    out_of_order.leases = {lease_of(9, core::Predicate::consumes), lease_of(8, core::Predicate::consumes)};
    EXPECT_EQ(decode_record(encode_record(out_of_order)), std::nullopt);

    core::Record without_token;
    without_token.leases = {lease_of(0, core::Predicate::mutates)};
    EXPECT_EQ(decode_record(encode_record(without_token)), std::nullopt);

    core::Record beyond_json;
    beyond_json.last_token = core::token_limit;
    EXPECT_EQ(decode_record(encode_record(beyond_json)), std::nullopt);
}

TEST(RecordCodec, skips_fields_that_a_later_version_added) {
    core::Record record;
    record.leases.push_back(lease_of(7, core::Predicate::mutates));
    const std::string later = encode_record(record) + std::string("\x92\x03\x03new", 6);  // field 50, three bytes
    EXPECT_EQ(decode_record(later), record);
}

}  // namespace
}  // namespace holdfast
