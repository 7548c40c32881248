#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <set>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keys/drone/addresses.h"
#include "keys/drone/backend_log.h"
#include "keys/drone/backend_record.h"
#include "keys/drone/drone_state.h"
#include "keys/limits.h"
#include "supervise/processes.h"

namespace holdfast::keys::drone {
namespace {

namespace fs = std::filesystem;

class DroneFiles : public testing::Test {
 protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "holdfast-drone-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
    }
    void TearDown() override { fs::remove_all(directory_); }

    std::string file(const std::string& name) const { return directory_ + "/" + name; }
    static std::string contents(const std::string& path) {
        std::ifstream in{path};
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    }

    std::string directory_;
};

/// A process that does nothing, killed at the end.
class Sleeper {
 public:
    explicit Sleeper(const char* variable = nullptr) {
        id_ = fork();
        if (id_ != 0) return;
        if (variable != nullptr) ::putenv(const_cast<char*>(variable));
        ::execlp("sleep", "sleep", "1000", nullptr);
        ::_exit(127);
    }
    ~Sleeper() {
        if (id_ == 0) return;
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
    }
    pid_t id() const { return id_; }
    bool lives() const {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
    }
    /// Its environment is its own only once it has become the program.
    void wait_until_it_sleeps() const {
        while (name() != "sleep\n")
            ::usleep(1000);
    }

