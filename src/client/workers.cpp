#include "client/workers.h"

#include <system_error>
#include <utility>

namespace holdfast::client {

Workers::~Workers() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        tasks_.clear();
    }
    changed_.notify_all();
    for (auto& thread : threads_)
        thread.join();
}

bool Workers::submit(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (idle_ <= tasks_.size() && threads_.size() < most_) {
        try {
            threads_.emplace_back([this] { run(); });
        } catch (const std::system_error&) {
            if (threads_.empty()) return false;
        }
    }
    tasks_.push_back(std::move(task));
    changed_.notify_one();
    return true;
}

void Workers::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        ++idle_;
        changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
        --idle_;
        if (stopping_) return;
        auto task = std::move(tasks_.front());
        tasks_.pop_front();
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
    }
}

}  // namespace holdfast::client
