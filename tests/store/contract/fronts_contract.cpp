#include <algorithm>
#include <set>

#include "store/contract/contract.h"

namespace holdfast::store::contract {
namespace {

TEST_P(StoreContract, shows_all_fronts_the_same) {
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    const lease::Token token = acquire(0, "r", {"alice"});
    ASSERT_NE(token, 0U);
    EXPECT_EQ(state(1, {"r", token}), lease::LeaseState::active);
    EXPECT_EQ(acquire(1, "r", {"bob"}), 0U);
    EXPECT_TRUE(renew(1, {"r", token}, "alice"));
    EXPECT_TRUE(renew(0, {"r", token}, "alice"));
    EXPECT_TRUE(release(1, {"r", token}, "alice"));
    EXPECT_EQ(state(0, {"r", token}), lease::LeaseState::released);
    const lease::Token next = acquire(0, "r", {"bob"});
    EXPECT_GT(next, token);
    EXPECT_EQ(leases_of(1, "bob").size(), 1U);
    EXPECT_EQ(list_all(1, {}).size(), 1U);
}

TEST_P(StoreContract, gives_each_record_to_one_of_two_fronts_that_race) {
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    constexpr std::size_t records = 100;
    std::vector<Promised<lease::Token>> asked;
    for (std::size_t i = 0; i < records; ++i)
        for (const std::size_t front : {i % 2, 1 - i % 2})
            asked.push_back(ask(front, "r" + std::to_string(i), {"front-" + std::to_string(front)}));
    for (std::size_t i = 0; i < records; ++i) {
        const auto one = answer(asked[2 * i]), other = answer(asked[2 * i + 1]);
        ASSERT_TRUE(one && other);
        EXPECT_NE(*one != 0, *other != 0) << i;
    }
    EXPECT_EQ(leases_of(0, "front-0").size() + leases_of(1, "front-1").size(), records);
}

TEST_P(StoreContract, loses_no_update_of_fronts_that_race_for_one_record) {
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    constexpr std::size_t rounds = 50;
    std::set<lease::Token> tokens;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<Promised<lease::Token>> asked;
        for (const std::size_t front : {0U, 1U})
            asked.push_back(
                ask(front, "counter",
                    {"h" + std::to_string(round) + "-" + std::to_string(front), 60s, lease::Predicate::consumes}));
        for (const auto& one : asked)
            tokens.insert(answer(one).value_or(0));
    }
    EXPECT_EQ(tokens.size(), 2 * rounds) << "each has a token of its own";
    EXPECT_EQ(list_all(0, {.prefix = "counter"}).size(), 2 * rounds);
}

TEST_P(StoreContract, lets_tokens_rise_over_all_fronts) {  // G3
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    lease::Token last = 0;
    for (std::size_t i = 0; i < 10; ++i) {
        const lease::Token offered = i % 2 == 0 ? 0 : 1;
        const lease::Token token = acquire(i % 2, "r", {"alice", 60s, lease::Predicate::mutates, {}, 0, offered});
        EXPECT_GT(token, last);
        last = token;
        ASSERT_TRUE(release((i / 2) % 2, {"r", token}, "alice"));
    }
}

TEST_P(StoreContract, wakes_who_waits_through_another_front) {
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    const std::uint64_t request = tested->first_request(1);
    const lease::Token token = acquire(0, "r", {"alice"});
    ASSERT_TRUE(answer(ask_wait(1, "r", request, "bob")).value_or(false));
    pass(200ms);
    EXPECT_EQ(tested->told(1).due, std::vector<std::string>{});
    EXPECT_TRUE(release(0, {"r", token}, "alice"));
    EXPECT_TRUE(until([&] { return Told::has(tested->told(1).due, "r " + std::to_string(request)); }));
    EXPECT_NE(acquire(1, "r", {"bob", 60s, lease::Predicate::mutates, {}, request}), 0U);
}

TEST_P(StoreContract, wakes_who_waits_through_another_front_for_what_runs_out) {
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    const std::uint64_t request = tested->first_request(1);
    acquire(0, "r", {"alice", 1s});
    ASSERT_TRUE(answer(ask_wait(1, "r", request, "bob")).value_or(false));
    EXPECT_TRUE(until([&] { return Told::has(tested->told(1).due, "r " + std::to_string(request)); }));
}

TEST_P(StoreContract, keeps_the_place_of_who_waits_for_long) {
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    const std::uint64_t request = tested->first_request(1);
    const lease::Token token = acquire(0, "r", {"alice"});
    ASSERT_TRUE(answer(ask_wait(1, "r", request, "bob")).value_or(false));
    pass(13s);
    EXPECT_TRUE(release(0, {"r", token}, "alice"));
    EXPECT_EQ(acquire(0, "r", {"mallory"}), 0U) << "it waits still";
    EXPECT_TRUE(until([&] { return Told::has(tested->told(1).due, "r " + std::to_string(request)); }));
}

TEST_P(StoreContract, tells_every_front_of_changes) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::tells_changes});
    const lease::LeaseName name{"@~services/web", acquire(0, "@~services/web", {"alice", 2s})};
    const std::string line = to_string(name);
    for (const std::size_t front : {0U, 1U})
        EXPECT_TRUE(until([&] { return Told::has(tested->told(front).granted, line); })) << front;
    pass(200ms);
    EXPECT_TRUE(renew(0, name, "alice"));
    for (const std::size_t front : {0U, 1U})
        EXPECT_TRUE(until([&] { return Told::has(tested->told(front).renewed, line); })) << front;
    for (const std::size_t front : {0U, 1U})
        EXPECT_TRUE(until([&] { return Told::has(tested->told(front).expired, line); })) << front;
    const lease::LeaseName other{"r", acquire(1, "r", {"bob"})};
    EXPECT_TRUE(release(0, other, "bob"));
    for (const std::size_t front : {0U, 1U})
        EXPECT_TRUE(until([&] { return Told::has(tested->told(front).released, to_string(other)); })) << front;
}