 private:
    std::string name() const {
        std::ifstream in{"/proc/" + std::to_string(id_) + "/comm"};
        std::ostringstream text;
        text << in.rdbuf();
        return text.str();
    }
    pid_t id_ = 0;
};

using BackendLogs = DroneFiles;
using Records = DroneFiles;
using Leftovers = DroneFiles;
using Lives = DroneFiles;

TEST_F(BackendLogs, keep_the_newest_within_their_bounds) {
    BackendLog log{file("b.log"), 100};
    for (int i = 0; i < 50; ++i)
        log.append(std::to_string(1000 + i) + " line\n");
    const std::string all = contents(file("b.log.1")) + contents(file("b.log"));
    EXPECT_LE(contents(file("b.log")).size(), 100U);
    EXPECT_LE(contents(file("b.log.1")).size(), 100U);
    EXPECT_TRUE(all.ends_with("1048 line\n1049 line\n"));
    EXPECT_EQ(all.find("1000 line"), std::string::npos);
}

TEST_F(BackendLogs, are_deleted_oldest_first_but_not_those_in_use) {
    for (int i = 0; i < 5; ++i) {
        std::ofstream{file("b" + std::to_string(i) + ".log")} << "x";
        std::ofstream{file("b" + std::to_string(i) + ".log.1")} << "x";
        fs::last_write_time(file("b" + std::to_string(i) + ".log"),
                            fs::file_time_type::clock::now() - std::chrono::hours{10 - i});
    }
    prune_logs(directory_, 2, {"b0"});
    EXPECT_TRUE(fs::exists(file("b0.log"))) << "in use";
    EXPECT_FALSE(fs::exists(file("b1.log")));
    EXPECT_FALSE(fs::exists(file("b1.log.1")));
    EXPECT_FALSE(fs::exists(file("b2.log")));
    EXPECT_TRUE(fs::exists(file("b3.log")));
    EXPECT_TRUE(fs::exists(file("b4.log.1")));
}

TEST_F(BackendLogs, get_what_comes_through_the_pipe_to_the_last_byte) {
    {
        LogPump pump{{.directory = directory_}};
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        pump.add("b-1", Fd{ends[0]});
        ASSERT_EQ(::write(ends[1], "hello\n", 6), 6);
        ::close(ends[1]);
    }
    EXPECT_EQ(contents(file("b-1.log")), "hello\n");
}

TEST_F(Records, are_read_as_they_were_written) {
    const BackendRecords records{directory_};
    const BackendRecord one{"b-1", boot_id(), 17, 4711, 18, "/sys/fs/cgroup/a b"};
    const BackendRecord two{"b-2", boot_id(), 19, 4712, 0, ""};
    ASSERT_TRUE(records.write(one));
    ASSERT_TRUE(records.write(two));
    std::ofstream{file("b-3")} << "nonsense";
    auto read = records.read_all();
    ASSERT_EQ(read.size(), 2U);
    if (read[0].backend != "b-1") std::swap(read[0], read[1]);
    EXPECT_EQ(read[0], one);
    EXPECT_EQ(read[1], two);
    records.remove("b-1");
    EXPECT_EQ(records.read_all().size(), 1U);
}

const auto silent = [](const std::string&) {};

TEST_F(Leftovers, are_killed_by_id_and_start_time) {
    const BackendRecords records{directory_};
    const Sleeper guardian;
    ASSERT_TRUE(
        records.write({"b-1", boot_id(), guardian.id(), supervise::start_time_of(guardian.id()).value(), 0, ""}));
    EXPECT_EQ(kill_leftovers(records, silent), 1U);
    EXPECT_FALSE(guardian.lives());
    EXPECT_TRUE(records.read_all().empty());
}

TEST_F(Leftovers, a_stranger_with_the_same_id_is_left_alone) {
    const BackendRecords records{directory_};
    const Sleeper stranger;
    const auto start = supervise::start_time_of(stranger.id()).value();
    ASSERT_TRUE(records.write({"b-1", boot_id(), stranger.id(), start + 1, stranger.id(), ""}));
    ASSERT_TRUE(records.write({"b-2", "another-boot", stranger.id(), start, stranger.id(), ""}));
    EXPECT_EQ(kill_leftovers(records, silent), 0U);
    EXPECT_TRUE(stranger.lives());
    EXPECT_TRUE(records.read_all().empty());
}

TEST_F(Leftovers, are_found_by_their_mark_when_their_guardian_is_dead) {
    const BackendRecords records{directory_};
    const Sleeper detached{"HOLDFAST_BACKEND_ID=b-1"};
    const Sleeper other{"HOLDFAST_BACKEND_ID=b-11"};
    detached.wait_until_it_sleeps();
    other.wait_until_it_sleeps();
    ASSERT_TRUE(records.write({"b-1", boot_id(), detached.id(), 1, 0, ""}));
    EXPECT_EQ(kill_leftovers(records, silent), 1U);
    EXPECT_FALSE(detached.lives());
    EXPECT_TRUE(other.lives());
}

TEST_F(Lives, are_known_to_those_that_have_the_same_directory_later) {
    DroneOptions options;
    options.id = "d1";
    options.state_dir = directory_;
    const DroneListener listener{silent, silent, [] {}};
    std::vector<std::string> lives;
    const std::size_t most = limits::earlier_lives;
    for (std::size_t i = 0; i < most + 3; ++i) {
        const auto state = open_drone_state(options, listener);
        ASSERT_TRUE(state) << state.error().message;
        const std::size_t known = std::min(lives.size(), most);
        EXPECT_EQ((*state)->earlier_lives,
                  std::vector<std::string>(lives.end() - static_cast<std::ptrdiff_t>(known), lives.end()));
        lives.push_back((*state)->life);
        const auto second = open_drone_state(options, listener);
        ASSERT_FALSE(second) << "as long as one has the directory it is not over";
        EXPECT_EQ(second.error().code, Code::state_in_use);
    }
    EXPECT_EQ(std::set<std::string>(lives.begin(), lives.end()).size(), lives.size());
}

TEST(Ports, a_free_one_is_none_of_those_taken) {
    const auto first = free_port({});
    ASSERT_TRUE(first);
    const auto second = free_port({*first});
    ASSERT_TRUE(second);
    EXPECT_NE(*first, *second);
}

TEST(Ports, established_connections_are_read_from_the_kernels_table) {
    EXPECT_EQ(
        established_ports("  sl  local_address rem_address   st\n"
                          "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n"
                          "   1: 0100007F:1F91 0100007F:C350 01 00000000:00000000\n"
                          "   2: 0000000000000000FFFF00000100007F:1F92 0000000000000000FFFF00000100007F:C351 01 0\n"
                          "   3: 0100007F:1F93 0100007F:C352 08 00000000:00000000\n"),
        (std::set<std::uint16_t>{0x1F91, 0x1F92}));
}

TEST(Ports, one_with_a_connection_is_busy) {
    const Fd listener{::socket(AF_INET, SOCK_STREAM, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listener.get(), plain, length), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), plain, &length), 0);
    const std::uint16_t port = ntohs(address.sin_port);
    EXPECT_TRUE(busy_ports({port}).empty());
    const Fd client{::socket(AF_INET, SOCK_STREAM, 0)};
    ASSERT_EQ(::connect(client.get(), plain, length), 0);
    EXPECT_EQ(busy_ports({port}), std::vector<std::uint16_t>{port});
}

}  // namespace
}  // namespace holdfast::keys::drone
