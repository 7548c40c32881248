#include "agreed/local_log.h"

#include <deque>
#include <gtest/gtest.h>
#include <vector>

namespace holdfast::agreed {
namespace {

/// Keeps the words of the log in a list.
struct Words final : StateMachine {
    void apply(consensus::LogIndex index, const std::string& entry) override {
        EXPECT_EQ(index, ++last);
        words += entry + " ";
    }
    std::string snapshot() const override { return std::to_string(last) + ":" + words; }
    Result<void> install(const std::string& snapshot) override {
        const auto colon = snapshot.find(':');
        last = std::stoull(snapshot.substr(0, colon));
        words = snapshot.substr(colon + 1);
        return {};
    }
    void applied() override { ++told; }

    std::string words;
    consensus::LogIndex last = 0;
    int told = 0;
};

/// What is on the disk survives the log.
struct Platter {
    consensus::LogFound content{{1, 0}, 0, std::nullopt, {}};
    bool fails = false;
    std::deque<std::pair<consensus::LogWrite, Callback<Result<void>>>> waiting;

    void write_one() {
        auto [write, done] = std::move(waiting.front());
        waiting.pop_front();
        if (fails) return done(Error{Code::storage_failed, "disk full"});
        for (const consensus::LogDecree& decree : write.decrees) {
            EXPECT_EQ(decree.index, last() + 1);
            content.decrees.push_back(decree);
        }
        if (write.snapshot) {
            content.snapshot = write.snapshot;
            std::erase_if(content.decrees, [&](const auto& decree) { return decree.index <= write.snapshot->index; });
        }
        content.committed = write.committed.value_or(content.committed);
        EXPECT_LE(content.committed, last());
        done({});
    }
    void write_all() {
        while (!waiting.empty())
            write_one();
    }
    consensus::LogIndex last() const {
        if (!content.decrees.empty()) return content.decrees.back().index;
        return content.snapshot ? content.snapshot->index : 0;
    }
};

class Disk final : public consensus::LogDisk {
 public:
    explicit Disk(Platter& platter) : platter_(platter) {}
    void write(consensus::LogWrite write, Callback<Result<void>> done) override {
        platter_.waiting.emplace_back(std::move(write), std::move(done));
    }

 private:
    Platter& platter_;
};

class LocalLogTest : public ::testing::Test {
 protected:
    LocalLogTest() { start(); }

    void start() {
        log.reset();
        platter.waiting.clear();
        words = Words{};
        log.emplace(LocalLog::Parts{words, std::make_unique<Disk>(platter), platter.content, 10});
        log->advance(now);
    }
    void append(const std::string& word) {
        log->append(word, [this](const Result<void>& outcome) {
            answers.push_back(outcome ? "done, after " + words.words : std::string(outcome.error().code.name()));
        });
    }
    void pass(Duration time) { log->advance(now += time); }

