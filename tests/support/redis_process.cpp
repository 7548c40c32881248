#include "support/redis_process.h"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <random>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/freezing.h"
#include "support/scratch.h"

namespace holdfast {

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

namespace {

/// Debian's redis-tools has the server under another name; it acts by what it is called.
std::string binary() {
    for (const char* path : {"/usr/bin/redis-server", "/usr/bin/redis-check-rdb", "/usr/local/bin/redis-server"})
        if (::access(path, X_OK) == 0) return path;
    throw std::runtime_error("there is no Redis here: scripts/setup installs redis-tools");
}

std::string new_folder() {
    const std::string pattern = make_scratch_folder("redis");
    return pattern;
}

bool listens(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const bool connected = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return connected;
}

}  // namespace

/// Below those that the system gives to whoever connects: one of those may be taken the next moment.
std::uint16_t free_port() {
    unsigned first_of_connections = 32768;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_of_connections;
    constexpr unsigned lowest = 10000;
    const unsigned ports = std::max(first_of_connections, lowest + 1000) - lowest;
    std::random_device random;
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_in address = loopback(static_cast<std::uint16_t>(lowest + random() % ports));
        const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        ::close(socket);
        if (bound) return ntohs(address.sin_port);
    }
    throw std::runtime_error("no free port");
}

RedisProcess::RedisProcess(std::vector<std::string> options, std::vector<std::string> environment)
    : options_(std::move(options)), environment_(std::move(environment)), folder_(new_folder()) {
    for (int attempt = 1;; ++attempt) {
        port_ = free_port();
        try {
            start();
            return;
        } catch (const std::runtime_error&) {
            if (attempt == 5) throw;  // otherwise somebody else may have taken the port meanwhile
        }
    }
}

RedisProcess::~RedisProcess() {
    kill();
    std::error_code failed;
    std::filesystem::remove_all(folder_, failed);
}

void RedisProcess::start() {
    const std::string path = binary();
    std::vector<std::string> words{"redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1", "--save", "",
                                   "--dir",        folder_};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        for (std::string& one : environment_)
            ::putenv(one.data());
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int nothing = ::open("/dev/null", O_RDWR);
        ::dup2(nothing, STDOUT_FILENO);
        ::dup2(nothing, STDERR_FILENO);
        ::execv(path.c_str(), pointers.data());
        ::_exit(127);
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!listens(port_)) {
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
            pid_ = -1;
            throw std::runtime_error("Redis ended instead of starting");
        }
        if (std::chrono::steady_clock::now() > until) throw std::runtime_error("Redis did not start");
        ::poll(nullptr, 0, 10);
    }
}

void RedisProcess::kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void RedisProcess::freeze() {
    holdfast::freeze(pid_);
}

void RedisProcess::thaw() {
    holdfast::thaw(pid_);
}

}  // namespace holdfast
