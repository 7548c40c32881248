#include "store/memory/holder_index.h"

#include <gtest/gtest.h>
#include <set>

namespace holdfast::store::memory {
namespace {

const char* const holders[] = {"alice", "bob", "carol"};

/// The body of a slot in these tests: an index into `holders`.
std::string_view holder_of(const Slot& slot) {
    return holders[slot.body];
}

std::multiset<SlotId> found(HolderIndex& index, std::string_view holder) {
    std::multiset<SlotId> slots;
    index.for_each(holder, [&](SlotId id) { slots.insert(id); });
    return slots;
}

TEST(HolderIndex, finds_the_slots_of_a_holder_and_of_no_other) {
    Slots slots;
    HolderIndex index{slots, {3, 4}, &holder_of};
    std::multiset<SlotId> expected[3];
    for (std::uintptr_t i = 0; i < 6000; ++i) {
        const SlotId id = slots.allocate();
        slots[id].body = i % 3;
        index.add(id);
        expected[i % 3].insert(id);
    }
    for (SlotId id = 1; id < 6000; id += 5) {
        expected[slots[id].body].erase(id);
        index.remove(id);
    }
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(found(index, holders[i]), expected[i]);
    EXPECT_TRUE(found(index, "dave").empty());
}

TEST(HolderIndex, follows_an_open_record_as_leases_and_reservations_come_and_go) {
    Slots slots;
    HolderIndex index{slots, {3, 4}, &holder_of};
    HolderIndex::Listing listing;
    const auto lease = [](lease::Token token, const char* holder) {
        lease::Lease made;
        made.token = token;
        made.holder = holder;
        return made;
    };
    lease::Record record;
    record.leases = {lease(1, "alice"), lease(2, "bob"), lease(3, "alice")};
    index.relist(7, record, listing);
    EXPECT_EQ(found(index, "alice").count(7), 2U);
    record.leases = {lease(2, "bob"), lease(3, "alice"), lease(9, "carol")};
    index.relist(7, record, listing);
    EXPECT_EQ(found(index, "alice").count(7), 1U);
    EXPECT_EQ(found(index, "carol").count(7), 1U);
    record.leases = {lease(3, "alice")};
    record.reserved = {{lease(9, "carol"), Instant{}}, {lease(2, "bob"), Instant{}}};
    index.relist(7, record, listing);
    for (const char* name : holders)
        EXPECT_EQ(found(index, name).count(7), 1U) << name << " has a lease or a reservation";
    record.reserved.pop_back();
    index.relist(7, record, listing);
    EXPECT_TRUE(found(index, "bob").empty());
    EXPECT_EQ(found(index, "carol").count(7), 1U);
    index.relist(7, {}, listing);
    for (const char* name : holders)
        EXPECT_TRUE(found(index, name).empty());
}

}  // namespace
}  // namespace holdfast::store::memory
