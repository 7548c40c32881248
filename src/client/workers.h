#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::client {

/// A few threads for blocking calls, started on demand: a call that hangs must not delay the next. The submitter bounds
/// the queue: a lease has at most one renewal in flight.
class Workers {
 public:
    explicit Workers(std::size_t most) : most_(most) {}
    /// Waits for the running tasks; drops the others.
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// False if a thread was needed and could not be started; the task is then not run.
    bool submit(std::function<void()> task);

 private:
    void run();

    const std::size_t most_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    std::size_t idle_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace holdfast::client
