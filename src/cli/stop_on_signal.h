#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <thread>

#include "supervise/fd.h"
#include "supervise/signals.h"

namespace holdfast::cli {

/// Calls a function on a separate thread on SIGINT, SIGTERM or SIGHUP, so that a blocking call can be ended cleanly.
/// REQUIRES: constructed before any other thread is started.
class StopOnSignal {
 public:
    explicit StopOnSignal(std::function<void()> stop)
        : inbox_({SIGINT, SIGTERM, SIGHUP}),
          end_(eventfd(0, EFD_CLOEXEC)),
          stop_(std::move(stop)),
          thread_([this] { wait(); }) {}
    ~StopOnSignal() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = ::write(end_.get(), &one, sizeof one);
        thread_.join();
    }
    StopOnSignal(const StopOnSignal&) = delete;
    StopOnSignal& operator=(const StopOnSignal&) = delete;

    /// The signal received, or zero.
    int signal() const { return signal_; }
    /// Sleeps for this time, or until a signal arrives.
    void sleep_for(std::chrono::milliseconds time) const {
        pollfd waiting{inbox_.fd(), POLLIN, 0};
        if (signal_ == 0) ::poll(&waiting, 1, static_cast<int>(time.count()));
    }

 private:
    void wait() {
        pollfd waiting[]{{inbox_.fd(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
        while (::poll(waiting, 2, -1) < 0) {
        }
        if (waiting[0].revents == 0) return;
        signal_ = inbox_.take().value_or(SIGTERM);
        stop_();
    }

    supervise::SignalInbox inbox_;
    supervise::Fd end_;
    std::function<void()> stop_;
    std::atomic<int> signal_ = 0;
    std::thread thread_;
};

}  // namespace holdfast::cli
