#pragma once

#include <functional>
#include <mutex>
#include <sys/eventfd.h>
#include <utility>
#include <vector>

#include "supervise/fd.h"

namespace holdfast::drone {

/// Functions posted by other threads, to be called on the core's thread. The queue is bounded by the number of
/// requests: every call, start and probe posts once.
class Inbox {
 public:
    Inbox() : bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    /// Readable when a function is queued.
    int fd() const { return bell_.get(); }

    void post(std::function<void()> task) {
        const std::lock_guard lock{mutex_};
        tasks_.push_back(std::move(task));
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t told = ::write(bell_.get(), &one, sizeof one);
    }

    std::vector<std::function<void()>> take() {
        const std::lock_guard lock{mutex_};
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t heard = ::read(bell_.get(), &count, sizeof count);
        return std::exchange(tasks_, {});
    }

 private:
    Fd bell_;
    std::mutex mutex_;
    std::vector<std::function<void()>> tasks_;
};

}  // namespace holdfast::drone