TEST_P(StoreContract, tells_every_front_of_leases_that_carry_much) {
    HOLDFAST_SET_UP({Ordeal::several_fronts, Ordeal::tells_changes});
    const std::string metadata = "{\"bytes\":\"" + std::string(8000, 'x') + "\"}";
    const lease::LeaseName name{
        "@~services/web", acquire(0, "@~services/web", {"alice", 60s, lease::Predicate::mutates, {}, 0, 0, metadata})};
    for (const std::size_t front : {0U, 1U}) {
        const auto& last = tested->told(front).last;
        EXPECT_TRUE(until([&] {
            const auto found = last.find(to_string(name));
            return found != last.end() && found->second.metadata == metadata;
        })) << front;
    }
}

TEST_P(StoreContract, lets_at_most_one_front_have_what_overlaps) {
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    for (int round = 0; round < 10; ++round) {
        const std::string folder = "FILE:/" + std::to_string(round);
        const auto tree = ask(0, folder + "/**", {"alice"});
        const auto file = ask(1, folder + "/b", {"bob"});
        const auto one = answer(tree), other = answer(file);
        ASSERT_TRUE(one && other);
        EXPECT_NE(*one != 0, *other != 0) << folder;
        const std::size_t held = list_all(0, {.prefix = folder + "/"}).size();
        EXPECT_EQ(held, 1U) << "nothing is left behind of what was taken back";
    }
}

TEST_P(StoreContract, wakes_who_waits_for_a_tree_when_the_file_in_it_is_free) {
    HOLDFAST_SET_UP({Ordeal::several_fronts});
    const std::uint64_t request = tested->first_request(1);
    const lease::Token token = acquire(0, "FILE:/a/b", {"alice"});
    ASSERT_TRUE(answer(ask_wait(1, "FILE:/a/**", request, "bob")).value_or(false));
    EXPECT_TRUE(release(0, {"FILE:/a/b", token}, "alice"));
    EXPECT_TRUE(until([&] { return Told::has(tested->told(1).due, "FILE:/a/** " + std::to_string(request)); }));
}

}  // namespace
}  // namespace holdfast::store::contract
