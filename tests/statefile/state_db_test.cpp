#include "statefile/state_db.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>

#include "statefile/scratch_dir.h"

namespace holdfast::statefile {
namespace {

using Records = std::map<std::string, lease::Record>;

constexpr Instant noon{100'000s};

lease::Record held_for(Duration ttl, Instant since) {
    lease::Lease lease;
    lease.token = 41;
    lease.ttl = ttl;
    lease.acquired_at = lease.held_since = since;
    lease.expires_at = since + ttl;
    lease.holder = "alice";
    lease::Record record;
    record.leases.push_back(lease);
    record.last_token = 41;
    return record;
}

/// One state file over several lives.
class StateDbTest : public testing::Test {
 protected:
    std::string path() const { return scratch_.file("state.db"); }

    std::unique_ptr<StateDb> open(ClockReading clock) {
        auto opened = StateDb::open(path(), std::move(clock));
        if (!opened) {
            ADD_FAILURE() << opened.error().message;
            return nullptr;
        }
        return std::move(*opened);
    }

    /// A life that begins; what it took up is in taken_up_.
    std::unique_ptr<StateDb> begin(ClockReading clock) {
        auto db = open(std::move(clock));
        taken_up_.clear();
        const auto begun = db->begin([&](std::string_view resource, const lease::Record& record, const auto& ballots) {
            EXPECT_EQ(ballots, store::quorum::RegisterBallots{}) << "a server alone has none";
            taken_up_.emplace(resource, record);
        });
        EXPECT_TRUE(begun) << begun.error().message;
        if (begun) longest_ttl_ = *begun;
        return db;
    }

    static void stop(StateDb& db, const ClockReading& clock, const Records& records, Instant recovering_until = {}) {
        const auto stopped = db.stop_cleanly(clock, recovering_until, [&](const StateDb::TakeUp& save) {
            for (const auto& [resource, record] : records)
                save(resource, record, {});
        });
        ASSERT_TRUE(stopped) << stopped.error().message;
    }

    std::string content() const {
        std::ifstream file(path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    /// What opening says of a file with this content, which must stay as it is.
    std::string refusal_of(const std::string& bytes) {
        std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
        const auto opened = StateDb::open(path(), {"boot", noon});
        EXPECT_EQ(content(), bytes) << "a file that is refused is left alone";
        if (opened) return "accepted";
        EXPECT_NE(opened.error().message.find(path()), std::string::npos) << opened.error().message;
        return std::string(opened.error().code.name());
    }

    ScratchDir scratch_;
    Records taken_up_;
    Duration longest_ttl_{};
};

TEST_F(StateDbTest, has_nothing_to_wait_for_at_the_first_start) {
    const auto db = open({"boot", noon});
    EXPECT_EQ(db->found().last_stop, LastStop::none);
    EXPECT_EQ(db->found().token_ceiling, 0U);
    EXPECT_LE(db->found().recovering_until, noon);
}

TEST_F(StateDbTest, a_start_that_never_began_leaves_no_trace) {
    open({"boot", noon});
    EXPECT_EQ(open({"boot", noon + 1s})->found().last_stop, LastStop::none);
}

TEST_F(StateDbTest, waits_for_the_longest_ttl_after_an_unclean_stop) {
    begin({"boot", noon});
    const auto db = open({"boot", noon + 1s});
    EXPECT_EQ(db->found().last_stop, LastStop::unclean);
    EXPECT_EQ(db->found().recovering_until, noon + 1s + lease::Policy{}.ttl_max);
}

TEST_F(StateDbTest, waits_again_when_it_dies_while_it_waits) {
    begin({"boot", noon});
    begin({"boot", noon + 1s});
    EXPECT_EQ(open({"boot", noon + 2s})->found().recovering_until, noon + 2s + lease::Policy{}.ttl_max);
}

TEST_F(StateDbTest, a_raised_maximum_counts_from_the_moment_it_is_saved_and_a_lowered_one_does_not) {
    auto db = begin({"boot", noon});
    ASSERT_TRUE(db->save_ttl_max(10min));
    ASSERT_TRUE(db->save_ttl_max(2min));
    db = nullptr;
    db = begin({"boot", noon});
    EXPECT_EQ(db->found().recovering_until, noon + 10min);
    EXPECT_EQ(longest_ttl_, 10min);
    ASSERT_TRUE(db->lower_longest_ttl(2min));
    db = nullptr;
    EXPECT_EQ(open({"boot", noon})->found().recovering_until, noon + 2min);
}

TEST_F(StateDbTest, a_clean_stop_brings_the_wait_down_to_what_is_alive) {
    auto db = begin({"boot", noon});
    ASSERT_TRUE(db->save_ttl_max(2s));
    stop(*db, {"boot", noon}, {});
    db = nullptr;
    begin({"boot", noon});
    EXPECT_EQ(longest_ttl_, 2s);
    EXPECT_EQ(open({"boot", noon + 1s})->found().recovering_until, noon + 3s);
}

TEST_F(StateDbTest, the_wait_covers_a_restored_lease_that_is_longer_than_the_policy_allows_now) {
    auto db = begin({"boot", noon});
    ASSERT_TRUE(db->save_ttl_max(2s));
    stop(*db, {"boot", noon}, {{"r", held_for(4min, noon)}});
    db = nullptr;
    begin({"boot", noon});
    EXPECT_EQ(longest_ttl_, 4min);
}

TEST_F(StateDbTest, a_clean_stop_hands_every_lease_over_as_it_was) {
    const Records records{{"a", held_for(60s, noon)}, {"b", held_for(30s, noon + 1s)}};
    stop(*begin({"boot", noon}), {"boot", noon + 2s}, records);
    const auto db = begin({"boot", noon + 10s});
    EXPECT_EQ(db->found().last_stop, LastStop::clean);
    EXPECT_LE(db->found().recovering_until, noon + 10s);
    EXPECT_EQ(taken_up_, records);
}

TEST_F(StateDbTest, hands_nobody_over_who_waited_for_a_server_alone) {
    lease::Record record = held_for(60s, noon);
    record.waiters.push_back({.id = 1, .until = noon + 60s, .holder = "bob", .session = ""});
    stop(*begin({"boot", noon}), {"boot", noon}, {{"a", record}});
    begin({"boot", noon});
    EXPECT_EQ(taken_up_, (Records{{"a", held_for(60s, noon)}})) << "its connection ended with the process";
}

TEST_F(StateDbTest, hands_records_over_once) {
    stop(*begin({"boot", noon}), {"boot", noon}, {{"a", held_for(60s, noon)}});
    begin({"boot", noon + 1s});
    EXPECT_EQ(taken_up_.size(), 1U);
    begin({"boot", noon + 2s});
    EXPECT_EQ(taken_up_.size(), 0U) << "after the unclean stop nobody knows what became of them";
}

TEST_F(StateDbTest, a_lease_that_ended_while_nobody_served_has_expired) {
    stop(*begin({"boot", noon}), {"boot", noon}, {{"a", held_for(5s, noon)}, {"old", held_for(1s, noon)}});
    begin({"boot", noon + 5min + 2s});
    ASSERT_TRUE(taken_up_.contains("a"));
    EXPECT_TRUE(taken_up_["a"].leases.empty());
    EXPECT_EQ(taken_up_["a"].ended, (std::vector<lease::EndedLease>{{41, lease::Ending::expired, noon + 5s}}));
    EXPECT_FALSE(taken_up_.contains("old")) << "history is kept for five minutes (R3)";
}

TEST_F(StateDbTest, after_a_reboot_what_was_left_of_a_lease_is_left_undiminished) {
    stop(*begin({"boot", noon}), {"boot", noon + 20s}, {{"a", held_for(60s, noon)}});
    const Instant early{3s};
    begin({"another boot", early});
    ASSERT_EQ(taken_up_["a"].leases.size(), 1U);
    EXPECT_EQ(taken_up_["a"].leases[0].expires_at, early + 40s);
    EXPECT_EQ(taken_up_["a"].leases[0].acquired_at, early - 20s);
}

TEST_F(StateDbTest, after_a_reboot_everything_counted_from_an_instant_goes_on_from_there) {
    lease::Record record = held_for(60s, noon);
    record.leases[0].held_since = noon - 10s;
    record.leases[0].progress = lease::Progress{3, noon + 5s};
    record.reserved = {{record.leases[0], noon + 75s}};
    record.reserved[0].lease.token = 40;
    record.past = {{"bob", noon + 10s, 30s}};
    stop(*begin({"boot", noon}), {"boot", noon + 20s}, {{"a", record}});
    const Instant early{3s};
    begin({"another boot", early});
    const lease::Record& found = taken_up_["a"];
    ASSERT_EQ(found.leases.size(), 1U);
    EXPECT_EQ(found.leases[0].held_since, early - 30s);
    EXPECT_EQ(found.leases[0].progress, (lease::Progress{3, early - 15s}));
    ASSERT_EQ(found.reserved.size(), 1U);
    EXPECT_EQ(found.reserved[0].until, early + 55s);
    EXPECT_EQ(found.reserved[0].lease.expires_at, early + 40s);
    EXPECT_EQ(found.reserved[0].lease.held_since, early - 30s);
    EXPECT_EQ(found.reserved[0].lease.progress, found.leases[0].progress);
    EXPECT_EQ(found.past, (std::vector<lease::PastHolding>{{"bob", early - 10s, 30s}}));
}

TEST_F(StateDbTest, a_clean_stop_keeps_what_is_reserved_until_its_grace_is_over) {  // R5
    lease::Record record = held_for(5s, noon);
    record.leases[0].resumable = true;
    const Instant until = noon + 5s + lease::limits::grace;
    stop(*begin({"boot", noon}), {"boot", noon}, {{"a", record}});
    auto db = begin({"boot", noon + 6s});
    ASSERT_EQ(taken_up_["a"].reserved.size(), 1U) << "it ran out while nobody served";
    EXPECT_EQ(taken_up_["a"].reserved[0].until, until);
    stop(*db, {"boot", until - 2ns}, taken_up_);
    db = nullptr;
    db = begin({"boot", until - 1ns});
    EXPECT_EQ(taken_up_["a"].reserved.size(), 1U);
    stop(*db, {"boot", until - 1ns}, taken_up_);
    db = nullptr;
    begin({"boot", until});
    EXPECT_EQ(taken_up_["a"].reserved.size(), 0U);
}

TEST_F(StateDbTest, the_wait_does_not_cover_what_is_only_reserved) {
    auto db = begin({"boot", noon});
    ASSERT_TRUE(db->save_ttl_max(2s));
    lease::Record record;
    record.reserved = {{held_for(4min, noon - 4min).leases[0], noon + lease::limits::grace}};
    stop(*db, {"boot", noon}, {{"r", record}});
    db = nullptr;
    begin({"boot", noon});
    EXPECT_EQ(longest_ttl_, 2s);
    EXPECT_EQ(taken_up_.at("r"), record);
}

TEST_F(StateDbTest, a_clock_that_went_back_is_not_the_same_clock) {
    stop(*begin({"boot", noon}), {"boot", noon + 20s}, {{"a", held_for(60s, noon)}});
    begin({"boot", noon - 50s});
    ASSERT_EQ(taken_up_["a"].leases.size(), 1U);
    EXPECT_EQ(taken_up_["a"].leases[0].expires_at, noon - 10s);
}

TEST_F(StateDbTest, a_clean_stop_in_the_middle_of_a_recovery_does_not_cut_it_short) {
    begin({"boot", noon});
    auto db = begin({"boot", noon});
    const Instant until = db->found().recovering_until;
    stop(*db, {"boot", noon + 1min}, {}, until);
    db = nullptr;
    EXPECT_EQ(open({"boot", noon + 2min})->found().recovering_until, until);
    EXPECT_EQ(open({"another boot", Instant{9s}})->found().recovering_until, Instant{9s} + 4min);
    begin({"boot", noon + 2min});
    EXPECT_GE(longest_ttl_, until - (noon + 2min)) << "a crash from here on must wait for the same leases";
}

TEST_F(StateDbTest, the_token_ceiling_only_goes_up) {
    auto db = begin({"boot", noon});
    ASSERT_TRUE(db->reserve_tokens(1000));
    ASSERT_TRUE(db->reserve_tokens(999));
    db = nullptr;
    EXPECT_EQ(open({"boot", noon})->found().token_ceiling, 1000U);
}

TEST_F(StateDbTest, the_longest_ttl_that_may_be_granted_survives) {
    EXPECT_EQ(open({"boot", noon})->found().ttl_max, lease::Policy{}.ttl_max);
    ASSERT_TRUE(begin({"boot", noon})->save_ttl_max(7min));
    EXPECT_EQ(open({"boot", noon})->found().ttl_max, 7min);
}

TEST_F(StateDbTest, refuses_a_damaged_file_and_leaves_it_alone) {
    stop(*begin({"boot", noon}), {"boot", noon}, {{"a", held_for(60s, noon)}});
    const std::string good = content();
    ASSERT_GT(good.size(), 8192U);
    std::string torn = good;
    torn.replace(4096, 4096, 4096, '\x5a');
    EXPECT_EQ(refusal_of(torn), "state_corrupt");
    EXPECT_EQ(refusal_of(good.substr(0, 5000)), "state_corrupt");
    EXPECT_EQ(refusal_of("this is no database, but it is long enough to look at"), "state_corrupt");
    EXPECT_EQ(refusal_of(""), "state_corrupt");
    EXPECT_EQ(refusal_of(good), "accepted");
}

TEST_F(StateDbTest, serves_nothing_that_a_flipped_bit_has_altered) {
    Records saved;
    for (int i = 0; i < 40; ++i)
        saved.emplace("res" + std::to_string(100 + i), held_for(60s, noon));
    auto first = begin({"boot", noon});
    ASSERT_TRUE(first->reserve_tokens(1000));
    stop(*first, {"boot", noon}, saved);
    first = nullptr;
    const std::string good = content();
    int refused = 0, unclean = 0, untouched = 0;
    std::size_t seen = 0;
    for (std::size_t byte = 0; byte < good.size(); ++byte) {
        if (good[byte] == '\0' || ++seen % 61 != 0) continue;  // most of the file is empty
        const std::size_t bit = 8 * byte + seen % 8;
        std::string bad = good;
        bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit % 8));
        for (const char* also : {"", "-wal", "-shm"})
            std::filesystem::remove(path() + also);
        std::ofstream(path(), std::ios::binary) << bad;
        auto db = StateDb::open(path(), {"boot", noon + 1s});
        if (!db) {
            ++refused;
            continue;
        }
        Records found;
        const auto begun =
            (*db)->begin([&](std::string_view resource, const lease::Record& record,
                             const store::quorum::RegisterBallots&) { found.emplace(resource, record); });
        if (!begun) {
            ++refused;
            continue;
        }
        if ((*db)->found().last_stop == LastStop::clean) {
            ++untouched;  // it was in a place that has no meaning
            EXPECT_EQ(found, saved) << "bit " << bit;
            EXPECT_EQ((*db)->found().token_ceiling, 1000U) << "bit " << bit;
            continue;
        }
        ++unclean;
        EXPECT_TRUE(found.empty()) << "bit " << bit;
        EXPECT_GE((*db)->found().recovering_until, noon + 1s + lease::Policy{}.ttl_max) << "bit " << bit;
    }
    EXPECT_GT(unclean, 20) << refused << " refused, " << untouched << " without a meaning";
}

TEST_F(StateDbTest, takes_what_was_altered_after_a_clean_stop_for_an_unclean_one_and_goes_on) {
    auto db = begin({"boot", noon});
    stop(*db, {"boot", noon}, {{"a", held_for(60s, noon)}, {"b", held_for(60s, noon)}});
    db = nullptr;
    Sqlite(path()).run("UPDATE records SET rowid = 10 - rowid");  // the same content in another order
    db = begin({"boot", noon + 1s});
    EXPECT_TRUE(db->found().damaged);
    EXPECT_EQ(db->found().last_stop, LastStop::unclean);
    EXPECT_TRUE(taken_up_.empty());
    stop(*db, {"boot", noon + 2s}, {{"c", held_for(60s, noon)}});
    db = nullptr;
    db = begin({"boot", noon + 3s});
    EXPECT_FALSE(db->found().damaged);
    EXPECT_EQ(taken_up_, (Records{{"c", held_for(60s, noon)}})) << "and what was altered is gone";
}

TEST_F(StateDbTest, refuses_a_file_that_is_gone_while_its_log_is_there) {
    std::ofstream(path() + "-wal") << "log";
    const auto opened = StateDb::open(path(), {"boot", noon});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::state_corrupt);
    EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(StateDbTest, refuses_a_file_of_a_newer_version) {
    begin({"boot", noon});
    Sqlite(path()).run("PRAGMA user_version = 99");
    const auto opened = StateDb::open(path(), {"boot", noon});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::state_too_new);
}

TEST_F(StateDbTest, refuses_a_file_of_an_unreleased_version) {
    begin({"boot", noon});
    Sqlite(path()).run("PRAGMA user_version = 6");
    const auto opened = StateDb::open(path(), {"boot", noon});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::state_too_old);
    EXPECT_NE(opened.error().message.find("move the whole directory away"), std::string::npos);
}

TEST_F(StateDbTest, refuses_values_that_cannot_be_and_a_record_that_cannot_be_read) {
    begin({"boot", noon});
    Sqlite(path()).run("UPDATE meta SET value = -1 WHERE name = 'token_ceiling'");
    const auto negative = StateDb::open(path(), {"boot", noon});
    ASSERT_FALSE(negative);
    EXPECT_EQ(negative.error().code, Code::state_corrupt);

    Sqlite(path()).run("UPDATE meta SET value = 5 WHERE name = 'token_ceiling'");
    for (const char* ttl : {"-1", "86400000000001"}) {
        Sqlite(path()).run(("UPDATE meta SET value = " + std::string(ttl) + " WHERE name = 'ttl_max_ns'").c_str());
        const auto impossible = StateDb::open(path(), {"boot", noon});
        ASSERT_FALSE(impossible) << ttl;
        EXPECT_EQ(impossible.error().code, Code::state_corrupt);
    }

    Sqlite(path()).run("UPDATE meta SET value = 0 WHERE name = 'ttl_max_ns'; DELETE FROM meta WHERE name = 'clean'");
    const auto missing = StateDb::open(path(), {"boot", noon});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::state_corrupt);

    Sqlite(path()).run(
        "INSERT INTO meta VALUES ('clean', 1); INSERT INTO records VALUES ('a', x'ff', 0, 0, 0, 0, 0, 0)");
    const auto begun = open({"boot", noon})->begin([](auto&&...) {});
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, Code::state_corrupt);
    EXPECT_EQ(open({"boot", noon})->found().last_stop, LastStop::clean) << "a start that failed changed nothing";
}

}  // namespace
}  // namespace holdfast::statefile
