#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast {

/// A few threads for calls that block, started as they are needed: a call that hangs must not hold up the next.
/// How much waits is bounded by whoever submits: a lease has at most one renewal under way.
class Workers {
 public:
    explicit Workers(std::size_t most) : most_(most) {}
    /// Waits for the tasks that have begun; drops the others.
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

}  // namespace holdfast
