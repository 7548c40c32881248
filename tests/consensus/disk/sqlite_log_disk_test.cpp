#include "consensus/disk/sqlite_log_disk.h"

#include <fstream>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "consensus/replicated_log.h"
#include "statefile/scratch_dir.h"

namespace holdfast::consensus::disk {
namespace {

constexpr LogBallot ballot{7, 1};

LogWrite accepting(LogIndex index, std::string value) {
    LogWrite write;
    write.decrees.push_back({index, ballot, std::move(value)});
    return write;
}

class SqliteLogDiskTest : public testing::Test {
 protected:
    std::string path() const { return scratch_.file("log.db"); }

    void open() {
        auto file = LogFile::open(path());
        ASSERT_TRUE(file) << file.error().message;
        found_ = (*file)->take_found();
        disk_.emplace(SqliteLogDisk::Parts{.file = std::move(*file),
                                           .post = [this](Callback<> function) { post(std::move(function)); },
                                           .on_failure = [this](const Error& error) { failures_.push_back(error); }});
    }
    void close() {
        disk_->stop();
        run_posted();
        disk_.reset();
        EXPECT_EQ(answered_, asked_);
    }
    void post(Callback<> function) {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(function));
    }
    void run_posted() {
        std::vector<Callback<>> batch;
        {
            const std::lock_guard lock(mutex_);
            batch.swap(posted_);
        }
        for (Callback<>& function : batch)
            function();
    }
    void run_loop() {
        disk_->drain();
        run_posted();
    }
    void write(LogWrite write) {
        ++asked_;
        disk_->write(std::move(write), [this](const Result<void>& outcome) {
            EXPECT_TRUE(outcome);
            ++answered_;
        });
    }
    std::string refusal() {
        const auto file = LogFile::open(path());
        return file ? "" : std::string(file.error().code.name());
    }

