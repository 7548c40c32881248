#include "store/memory/packed_record.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>

namespace holdfast::store::memory {
namespace {

lease::Record full_record() {
    lease::Record record;
    lease::Lease lease;
    lease.token = lease::token_limit - 1;
    lease.predicate = lease::Predicate::renames;
    lease.renewable = false;
    lease.resumable = true;
    lease.ttl = 24h;
    lease.acquired_at = Instant{123'456ms};
    lease.expires_at = Instant{999'999'999'999ns};
    lease.held_since = Instant{123'455'678'901ns};
    lease.priority = std::numeric_limits<lease::Priority>::min();
    lease.progress = lease::Progress{UINT64_MAX, Instant{123'456'789'012ns}};
    lease.holder = std::string(256, 'h');
    lease.session = std::string(256, 's');
    lease.reason = std::string(1024, 'r');
    lease.metadata = std::string(8192, 'm');
    record.leases = {lease};
    for (lease::Token token = 1; token <= lease::limits::ended_per_record; ++token)
        record.ended.push_back({token, static_cast<lease::Ending>(token % 3), Instant{Duration{token}}});
    record.last_token = lease.token;
    record.waiters.assign(PackedRecord::max_waiters, {.id = UINT64_MAX,
                                                      .priority = std::numeric_limits<lease::Priority>::min(),
                                                      .agent = true,
                                                      .predicate = lease::Predicate::renames,
                                                      .until = Instant{999'999'999'999ns},
                                                      .holder = std::string(lease::limits::holder_bytes, 'w'),
                                                      .session = std::string(lease::limits::session_bytes, 's')});
    return record;
}

/// What all leases have and nothing more.
lease::Record plain_record() {
    lease::Record record = full_record();
    record.ended.clear();
    record.waiters.clear();
    lease::Lease& lease = record.leases[0];
    lease.session = lease.reason = lease.metadata = "";
    lease.resumable = false;
    lease.held_since = lease.acquired_at;
    lease.priority.reset();
    lease.progress.reset();
    return record;
}

std::string packed_form(const lease::Record& record, std::string_view resource) {
    std::string bytes(PackedRecord::size_of(resource, record), '\0');
    PackedRecord::pack(resource, record, bytes);
    return bytes;
}

void expect_round_trip(const lease::Record& record, const std::string& resource) {
    const std::string bytes = packed_form(record, resource);
    const PackedRecord packed{bytes.data()};
    EXPECT_EQ(packed.room(), bytes.size());
    EXPECT_EQ(packed.resource(), resource);
    EXPECT_EQ(packed.has_lease(), !record.leases.empty());
    if (packed.has_lease()) {
        EXPECT_EQ(packed.holder(), record.leases[0].holder);
    }
    lease::Record back = full_record();  // what was there before must not show through
    back.waiters.resize(1);
    back.reserved.resize(1);
    packed.unpack(back);
    EXPECT_EQ(back, record);
}

TEST(PackedRecord, brings_back_the_largest_record_that_may_be) {
    expect_round_trip(full_record(), std::string(4096, 'n'));
}

TEST(PackedRecord, brings_back_a_record_without_the_optional_parts) {
    lease::Record record = plain_record();
    expect_round_trip(record, "x");
    record.leases[0].renewable = true;
    expect_round_trip(record, std::string(128, 'x'));
}

TEST(PackedRecord, brings_back_each_optional_part_with_each_predicate) {
    const auto add_part = [](lease::Lease& lease, unsigned part) {
        if (part == 0) lease.session = "s";
        if (part == 1) lease.metadata = "{}";
        if (part == 2) lease.resumable = true;
        if (part == 3) lease.priority = -5;
        if (part == 4) lease.progress = lease::Progress{7, Instant{-1ns}};
        if (part == 5) lease.held_since = Instant{-1h};
        if (part == 6) lease.acquired_wall_ms = lease::limits::wall_ms_ceiling - 1;
    };
    for (const lease::Predicate predicate : lease::all_predicates)
        for (unsigned parts = 0; parts < 1U << 7; ++parts) {
            lease::Record record = plain_record();
            record.leases[0].predicate = predicate;
            for (unsigned part = 0; part < 7; ++part)
                if ((parts >> part & 1U) != 0) add_part(record.leases[0], part);
            expect_round_trip(record, "some resource");
        }
}

TEST(PackedRecord, brings_back_what_was_acquired_before_the_clock_began) {  // S1: taken up after a reboot
    lease::Record record = plain_record();
    record.leases[0].acquired_at = record.leases[0].held_since = Instant{-20s};
    expect_round_trip(record, "x");
}

TEST(PackedRecord, rounds_the_beginning_of_a_holding_down_to_the_millisecond_along_with_the_lease) {
    lease::Record record = plain_record();
    record.leases[0].acquired_at = record.leases[0].held_since = Instant{123'456'999'999ns};
    const std::string bytes = packed_form(record, "x");
    lease::Record back;
    PackedRecord{bytes.data()}.unpack(back);
    EXPECT_EQ(back.leases[0].held_since, Instant{123'456ms});
    EXPECT_EQ(back.leases[0].acquired_at, Instant{123'456ms});
}

RC_GTEST_PROP(PackedRecord, brings_back_any_record_that_can_be_packed, ()) {
    const auto text = [](std::size_t most) {
        return rc::gen::resize(static_cast<int>(most), rc::gen::string<std::string>());
    };
    const auto instant = [] { return Instant{Duration{*rc::gen::inRange<std::int64_t>(-1'000'000, 1'000'000'000)}}; };
    lease::Record record;
    if (*rc::gen::arbitrary<bool>()) {
        lease::Lease lease;
        lease.token = *rc::gen::inRange<lease::Token>(1, lease::token_limit);
        lease.predicate = *rc::gen::elementOf(lease::all_predicates);
        lease.renewable = *rc::gen::arbitrary<bool>();
        lease.resumable = *rc::gen::arbitrary<bool>();
        lease.metered = *rc::gen::arbitrary<bool>();
        lease.ttl = std::chrono::milliseconds{*rc::gen::inRange(1, 86'400'000)};
        lease.acquired_at = std::chrono::floor<std::chrono::milliseconds>(instant());
        lease.expires_at = instant();
        lease.held_since = *rc::gen::arbitrary<bool>() ? lease.acquired_at : instant();
        if (*rc::gen::arbitrary<bool>()) lease.priority = *rc::gen::arbitrary<lease::Priority>();
        if (*rc::gen::arbitrary<bool>())
            lease.progress = lease::Progress{*rc::gen::arbitrary<std::uint64_t>(), instant()};
        if (*rc::gen::arbitrary<bool>()) lease.acquired_wall_ms = *rc::gen::inRange(1, 1'000'000'000);
        lease.holder = "h" + *text(200);
        lease.session = *text(200);
        lease.reason = *text(500);
        lease.metadata = *text(500);
        record.leases = {lease};
        record.last_token = lease.token;
    }
    for (const lease::Token token :
         *rc::gen::resize(30, rc::gen::container<std::vector<lease::Token>>(rc::gen::inRange<lease::Token>(1, 99)))) {
        record.ended.push_back(
            {token, *rc::gen::element(lease::Ending::released, lease::Ending::expired, lease::Ending::revoked),
             instant()});
        record.last_token = std::max(record.last_token, token);
    }
    record.waiters.resize(*rc::gen::inRange<std::size_t>(0, PackedRecord::max_waiters + 1));
    for (lease::Waiter& waiter : record.waiters) {
        waiter.id = *rc::gen::arbitrary<std::uint64_t>();
        waiter.priority = *rc::gen::arbitrary<lease::Priority>();
        waiter.agent = *rc::gen::arbitrary<bool>();
        waiter.predicate = *rc::gen::elementOf(lease::all_predicates);
        waiter.until = instant();
        waiter.holder = *text(200);
        waiter.session = *text(200);
    }
    RC_ASSERT(PackedRecord::can_pack(record));
    expect_round_trip(record, "r" + *text(300));
}

TEST(PackedRecord, takes_no_record_that_has_reservations_or_a_long_queue) {
    lease::Record record = plain_record();
    EXPECT_TRUE(PackedRecord::can_pack(record));
    record.reserved.resize(1);
    EXPECT_FALSE(PackedRecord::can_pack(record));
    record.reserved.clear();
    record.waiters.resize(PackedRecord::max_waiters);
    EXPECT_TRUE(PackedRecord::can_pack(record));
    record.waiters.resize(PackedRecord::max_waiters + 1);
    EXPECT_FALSE(PackedRecord::can_pack(record));
}

TEST(PackedRecord, takes_no_queue_whose_last_token_it_would_forget) {
    lease::Record record = plain_record();
    record.waiters.resize(1);
    ++record.last_token;
    EXPECT_FALSE(PackedRecord::can_pack(record));
}

TEST(PackedRecord, brings_back_a_record_that_only_remembers) {
    lease::Record record = full_record();
    record.leases.clear();
    record.last_token = lease::limits::ended_per_record;
    expect_round_trip(record, "größe");
}

TEST(PackedRecord, of_a_40_byte_name_and_a_24_byte_holder_takes_96_bytes) {
    lease::Record record = plain_record();
    record.leases[0].holder = std::string(24, 'h');
    EXPECT_LE(packed_form(record, std::string(40, 'n')).size(), 96U);
}

TEST(PackedRecord, is_written_over_an_older_form_from_which_the_name_is_read) {
    for (const std::size_t length : {1, 127, 128, 3000}) {
        const std::string resource(length, 'n');
        std::string bytes(PackedRecord::size_of(resource, full_record()) + 100, '\0');
        const PackedRecord packed{bytes.data()};
        PackedRecord::pack(resource, plain_record(), bytes);
        for (const lease::Record& next : {full_record(), plain_record(), full_record()}) {
            PackedRecord::pack(packed.resource(), next, bytes);
            EXPECT_EQ(packed.resource(), resource);
            EXPECT_EQ(packed.room(), bytes.size());
            lease::Record back;
            packed.unpack(back);
            EXPECT_EQ(back, next) << "length " << length;
        }
    }
}

}  // namespace
}  // namespace holdfast::store::memory
