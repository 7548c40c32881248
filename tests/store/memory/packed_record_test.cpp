#include "store/memory/packed_record.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

Record full_record() {
    Record record;
    Lease lease;
    lease.token = token_limit - 1;
    lease.predicate = Predicate::renames;
    lease.renewable = false;
    lease.ttl = 24h;
    lease.acquired_at = Instant{123'456ms};
    lease.expires_at = Instant{999'999'999'999ns};
    lease.holder = std::string(256, 'h');
    lease.session = std::string(256, 's');
    lease.reason = std::string(1024, 'r');
    lease.metadata = std::string(8192, 'm');
    record.leases = {lease};
    for (Token token = 1; token <= limits::ended_per_record; ++token)
        record.ended.push_back({token, static_cast<Ending>(token % 3), Instant{Duration{token}}});
    record.last_token = lease.token;
    return record;
}

void expect_round_trip(const Record& record, const std::string& resource) {
    std::string bytes;
    PackedRecord::pack(resource, record, bytes);
    const PackedRecord packed{bytes.data()};
    EXPECT_EQ(packed.size(), bytes.size());
    EXPECT_EQ(packed.resource(), resource);
    EXPECT_EQ(packed.has_lease(), !record.leases.empty());
    if (packed.has_lease()) {
        EXPECT_EQ(packed.holder(), record.leases[0].holder);
    }
    Record back = full_record();  // what was there before must not show through
    packed.unpack(back);
    EXPECT_EQ(back, record);
}

TEST(PackedRecord, brings_back_the_largest_record_that_may_be) {
    expect_round_trip(full_record(), std::string(4096, 'n'));
}

TEST(PackedRecord, brings_back_a_record_without_the_optional_parts) {
    Record record = full_record();
    record.ended.clear();
    record.leases[0].session.clear();
    record.leases[0].reason.clear();
    record.leases[0].metadata.clear();
    expect_round_trip(record, "x");
    record.leases[0].renewable = true;
    expect_round_trip(record, std::string(128, 'x'));
}

TEST(PackedRecord, brings_back_a_record_that_only_remembers) {
    Record record = full_record();
    record.leases.clear();
    record.last_token = limits::ended_per_record;
    expect_round_trip(record, "größe");
}

TEST(PackedRecord, of_a_40_byte_name_and_a_24_byte_holder_takes_96_bytes) {
    Record record = full_record();
    record.ended.clear();
    Lease& lease = record.leases[0];
    lease.holder = std::string(24, 'h');
    lease.session = lease.reason = lease.metadata = "";
    std::string bytes;
    PackedRecord::pack(std::string(40, 'n'), record, bytes);
    EXPECT_LE(bytes.size(), 96U);
}

}  // namespace
}  // namespace holdfast::core
