#include "store/memory/record_table.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "base/random.h"

namespace holdfast::store::memory {
namespace {

lease::Lease lease_of(lease::Token token, std::string holder) {
    lease::Lease lease;
    lease.token = token;
    lease.ttl = 60s;
    lease.acquired_at = lease.held_since = Instant{1s};
    lease.expires_at = Instant{61s};
    lease.holder = std::move(holder);
    return lease;
}

/// A random change to a record: it gains and loses leases, reservations, waiters and history, and so goes from packed
/// to open and back.
void shake(lease::Record& record, Random& random, lease::Token& next_token) {
    switch (random.below(7)) {
        case 0:
        case 1:
        case 2:
            record.leases.push_back(lease_of(++next_token, "holder-" + std::to_string(random.below(20))));
            record.last_token = next_token;
            break;
        case 3:
            if (!record.leases.empty()) record.end(record.leases.front().token, lease::Ending::released, Instant{2s});
            break;
        case 4:
            record.waiters.push_back({random.next(), 0, false, lease::Predicate::mutates, Instant{9s}, "w", ""});
            break;
        case 5:
            if (record.leases.empty()) break;
            record.leases.front().resumable = true;
            record.end(record.leases.front().token, lease::Ending::expired, Instant{61s});
            break;
        default:
            record.waiters.clear();
            record.ended.clear();
            record.reserved.clear();
            if (random.below(2) == 0) record.leases.clear();
    }
}

std::map<std::string, lease::Record> contents(const RecordTable& table) {
    std::map<std::string, lease::Record> found;
    lease::Record room;
    for (SlotId id = 1; id < table.end(); ++id)
        if (table.used(id)) found.emplace(table.resource_of(id), table.read(id, room));
    return found;
}

TEST(RecordTable, agrees_with_a_plain_map_over_random_histories) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Random random{seed};
        RecordTable table{{seed, 7}};
        std::map<std::string, lease::Record> model;
        lease::Token next_token = 0;
        for (int step = 0; step < 3000; ++step) {
            const std::string resource = "resource-" + std::to_string(random.below(400));
            const SlotId id = table.find(resource);
            ASSERT_EQ(id != 0, model.contains(resource)) << "seed " << seed;
            lease::Record& record = table.take(id);
            shake(record, random, next_token);
            // A packed record takes its last token from what is left of it; the store's tokens rise anyway (G3).
            lease::Token last = 0;
            for (const lease::Lease& lease : record.leases)
                last = std::max(last, lease.token);
            for (const lease::EndedLease& ended : record.ended)
                last = std::max(last, ended.token);
            for (const lease::Reservation& kept : record.reserved)
                last = std::max(last, kept.lease.token);
            record.last_token = last;
            model[resource] = record;
            if (record.empty()) {
                model.erase(resource);
                if (id != 0) table.erase(id);
            } else if (id == 0) {
                table.insert(resource, record);
            } else {
                table.put(id, record);
            }
        }
        ASSERT_EQ(contents(table), model) << "seed " << seed;
        for (int i = 0; i < 20; ++i) {
            const std::string holder = "holder-" + std::to_string(i);
            std::size_t expected = 0;
            for (const auto& [resource, record] : model)
                expected += std::any_of(record.leases.begin(), record.leases.end(),
                                        [&](const lease::Lease& lease) { return lease.holder == holder; }) ||
                            std::any_of(record.reserved.begin(), record.reserved.end(),
                                        [&](const lease::Reservation& kept) { return kept.lease.holder == holder; });
            EXPECT_EQ(table.slots_of(holder).size(), expected) << "seed " << seed;
        }
    }
}

TEST(RecordTable, finds_everything_while_it_grows_and_after_it_shrinks) {
    RecordTable table{{1, 2}};
    const auto name = [](int i) { return "some/longer/resource/name/" + std::to_string(i); };
    for (int i = 0; i < 50'000; ++i) {
        lease::Record& record = table.take(0);
        record.leases = {lease_of(static_cast<lease::Token>(i) + 1, "h" + std::to_string(i))};
        table.insert(name(i), record);
        ASSERT_NE(table.find(name(i / 2)), 0U);
    }
    for (int i = 0; i < 50'000; i += 2)
        table.erase(table.find(name(i)));
    for (int i = 0; i < 50'000; ++i) {
        ASSERT_EQ(table.find(name(i)) != 0, i % 2 == 1);
        ASSERT_EQ(table.slots_of("h" + std::to_string(i)).size(), static_cast<std::size_t>(i % 2));
    }
}

}  // namespace
}  // namespace holdfast::store::memory
