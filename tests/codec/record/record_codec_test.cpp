#include "codec/record/record_codec.h"

#include <gtest/gtest.h>

#include "record.pb.h"

namespace holdfast::codec::record {
namespace {

lease::Lease lease_of(lease::Token token, lease::Predicate predicate) {
    return {.token = token,
            .predicate = predicate,
            .renewable = token % 2 == 0,
            .resumable = token % 3 == 0,
            .metered = token % 4 < 2,
            .ttl = 60s,
            .acquired_at = Instant{-5s},
            .expires_at = Instant{55s},
            .held_since = Instant{token % 2 == 0 ? -5s : -6s},
            .priority = token % 2 == 0 ? std::optional<lease::Priority>{-7} : std::nullopt,
            .progress = token % 3 == 0 ? std::optional<lease::Progress>{{0, Instant{-1s}}} : std::nullopt,
            .holder = "alice",
            .session = "s1",
            .reason = "because",
            .metadata = R"({"a":1})",
            .acquired_wall_ms = token % 2 == 0 ? 1'700'000'000'000 : 0};
}

TEST(RecordCodec, gives_back_every_field_of_a_record) {
    lease::Record record;
    lease::Token token = 10;
    for (const auto predicate : lease::all_predicates)
        record.leases.push_back(lease_of(++token, predicate));
    record.ended = {{3, lease::Ending::released, Instant{1s}},
                    {2, lease::Ending::expired, Instant{-2s}},
                    {4, lease::Ending::revoked, Instant{3s}}};
    record.reserved = {{lease_of(9, lease::Predicate::deletes), Instant{70s}},
                       {lease_of(6, lease::Predicate::provides), Instant{69s}}};
    record.past = {{"bob", Instant{-1s}, 30s}, {"carol", Instant{}, lease::limits::quota_ceiling}};
    record.last_token = token;
    EXPECT_EQ(decode_record(encode_record(record)), record);
}

TEST(RecordCodec, writes_the_bytes_that_protobuf_would) {
    lease::Record record;
    for (const lease::Token token : {6, 7, 8})
        record.leases.push_back(lease_of(token, lease::Predicate::mutates));
    record.leases[0].metadata.assign(200, 'm');  // a length of two bytes
    record.ended = {{3, lease::Ending::revoked, Instant{-1s}}};
    record.waiters.push_back({.id = 1, .priority = -5, .until = Instant{1s}, .holder = "bob", .session = ""});
    record.reserved = {{lease_of(5, lease::Predicate::provides), Instant{}}};
    record.past = {{"bob", Instant{-1s}, 30s}};
    record.last_token = 9;
    const std::string bytes = encode_record(record);
    saved::Record parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    EXPECT_EQ(parsed.SerializeAsString(), bytes);
    EXPECT_EQ(encode_record(lease::Record{}), "");
}

TEST(RecordCodec, appends_a_record_to_what_is_there) {
    lease::Record record;
    record.leases.push_back(lease_of(7, lease::Predicate::mutates));
    std::string bytes = "before";
    append_record(record, bytes);
    EXPECT_EQ(bytes, "before" + encode_record(record));
}

TEST(RecordCodec, reads_no_text_and_no_time_beyond_its_limit) {
    const auto refused = [](auto change) {
        lease::Record record;
        record.leases.push_back(lease_of(7, lease::Predicate::mutates));
        change(record.leases[0]);
        return !decode_record(encode_record(record));
    };
    EXPECT_FALSE(refused([](lease::Lease&) {}));
    EXPECT_FALSE(refused([](lease::Lease& lease) { lease.expires_at = Instant{99 * 365 * 24h}; }))
        << "the clock of a machine that has run for long";
    EXPECT_TRUE(refused([](lease::Lease& lease) { lease.expires_at = Instant::max(); }));
    EXPECT_TRUE(refused([](lease::Lease& lease) { lease.acquired_at = Instant::min(); }));
    EXPECT_TRUE(refused([](lease::Lease& lease) { lease.ttl = Duration::zero(); }));
    EXPECT_TRUE(refused([](lease::Lease& lease) { lease.ttl = lease::limits::ttl_ceiling + 1ns; }));
    EXPECT_TRUE(refused([](lease::Lease& lease) { lease.holder.assign(lease::limits::holder_bytes + 1, 'h'); }));
}

TEST(RecordCodec, keeps_who_waits) {
    lease::Record record;
    record.leases.push_back(lease_of(7, lease::Predicate::mutates));
    record.waiters.push_back({.id = 1, .until = Instant{1s}, .holder = "bob", .session = ""});
    record.waiters.push_back({.id = ~std::uint64_t{0},
                              .priority = -5,
                              .agent = true,
                              .predicate = lease::Predicate::consumes,
                              .until = Instant{2s},
                              .holder = "carol",
                              .session = "s"});
    EXPECT_EQ(decode_record(encode_record(record)), record);
}

TEST(RecordCodec, refuses_what_is_not_a_record) {
    EXPECT_EQ(decode_record("\xff\xff not a message"), std::nullopt);

    lease::Record out_of_order;
    out_of_order.leases = {lease_of(9, lease::Predicate::consumes), lease_of(8, lease::Predicate::consumes)};
    EXPECT_EQ(decode_record(encode_record(out_of_order)), std::nullopt);

    lease::Record without_token;
    without_token.leases = {lease_of(0, lease::Predicate::mutates)};
    EXPECT_EQ(decode_record(encode_record(without_token)), std::nullopt);

    lease::Record reserved_without_holder;
    reserved_without_holder.reserved = {{lease_of(3, lease::Predicate::mutates), Instant{1s}}};
    reserved_without_holder.reserved[0].lease.holder.clear();
    EXPECT_EQ(decode_record(encode_record(reserved_without_holder)), std::nullopt);

    lease::Record held_for_ever;
    held_for_ever.past = {{"bob", Instant{}, Duration::max()}};
    EXPECT_EQ(decode_record(encode_record(held_for_ever)), std::nullopt);

    lease::Record beyond_json;
    beyond_json.last_token = lease::token_limit;
    EXPECT_EQ(decode_record(encode_record(beyond_json)), std::nullopt);
}

TEST(RecordCodec, reads_a_lease_of_a_version_that_knew_no_agents) {
    // Token 7, PROVIDES, 60 s from 1 s to 61 s, held by alice: as that version wrote it.
    constexpr unsigned char bytes[] = {0x0a, 0x1f, 0x08, 0x07, 0x10, 0x01, 0x20, 0x80, 0xb0, 0x9d, 0xc2, 0xdf,
                                       0x01, 0x28, 0x80, 0xa8, 0xd6, 0xb9, 0x07, 0x30, 0x80, 0x88, 0x91, 0xbe,
                                       0xc6, 0x03, 0x3a, 0x05, 0x61, 0x6c, 0x69, 0x63, 0x65, 0x18, 0x07};
    const std::string before(std::begin(bytes), std::end(bytes));
    const auto record = decode_record(before);
    ASSERT_TRUE(record);
    lease::Lease lease;
    lease.token = 7;
    lease.predicate = lease::Predicate::provides;
    lease.ttl = 60s;
    lease.acquired_at = lease.held_since = Instant{1s};
    lease.expires_at = Instant{61s};
    lease.holder = "alice";
    EXPECT_EQ(record->leases, std::vector<lease::Lease>{lease});
    EXPECT_TRUE(record->reserved.empty());
}

TEST(RecordCodec, skips_fields_that_a_later_version_added) {
    lease::Record record;
    record.leases.push_back(lease_of(7, lease::Predicate::mutates));
    const std::string later = encode_record(record) + std::string("\x92\x03\x03new", 6);  // field 50, three bytes
    EXPECT_EQ(decode_record(later), record);
}

}  // namespace
}  // namespace holdfast::codec::record
