#include "client/server_process.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/freezing.h"

namespace holdfast::client {

namespace {

/// Reads until the address has been printed whole, for a generous time.
std::uint16_t read_port(int output) {
    std::string text;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < until) {
        const auto at = text.find("http://127.0.0.1:");
        if (at != std::string::npos && text.find('\n', at) != std::string::npos)
            return static_cast<std::uint16_t>(std::stoi(text.substr(at + 17)));
        pollfd readable{output, POLLIN, 0};
        if (::poll(&readable, 1, 100) <= 0) continue;
        std::array<char, 1024> chunk{};
        const auto got = ::read(output, chunk.data(), chunk.size());
        if (got <= 0) break;
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    throw std::runtime_error("the server did not start; it said: " + text);
}

}  // namespace

ServerProcess::ServerProcess() {
    std::string directory = (std::filesystem::temp_directory_path() / "holdfast-client-test-XXXXXX").string();
    if (::mkdtemp(directory.data()) == nullptr) throw std::runtime_error("cannot make a directory");
    directory_ = directory;
    start();
}

ServerProcess::~ServerProcess() {
    end(SIGKILL);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

void ServerProcess::start() {
    const char* binary = std::getenv("HOLDFAST_BIN");
    if (binary == nullptr) throw std::runtime_error("HOLDFAST_BIN does not name the binary");
    std::array<int, 2> output{};
    if (::pipe2(output.data(), O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
    const std::string address = "127.0.0.1:" + std::to_string(port_);
    const std::string state = directory_ + "/state";
    const std::string log = directory_ + "/log";
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(output[1], STDOUT_FILENO);
        const int errors = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (errors >= 0) ::dup2(errors, STDERR_FILENO);
        ::execl(binary, binary, "serve", "--http", address.c_str(), "--resp", "off", "--relay", "off", "--state-dir",
                state.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(output[1]);
    try {
        port_ = read_port(output[0]);
    } catch (...) {
        ::close(output[0]);
        end(SIGKILL);
        throw;
    }
    ::close(output[0]);
}

void ServerProcess::end(int signal) {
    if (pid_ <= 0) return;
    ::kill(pid_, signal);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void ServerProcess::stop() {
    end(SIGTERM);
}
void ServerProcess::kill() {
    end(SIGKILL);
}
void ServerProcess::freeze() {
    holdfast::freeze(pid_);
}
void ServerProcess::thaw() {
    holdfast::thaw(pid_);
}

}  // namespace holdfast::client
