#include "store/cas/changes.h"

#include <array>
#include <gtest/gtest.h>

#include "store/quorum/acceptor.h"

namespace holdfast::store::quorum {
namespace {

constexpr Instant noon{1000s};

/// What an acceptor tells of what it accepts, as text.
class Told final : public StoreListener {
 public:
    void on_expired(std::string_view resource, const lease::Lease& lease, Duration) override {
        add("expired", resource, lease);
    }
    void on_due(std::string_view, const std::vector<std::uint64_t>&) override {}
    void on_changed(std::string_view resource, const lease::Lease& lease, LeaseChange change) override {
        static constexpr std::array names{"granted", "renewed", "released", "revoked"};
        add(names[static_cast<std::size_t>(change)], resource, lease);
        last_ = lease;
    }

    std::vector<std::string> take() { return std::exchange(lines_, {}); }
    const lease::Lease& last() const { return last_; }

 private:
    void add(std::string_view what, std::string_view resource, const lease::Lease& lease) {
        lines_.push_back(std::string(what) + " " +
                         lease::to_string(lease::LeaseName{std::string(resource), lease.token}));
    }
    std::vector<std::string> lines_;
    lease::Lease last_;
};
using Lines = std::vector<std::string>;

/// One acceptor, and a proposer that sends it one record after another.
class ChangesTest : public testing::Test {
 protected:
    ChangesTest() : acceptor_({config_, told_, {1, 2}}) {
        acceptor_.raise_token_ceiling(1'000'000);
        pass(0s);
    }

    void pass(Duration time) {
        now_ += time;
        acceptor_.advance(now_);
    }
    static lease::Lease lease(lease::Token token, Instant from, Duration ttl = 60s) {
        lease::Lease made;
        made.token = token;
        made.ttl = ttl;
        made.acquired_at = made.held_since = from;
        made.expires_at = from + ttl;
        made.holder = "alice";
        return made;
    }
    /// As of a proposer at this moment; it arrives `late`.
    Accept message(const lease::Record& record, Duration late = 2ms) {
        const Ballot ballot{++counter_, 1, 1};
        const Accept accept{"r", ballot, ballot, cas::to_relative(record, now_)};
        pass(late);
        return accept;
    }
    Lines accept(const lease::Record& record) {
        const Accept sent = message(record);
        EXPECT_TRUE(acceptor_.accept(sent)->granted);
        EXPECT_TRUE(acceptor_.accept(sent)->granted) << "the same once more";
        return told_.take();
    }

    QuorumConfig config_;
    Told told_;
    Acceptor acceptor_;
    Instant now_ = noon;
    std::uint64_t counter_ = 0;
};

TEST_F(ChangesTest, tells_of_a_grant_a_renewal_and_a_release_once_each) {
    lease::Record record;
    record.leases.push_back(lease(7, now_));
    EXPECT_EQ(accept(record), (Lines{"granted r#7"}));
    EXPECT_EQ(accept(record), (Lines{})) << "another change of the record moves it on by the time it travels";
    pass(20s);
    record.leases[0].expires_at = now_ + 60s;
    EXPECT_EQ(accept(record), (Lines{"renewed r#7"}));
    record.end(7, lease::Ending::released, now_);
    EXPECT_EQ(accept(record), (Lines{"released r#7"}));
    EXPECT_EQ(accept(record), (Lines{}));
}

TEST_F(ChangesTest, tells_of_a_lease_that_takes_the_place_of_another) {
    lease::Record record;
    record.leases.push_back(lease(7, now_));
    accept(record);
    record.end(7, lease::Ending::revoked, now_);
    record.leases.push_back(lease(9, now_));
    EXPECT_EQ(accept(record), (Lines{"revoked r#7", "granted r#9"}));
}

TEST_F(ChangesTest, tells_the_end_of_a_lease_that_others_saw_expire_first) {
    lease::Record record;
    record.leases.push_back(lease(7, now_));
    accept(record);
    record.end(7, lease::Ending::expired, now_);
    EXPECT_EQ(accept(record), (Lines{"expired r#7"}));
}

TEST_F(ChangesTest, a_lease_that_was_taken_back_without_a_trace_is_released) {
    lease::Record record;
    record.leases.push_back(lease(7, now_));
    accept(record);
    EXPECT_EQ(accept(lease::Record{}), (Lines{"released r#7"}));
}

TEST_F(ChangesTest, one_that_is_told_to_have_expired_and_is_seen_again_was_renewed) {
    lease::Record record;
    record.leases.push_back(lease(7, now_, 2s));
    accept(record);
    pass(3s);
    EXPECT_EQ(told_.take(), (Lines{"expired r#7"}));
    record.leases[0].expires_at = now_ + 2s;
    EXPECT_EQ(accept(record), (Lines{"renewed r#7"}));
}

TEST_F(ChangesTest, tells_times_in_the_measure_of_the_holder) {  // Q7
    lease::Record record;
    record.leases.push_back(lease(7, now_));
    config_.rates().to_kept(record, now_);
    accept(record);
    EXPECT_NEAR(static_cast<double>((told_.last().expires_at - now_).count()), 60e9, 1e6);
}

TEST_F(ChangesTest, takes_up_what_a_clean_stop_kept_without_a_word) {
    lease::Record record;
    record.leases.push_back(lease(7, now_));
    acceptor_.restore("r", {{1, 1, 1}, {1, 1, 1}}, record);
    EXPECT_EQ(told_.take(), (Lines{}));
    counter_ = 1;
    EXPECT_EQ(accept(record), (Lines{}));
}

}  // namespace
}  // namespace holdfast::store::quorum
