#include "supervise/keeper_process.h"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <poll.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>

#include "base/clock.h"
#include "supervise/processes.h"
#include "supervise/supervisor.h"

namespace holdfast::supervise {
namespace {

using Clock = std::chrono::steady_clock;

WorkDeadlines from_now(long soft_ms, long hard_ms) {
    const HolderInstant now = holder_clock_now();
    return {now + std::chrono::milliseconds{soft_ms}, now + std::chrono::milliseconds{hard_ms}};
}

void pass_orders_on(GuardedCommand& command) {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words{line};
        std::string word;
        long soft = 0;
        long hard = 0;
        words >> word >> soft >> hard;
        if (word == "lost") command.lost();
        if (word == "renew") command.renewed(from_now(soft, hard));
    }
}

int exit_code(const Supervisor::Ending& ending) {
    if (const auto* cannot = std::get_if<CannotRunReport>(&ending)) return cannot->error == ENOENT ? 127 : 126;
    const auto& ended = std::get<EndedReport>(ending);
    if (ended.forced) return 104;
    return WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : 128 + WTERMSIG(ended.status);
}

std::string read_proc_state(pid_t process) {
    FILE* file = std::fopen(("/proc/" + std::to_string(process) + "/stat").c_str(), "re");
    if (file == nullptr) return "";
    char state = 0;
    const int found = std::fscanf(file, "%*d (%*[^)]) %c", &state);
    std::fclose(file);
    return found == 1 ? std::string(1, state) : "";
}

}  // namespace

int keeper_main(const std::vector<std::string>& arguments) {
    SignalInbox signals{supervised_signals()};
    Terminal terminal;
    auto command =
        GuardedCommand::prepare({.command = {arguments.begin() + 2, arguments.end()}, .mask = signals.mask_before()});
    if (!command) return 125;
    const bool foreground = terminal.is_interactive();
    StartOrder order{from_now(std::stol(arguments[0]), std::stol(arguments[1])), foreground, {"UNDER=guard"}};
    order.whole = std::getenv("KEEPER_LEAVES_DAEMONS") == nullptr;
    if (!command->start(order)) return 125;
    if (std::getenv("KEEPER_ORDERS") != nullptr) std::thread(pass_orders_on, std::ref(*command)).detach();
    const auto ending = Supervisor{{*command, signals, terminal, foreground}}.run();
    std::_Exit(exit_code(ending));  // the thread above is waiting for input
}

KeeperProcess::KeeperProcess(std::chrono::milliseconds soft, std::chrono::milliseconds hard,
                             std::vector<std::string> command, Daemons daemons) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) std::abort();
    std::vector<std::string> arguments{"supervise_test", "__keeper", std::to_string(soft.count()),
                                       std::to_string(hard.count())};
    arguments.insert(arguments.end(), command.begin(), command.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments)
        pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    id_ = fork();
    if (id_ == 0) {
        setpgid(0, 0);
        setenv("KEEPER_ORDERS", "1", 1);
        if (daemons == Daemons::stay) setenv("KEEPER_LEAVES_DAEMONS", "1", 1);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execv("/proc/self/exe", pointers.data());
        _exit(125);
    }
    ::close(in[0]);
    ::close(out[1]);
    input_ = Fd{in[1]};
    output_ = Fd{out[0]};
}

KeeperProcess::~KeeperProcess() {
    if (ended_) return;
    ::kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
}

void KeeperProcess::signal(int signal) const {
    ::kill(id_, signal);
}

void KeeperProcess::say(const std::string& order) {
    const std::string text = order + "\n";
    if (::write(input_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
}

std::string KeeperProcess::line() {
    const auto limit = Clock::now() + patience;
    for (;;) {
        const std::size_t end = buffer_.find('\n');
        if (end != std::string::npos) {
            const std::string line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            return line;
        }
        pollfd waiting{output_.get(), POLLIN, 0};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(limit - Clock::now());
        if (left <= 0ms || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) return "";
        char bytes[4096];
        const ssize_t length = ::read(output_.get(), bytes, sizeof bytes);
        if (length <= 0) return "";
        buffer_.append(bytes, static_cast<std::size_t>(length));
    }
}

int KeeperProcess::wait() {
    const auto limit = Clock::now() + patience;
    int status = 0;
    while (waitpid(id_, &status, WNOHANG) == 0) {
        if (Clock::now() >= limit) return -1;
        std::this_thread::sleep_for(2ms);
    }
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool lives(pid_t process) {
    const std::string state = read_proc_state(process);
    return !state.empty() && state != "Z" && state != "X";
}

bool dies(pid_t process) {
    const auto limit = Clock::now() + patience;
    while (lives(process)) {
        if (Clock::now() >= limit) return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

std::vector<std::string> shell(const std::string& script) {
    return {"sh", "-c", "echo $$; " + script};
}

}  // namespace holdfast::supervise
