#include "keys/drone/caller.h"

#include <algorithm>

namespace holdfast::drone {

Caller::Caller(const std::string& servers)
    : servers_(split_servers(servers)), connection_(servers), thread_([this] { run(); }) {}

void Caller::call(HttpRequest request, Duration timeout, Done done) {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
    calls_.push_back({std::move(request), timeout, std::move(done)});
    changed_.notify_one();
}

void Caller::stop() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
        calls_.clear();
    }
    connection_.stop();
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void Caller::run() {
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !calls_.empty(); });
        if (stopping_) return;
        const Call call = std::move(calls_.front());
        calls_.pop_front();
        lock.unlock();
        call.done(connection_.send(call.request, call.timeout), place());
        lock.lock();
    }
}

std::size_t Caller::place() const {
    const auto found = std::find(servers_.begin(), servers_.end(), connection_.server());
    return found == servers_.end() ? 0 : static_cast<std::size_t>(found - servers_.begin());
}

}  // namespace holdfast::drone
