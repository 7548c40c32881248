#include "supervise/signals.h"

#include <sys/signalfd.h>

#include "base/assert.h"

namespace holdfast::supervise {
namespace {

bool is_ignored(int signal) {
    struct sigaction action {};
    return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

std::vector<int> every_signal() {
    std::vector<int> signals;
    for (int signal = 1; signal < SIGRTMIN; ++signal)
        if (signal != SIGKILL && signal != SIGSTOP && signal != SIGSEGV && signal != SIGBUS && signal != SIGFPE &&
            signal != SIGILL && signal != SIGABRT)
            signals.push_back(signal);
    return signals;
}

SignalInbox::SignalInbox(const std::vector<int>& wanted) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : wanted)
        if (!is_ignored(signal)) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_ = Fd{signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    HOLDFAST_ASSERT(fd_);
}

SignalInbox::~SignalInbox() {
    while (take()) {
    }  // discards pending signals, which must not end the process once unblocked
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> SignalInbox::take() {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
}

}  // namespace holdfast::supervise