    statefile::ScratchDir scratch_;
    LogFound found_;
    std::mutex mutex_;
    std::vector<Callback<>> posted_;
    std::vector<Error> failures_;
    int asked_ = 0, answered_ = 0;
    std::optional<SqliteLogDisk> disk_;
};

TEST_F(SqliteLogDiskTest, finds_nothing_in_a_new_file) {
    open();
    EXPECT_EQ(found_.promised, LogBallot{});
    EXPECT_EQ(found_.committed, 0U);
    EXPECT_FALSE(found_.snapshot);
    EXPECT_TRUE(found_.decrees.empty());
}

TEST_F(SqliteLogDiskTest, finds_what_was_written) {
    open();
    LogWrite first = accepting(1, std::string("a\0b", 3));
    first.promised = ballot;
    first.committed = 1;
    write(std::move(first));
    write(accepting(2, ""));
    write(accepting(2, "newer"));
    close();
    open();
    EXPECT_EQ(found_.promised, ballot);
    EXPECT_EQ(found_.committed, 1U);
    EXPECT_EQ(found_.decrees, (std::vector<LogDecree>{{1, ballot, std::string("a\0b", 3)}, {2, ballot, "newer"}}));
}

TEST_F(SqliteLogDiskTest, a_snapshot_takes_the_place_of_what_it_covers) {
    open();
    for (LogIndex index = 1; index <= 5; ++index)
        write(accepting(index, "v" + std::to_string(index)));
    for (LogIndex index : {2, 4}) {
        LogWrite snapshot;
        snapshot.snapshot = LogSnapshot{index, "state " + std::to_string(index)};
        write(std::move(snapshot));
    }
    close();
    open();
    EXPECT_EQ(found_.snapshot, (LogSnapshot{4, "state 4"}));
    EXPECT_EQ(found_.committed, 4U);
    EXPECT_EQ(found_.decrees, (std::vector<LogDecree>{{5, ballot, "v5"}}));
}

TEST_F(SqliteLogDiskTest, answers_on_the_loop_in_order) {
    open();
    std::vector<LogIndex> order;
    for (LogIndex index = 1; index <= 50; ++index)
        disk_->write(accepting(index, "v"), [&order, index](const Result<void>& outcome) {
            EXPECT_TRUE(outcome);
            order.push_back(index);
        });
    disk_->drain();
    EXPECT_TRUE(order.empty()) << "not from the worker's thread";
    run_posted();
    ASSERT_EQ(order.size(), 50U);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(SqliteLogDiskTest, refuses_more_than_may_wait_and_everything_once_stopped) {
    open();
    std::size_t answers = 0;
    std::size_t good = 0;
    // How many are refused depends on how fast the worker is, but each has one answer.
    for (LogIndex index = 1; index <= 4 * SqliteLogDisk::max_waiting; ++index)
        disk_->write(accepting(1, "v"), [&](const Result<void>& outcome) {
            ++answers;
            good += outcome ? 1 : 0;
        });
    run_loop();
    EXPECT_EQ(answers, 4 * SqliteLogDisk::max_waiting);
    EXPECT_GE(good, SqliteLogDisk::max_waiting);
    EXPECT_EQ(failures_.size(), answers - good);
    disk_->stop();
    ErrorCode code;
    disk_->write(accepting(9, "v"), [&](const Result<void>& outcome) { code = outcome.error().code; });
    run_posted();
    EXPECT_EQ(code, Code::storage_failed);
}

TEST_F(SqliteLogDiskTest, a_write_that_fails_takes_those_behind_it_along_and_the_next_stands_on_its_own) {
    open();
    close();
    {
        statefile::Sqlite database(path());
        database.run(
            "CREATE TRIGGER full BEFORE INSERT ON decrees WHEN CAST(NEW.value AS TEXT) = 'broken' "
            "BEGIN SELECT RAISE(FAIL, 'the disk is full'); END");
        ASSERT_FALSE(database.failure());
    }
    open();
    std::vector<std::string> said;
    const auto note = [&](const char* name) {
        return [&said, name](const Result<void>& outcome) { said.push_back(std::string(outcome ? "+" : "-") + name); };
    };
    disk_->write(accepting(1, "broken"), note("broken"));
    disk_->write(accepting(2, "b"), note("behind"));
    disk_->drain();
    disk_->write(accepting(3, "c"), note("behind too"));
    run_posted();
    EXPECT_EQ(said, (std::vector<std::string>{"-broken", "-behind", "-behind too"}));
    disk_->write(accepting(1, "a"), note("again"));
    run_loop();
    EXPECT_EQ(said.back(), "+again");
    close();
    open();
    EXPECT_EQ(found_.decrees, (std::vector<LogDecree>{{1, ballot, "a"}}));
}

TEST_F(SqliteLogDiskTest, refuses_what_is_damaged_not_ours_or_newer) {
    std::ofstream(path()) << "this is no database, however long the text that says so may be";
    EXPECT_EQ(refusal(), "state_corrupt");
    std::ofstream(path(), std::ios::trunc).flush();
    EXPECT_EQ(refusal(), "state_corrupt") << "an empty file is never ours";
    std::filesystem::remove(path());
    EXPECT_EQ(refusal(), "");
    {
        statefile::Sqlite database(path());
        database.run("PRAGMA user_version = 3");
    }
    EXPECT_EQ(refusal(), "state_too_new");
    {
        statefile::Sqlite database(path());
        database.run("PRAGMA user_version = 2; INSERT INTO decrees VALUES (2, 1, 1, 'b', 0)");
    }
    EXPECT_EQ(refusal(), "state_corrupt") << "a gap";
    {
        statefile::Sqlite database(path());
        database.run("DELETE FROM decrees; UPDATE marks SET committed = 3");
    }
    EXPECT_EQ(refusal(), "state_corrupt") << "committed and not there";
    {
        statefile::Sqlite database(path());
        database.run("DELETE FROM marks");
    }
    EXPECT_EQ(refusal(), "state_corrupt");
}

TEST_F(SqliteLogDiskTest, refuses_what_was_altered_since_it_was_written) {
    open();
    LogWrite kept = accepting(1, "a");
    kept.snapshot = LogSnapshot{1, "state"};
    write(kept);
    LogWrite latest = accepting(2, "ban mallory");
    latest.promised = ballot;
    latest.committed = 2;
    write(latest);
    close();
    EXPECT_EQ(refusal(), "");
    const std::pair<const char*, const char*> alterations[] = {
        {"UPDATE decrees SET value = CAST('ban -allory' AS BLOB)",
         "UPDATE decrees SET value = CAST('ban mallory' AS BLOB)"},
        {"UPDATE decrees SET term = 6", "UPDATE decrees SET term = 7"},
        {"UPDATE marks SET promised_term = 6", "UPDATE marks SET promised_term = 7"},
        {"UPDATE marks SET committed = 1", "UPDATE marks SET committed = 2"},
        {"UPDATE snapshot SET state = CAST('stAte' AS BLOB)", "UPDATE snapshot SET state = CAST('state' AS BLOB)"}};
    for (const auto& [alter, undo] : alterations) {
        statefile::Sqlite(path()).run(alter);
        EXPECT_EQ(refusal(), "state_corrupt") << alter;
        statefile::Sqlite(path()).run(undo);
        EXPECT_EQ(refusal(), "") << undo;
    }
}

TEST_F(SqliteLogDiskTest, refuses_a_journal_without_its_file) {
    std::ofstream(path() + "-wal") << "journal";
    EXPECT_EQ(refusal(), "state_corrupt");
}

/// Writes entry after entry and says on the pipe which are durable, until it is killed.
[[noreturn]] void write_until_killed(const std::string& path, int pipe) {
    auto file = LogFile::open(path);
    if (!file) ::_exit(1);
    LogIndex next = (*file)->take_found().decrees.size() + 1;
    while (true) {
        std::vector<LogWrite> writes{accepting(next, std::string(20'000, 'x')), accepting(next + 1, "second")};
        writes.back().committed = next;
        if (!(*file)->write(writes)) ::_exit(2);
        next += 2;
        const LogIndex durable = next - 1;
        if (::write(pipe, &durable, sizeof durable) != sizeof durable) ::_exit(3);
    }
}

TEST_F(SqliteLogDiskTest, keeps_what_it_answered_for_when_the_process_is_killed_in_the_middle) {
    LogIndex durable = 0;
    for (int life = 0; life < 5; ++life) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) write_until_killed(path(), ends[1]);
        ::close(ends[1]);
        LogIndex told = 0;
        for (int i = 0; i < 8 + life; ++i) {
            ASSERT_EQ(::read(ends[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
            durable = told;
        }
        ::kill(child, SIGKILL);
        while (::read(ends[0], &told, sizeof told) == static_cast<ssize_t>(sizeof told))
            durable = told;
        ::close(ends[0]);
        int status = 0;
        ::waitpid(child, &status, 0);
        ASSERT_TRUE(WIFSIGNALED(status));
        auto file = LogFile::open(path());
        ASSERT_TRUE(file) << file.error().message;
        const LogFound found = (*file)->take_found();
        EXPECT_GE(found.decrees.size(), durable);
        EXPECT_EQ(found.decrees.size() % 2, 0U) << "a write is there as a whole or not at all";
        EXPECT_EQ(found.committed, found.decrees.size() - 1);
    }
}

TEST_F(SqliteLogDiskTest, carries_a_log_over_a_restart) {
    std::vector<std::string> applied;
    const auto start = [&] {
        open();
        applied.clear();
        return ReplicatedLog({.node = 0,
                              .members = 1,
                              .disk = *disk_,
                              .found = std::move(found_),
                              .send = [](store::quorum::NodeIndex, LogMessage) {},
                              .apply = [&](LogIndex, const std::string& value) { applied.push_back(value); },
                              .take_snapshot = [] { return std::string(); },
                              .install = [](const std::string&) {}});
    };
    {
        ReplicatedLog log = start();
        log.lead(5);
        int answered = 0;
        for (const char* value : {"a", "b", "c"})
            log.append(value, [&](const Result<LogIndex>& outcome) { answered += outcome ? 1 : 0; });
        while (answered < 3)
            run_loop();
        close();
    }
    const ReplicatedLog log = start();
    EXPECT_EQ(applied, (std::vector<std::string>{"a", "b", "c"}));
    close();
}

}  // namespace
}  // namespace holdfast::consensus::disk