    Platter platter;
    Words words;
    std::optional<LocalLog> log;
    std::vector<std::string> answers;
    Instant now{1000s};
};

TEST_F(LocalLogTest, applies_and_answers_an_entry_once_the_disk_has_it) {
    append("one");
    EXPECT_EQ(words.words, "");
    EXPECT_TRUE(answers.empty());
    platter.write_all();
    EXPECT_EQ(answers, (std::vector<std::string>{"done, after one "}));
    EXPECT_EQ(words.told, 1);
}

TEST_F(LocalLogTest, writes_together_what_comes_while_the_disk_is_busy) {
    for (const char* word : {"one", "two", "three"})
        append(word);
    EXPECT_EQ(platter.waiting.size(), 1U);
    platter.write_one();
    ASSERT_EQ(platter.waiting.size(), 1U);
    EXPECT_EQ(platter.waiting.front().first.decrees.size(), 2U);
    platter.write_all();
    EXPECT_EQ(words.words, "one two three ");
    EXPECT_EQ(answers.size(), 3U);
}

TEST_F(LocalLogTest, finds_at_the_next_start_what_it_answered) {
    append("one");
    platter.write_all();
    append("lost");
    start();
    EXPECT_EQ(words.words, "one ");
    append("two");
    platter.write_all();
    start();
    EXPECT_EQ(words.words, "one two ");
    EXPECT_EQ(answers.size(), 2U);
}

TEST_F(LocalLogTest, applies_all_that_is_on_the_disk_though_no_commit_says_so) {
    platter.content.promised = {7, 0};
    platter.content.decrees = {{1, {1, 0}, "one"}, {2, {3, 0}, ""}, {3, {7, 0}, "three"}};
    words.last = 0;
    log.reset();
    struct Any final : StateMachine {
        void apply(consensus::LogIndex, const std::string& entry) override { text += entry; }
        std::string snapshot() const override { return text; }
        Result<void> install(const std::string&) override { return {}; }
        std::string text;
    } any;
    LocalLog found({any, std::make_unique<Disk>(platter), platter.content});
    EXPECT_EQ(any.text, "onethree") << "a leader fills a gap with an empty entry";
    EXPECT_EQ(found.applied(), 3U);
    found.append("four", [](const Result<void>&) {});
    ASSERT_EQ(platter.waiting.size(), 1U);
    EXPECT_EQ(platter.waiting.front().first.decrees.front(), (consensus::LogDecree{4, {7, 0}, "four"}));
}

TEST_F(LocalLogTest, folds_entries_into_a_snapshot_and_goes_on_from_it) {
    std::string all;
    for (int i = 1; i <= 25; ++i) {
        append(std::to_string(i));
        all += std::to_string(i) + " ";
        platter.write_all();
    }
    ASSERT_TRUE(platter.content.snapshot);
    EXPECT_EQ(platter.content.snapshot->index, 20U);
    EXPECT_EQ(platter.content.decrees.size(), 5U);
    start();
    EXPECT_EQ(words.words, all);
    append("more");
    platter.write_all();
    EXPECT_EQ(words.words, all + "more ");
}

TEST_F(LocalLogTest, answers_a_failure_of_the_disk_at_once_and_appends_when_it_recovers) {
    platter.fails = true;
    append("one");
    append("two");
    platter.write_all();
    EXPECT_EQ(answers, (std::vector<std::string>{"storage_failed", "storage_failed"}));
    EXPECT_EQ(words.words, "");
    platter.fails = false;
    EXPECT_LE(log->next_due(), now + 1s);
    pass(1s);
    append("three");
    platter.write_all();
    EXPECT_EQ(words.words, "one two three ");
    EXPECT_EQ(answers.back(), "done, after one two three ");
}

TEST_F(LocalLogTest, does_not_make_callers_wait_for_ever_for_a_disk_that_stalls) {
    append("one");
    EXPECT_EQ(log->next_due(), now + 5s);
    pass(5s);
    EXPECT_EQ(answers, (std::vector<std::string>{"unavailable"}));
    platter.write_all();
    EXPECT_EQ(words.words, "one ") << "it may still take effect";
    EXPECT_EQ(answers.size(), 1U);
}

TEST_F(LocalLogTest, keeps_no_more_entries_for_a_stalled_disk_than_it_has_room_for) {
    for (int i = 0; i < 3000; ++i) {
        append("x");
        pass(10ms);
    }
    EXPECT_EQ(answers, std::vector<std::string>(3000, "unavailable"));
    platter.write_all();
    EXPECT_EQ(words.last, 1024U);
    append("x");
    platter.write_all();
    EXPECT_EQ(words.last, 1025U);
}

TEST_F(LocalLogTest, refuses_an_entry_that_is_too_large) {
    append(std::string(1 << 20, 'x'));
    EXPECT_EQ(answers, (std::vector<std::string>{"unavailable"}));
    EXPECT_TRUE(platter.waiting.empty());
}

}  // namespace
}  // namespace holdfast::agreed
