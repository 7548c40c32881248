#include "client/callbacks.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "client/lease_state.h"

namespace holdfast::client {

namespace {

thread_local bool calls_back = false;

}  // namespace

/// Shared with the thread, which may outlive the object: a callback may destroy the last client.
struct Callbacks::Queue {
    void run();

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::shared_ptr<Lease::State>> leases;
    bool stopping = false;
    std::thread thread;
};

void Callbacks::Queue::run() {
    calls_back = true;
    std::unique_lock lock(mutex);
    while (true) {
        changed.wait(lock, [this] { return stopping || !leases.empty(); });
        if (stopping) return;
        auto lease = std::move(leases.front());
        leases.pop_front();
        lock.unlock();
        lease->call_back();
        lease = nullptr;
        lock.lock();
    }
}

Callbacks::Callbacks() : queue_(std::make_shared<Queue>()) {}

Callbacks::~Callbacks() {
    stop();
}

void Callbacks::start() {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->stopping || queue_->thread.joinable()) return;
    queue_->thread = std::thread([queue = queue_] { queue->run(); });
}

void Callbacks::submit(std::shared_ptr<Lease::State> lease) {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->stopping) return;
    queue_->leases.push_back(std::move(lease));
    queue_->changed.notify_one();
}

void Callbacks::stop() {
    std::deque<std::shared_ptr<Lease::State>> dropped;
    std::unique_lock lock(queue_->mutex);
    queue_->stopping = true;
    dropped.swap(queue_->leases);
    queue_->changed.notify_all();
    std::thread thread = std::move(queue_->thread);
    lock.unlock();
    if (!thread.joinable()) return;
    if (calls_back)
        thread.detach();
    else
        thread.join();
}

bool Callbacks::is_this_thread() noexcept {
    return calls_back;
}

}  // namespace holdfast::client
