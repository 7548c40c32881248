#include "support/redis_process.h"

#include <arpa/inet.h>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(socket);
    if (!bound) throw std::runtime_error("no free port");
    return ntohs(address.sin_port);
}

bool listens(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    const bool connected = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(socket);
    return connected;
}

}  // namespace

RedisProcess::RedisProcess(std::vector<std::string> options) : options_(std::move(options)), port_(free_port()) {
    start();
}

RedisProcess::~RedisProcess() {
    kill();
}

void RedisProcess::start() {
    const std::string path = binary();
    std::vector<std::string> words{"redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1", "--save", "",
                                   "--dir",        "/tmp"};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int nothing = ::open("/dev/null", O_RDWR);
        ::dup2(nothing, STDOUT_FILENO);
        ::dup2(nothing, STDERR_FILENO);
        ::execv(path.c_str(), pointers.data());
        ::_exit(127);
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!listens(port_)) {
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
    ::kill(pid_, SIGSTOP);
}

void RedisProcess::thaw() {
    ::kill(pid_, SIGCONT);
}

}  // namespace holdfast
