#include "sim/session.h"

#include <gtest/gtest.h>

#include "sim/mutants.h"

namespace holdfast::sim {
namespace {

/// Keeps what it is told.
class Listening final : public Report {
 public:
    void progress(const Tally&, Seconds) override {}
    void finished(const Tally& tally, Seconds) override {
        worlds = tally.seeds;
        stopped = tally.stopped;
    }
    void failed(const Failure&) override { ++failures; }
    void shrinking(const Scenario&) override {}
    void shrunk(const Failure&) override {}
    void searched(const std::string&, const Searched& one, Seconds) override { states += one.states; }
    void refused(const std::string& why) override { refusal = why; }

    std::uint64_t worlds = 0, failures = 0, states = 0;
    bool stopped = false;
    std::string refusal;
};

TEST(Session, runs_as_many_worlds_as_it_is_asked_for) {
    SessionOptions options;
    options.seeds = 3;
    Listening report;
    EXPECT_EQ(run_session(options, report), 0);
    EXPECT_EQ(report.worlds, 3U);
    options.seed = 2;
    EXPECT_EQ(run_session(options, report), 0);
    EXPECT_EQ(report.worlds, 1U);
}

TEST(Session, ends_with_a_summary_when_it_is_told_to_stop) {
    SessionOptions options;
    options.seeds = 1'000'000;
    int asked = 0;
    options.stopped = [&] { return ++asked > 2; };
    Listening report;
    EXPECT_EQ(run_session(options, report), 0);
    EXPECT_EQ(report.worlds, 2U);
    EXPECT_TRUE(report.stopped);
    options.exhaustive = true;
    EXPECT_EQ(run_session(options, report), 0);
}

TEST(Session, of_what_ships_has_no_mutants_and_says_how_to_get_them) {
    SessionOptions options;
    options.mutant = mutants().front().name;
    Listening report;
    EXPECT_EQ(run_session(options, report), 2);
    EXPECT_NE(report.refusal.find("make sim MUTANT=" + options.mutant), std::string::npos) << report.refusal;
    EXPECT_EQ(report.worlds, 0U);
    options.mutant = "nobody";
    EXPECT_EQ(run_session(options, report), 2);
    EXPECT_NE(report.refusal.find("no mutant 'nobody'"), std::string::npos) << report.refusal;
}

TEST(Session, searches_instead_when_asked_to) {
    SessionOptions options;
    options.exhaustive = true;
    options.max_states = 200;
    Listening report;
    EXPECT_EQ(run_session(options, report), 0);
    EXPECT_GT(report.states, 200U);
}

}  // namespace
}  // namespace holdfast::sim
