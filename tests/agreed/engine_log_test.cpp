#include "agreed/engine_log.h"

#include <gtest/gtest.h>
#include <numeric>

#include "server/front/front_world.h"

namespace holdfast::agreed {
namespace {

/// A front that keeps the words of the log in a list.
struct Reader final : StateMachine {
    explicit Reader(server::FrontWorld& the_world, consensus::LogIndex snapshot_after = 1'000'000)
        : world(the_world),
          engine(the_world.server),
          log({.engine = engine,
               .next_write = the_world.writes(),
               .machine = *this,
               .entries_before_snapshot = snapshot_after,
               .chunk_bytes = 100}) {}

    void apply(consensus::LogIndex, const std::string& entry) override { words.push_back(entry); }
    std::string snapshot() const override { return joined(); }
    Result<void> install(const std::string& snapshot) override {
        ++installed;
        words.clear();
        std::string word;
        for (const char c : snapshot) {
            if (c != ' ') word += c;
            if (c == ' ') words.push_back(std::exchange(word, {}));
        }
        return {};
    }

    std::string joined() const {
        return std::accumulate(words.begin(), words.end(), std::string(),
                               [](std::string all, const std::string& word) { return std::move(all) + word + " "; });
    }
    void append(const std::string& word) {
        log.append(word, [this](const Result<void>& outcome) { ++(outcome ? appended : failed); });
    }
    void catch_up() {
        bool done = false;
        log.catch_up([&](const Result<void>&) { done = true; });
        world.run_until([&] { return done; });
    }

    server::FrontWorld& world;
    store::cas::SimEngine engine;
    std::vector<std::string> words;
    int appended = 0, failed = 0, installed = 0;
    EngineLog log;
};

}  // namespace

TEST(EngineLog, is_the_same_for_all_who_append_at_once) {
    server::FrontWorld world;
    Reader a(world), b(world), c(world);
    for (int i = 0; i < 50; ++i) {
        a.append("a" + std::to_string(i));
        b.append("b" + std::to_string(i));
    }
    world.run_until([&] { return a.appended == 50 && b.appended == 50; });
    for (Reader* reader : {&a, &b, &c})
        reader->catch_up();
    EXPECT_EQ(a.words.size(), 100U);
    EXPECT_EQ(a.words, b.words);
    EXPECT_EQ(a.words, c.words);
}

TEST(EngineLog, hears_of_others_by_looking_now_and_then) {
    server::FrontWorld world;
    Reader a(world), b(world);
    b.catch_up();
    a.append("news");
    world.each_step = [&](Instant now) { b.log.advance(now); };
    world.run_until([&] { return b.words.size() == 1; });
}

TEST(EngineLog, goes_on_from_a_snapshot_when_the_entries_are_gone) {
    server::FrontWorld world;
    Reader a(world, 1500), late(world);
    for (int i = 0; i < 3200; ++i)
        a.append("w" + std::to_string(i));
    world.run_until([&] { return a.appended == 3200; });
    world.pass(10s);  // the old ones are taken out
    late.catch_up();
    EXPECT_GE(late.installed, 1);
    EXPECT_EQ(late.words, a.words);
}

TEST(EngineLog, does_not_believe_a_place_that_is_free_because_its_entry_was_taken_out) {
    server::FrontWorld world;
    Reader a(world, 1500), asleep(world);
    for (int i = 0; i < 3200; ++i)
        a.append("w" + std::to_string(i));
    world.run_until([&] { return a.appended == 3200; });
    world.pass(10s);
    asleep.append("late");  // it has read nothing, and takes the first place for free
    world.run_until([&] { return asleep.appended == 1; });
    a.catch_up();
    EXPECT_EQ(a.words.back(), "late");
    EXPECT_EQ(a.words, asleep.words);
}

TEST(EngineLog, loses_and_doubles_nothing_that_it_said_was_appended_when_answers_are_lost) {
    server::FrontWorld world;
    world.server.loses_answers = 10;
    world.server.loses_requests = 5;
    Reader a(world), b(world);
    std::vector<std::string> said;
    for (int i = 0; i < 100; ++i) {
        const std::string word = "w" + std::to_string(i);
        Reader& reader = i % 2 == 0 ? a : b;
        bool answered = false;
        reader.log.append(word, [&](const Result<void>& outcome) {
            answered = true;
            if (outcome) said.push_back(word);
        });
        world.run_until([&] { return answered; });
    }
    world.server.loses_answers = world.server.loses_requests = 0;
    Reader judge(world);
    judge.catch_up();
    EXPECT_GT(said.size(), 20U);
    for (const std::string& word : said)
        EXPECT_EQ(std::count(judge.words.begin(), judge.words.end(), word), 1) << word;
}

}  // namespace holdfast::agreed
