#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <sys/poll.h>
#include <thread>

#include "base/wakeup.h"
#include "supervise/signals.h"

namespace holdfast::cli {

/// Calls a function on a separate thread on SIGINT, SIGTERM or SIGHUP, so that a blocking call can be ended cleanly.
/// REQUIRES: constructed before any other thread is started.
class StopOnSignal {
 public:
    explicit StopOnSignal(std::function<void()> stop)
        : inbox_({SIGINT, SIGTERM, SIGHUP}), stop_(std::move(stop)), thread_([this] { wait(); }) {}
    ~StopOnSignal() {
        end_.notify();
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
        pollfd waiting[]{{inbox_.fd(), POLLIN, 0}, {end_.fd(), POLLIN, 0}};
        while (::poll(waiting, 2, -1) < 0) {
        }
        if (waiting[0].revents == 0) return;
        signal_ = inbox_.take().value_or(SIGTERM);
        stop_();
    }

    supervise::SignalInbox inbox_;
    Wakeup end_;
    std::function<void()> stop_;
    std::atomic<int> signal_ = 0;
    std::thread thread_;
};

}  // namespace holdfast::cli
