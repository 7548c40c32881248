#include "discovery/publisher/event_thread.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace holdfast::discovery::publisher {
namespace {

constexpr std::chrono::seconds max_farewell{2};

ServiceEvent dropped_event(std::size_t dropped) {
    return {.event = "events_dropped",
            .message = std::to_string(dropped) + " events were left out: they came faster than the callback took them"};
}

}  // namespace

/// Shared with the thread, which outlives the object if the callback destroys it.
struct EventThread::Queue {
    void run();
    std::optional<ServiceEvent> next();

    Callback callback;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<ServiceEvent> events;
    std::size_t dropped = 0;
    std::optional<std::chrono::steady_clock::time_point> end_by;
    std::thread thread;
};

void EventThread::Queue::run() {
    while (const auto event = next())
        callback(*event);
}

/// Nullopt if the thread is to end.
std::optional<ServiceEvent> EventThread::Queue::next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return end_by || !events.empty(); });
    if (events.empty() || (end_by && std::chrono::steady_clock::now() >= *end_by)) return std::nullopt;
    if (dropped > 0) return dropped_event(std::exchange(dropped, 0));
    ServiceEvent event = std::move(events.front());
    events.pop_front();
    return event;
}

EventThread::EventThread(Callback callback) {
    if (!callback) return;
    queue_ = std::make_shared<Queue>();
    queue_->callback = std::move(callback);
    queue_->thread = std::thread([queue = queue_] { queue->run(); });
}

EventThread::~EventThread() {
    if (!queue_) return;
    const bool from_the_callback = queue_->thread.get_id() == std::this_thread::get_id();
    {
        const std::lock_guard lock(queue_->mutex);
        queue_->end_by = std::chrono::steady_clock::now() + max_farewell;
        queue_->changed.notify_all();
    }
    if (from_the_callback)
        queue_->thread.detach();
    else
        queue_->thread.join();
}

void EventThread::put(ServiceEvent event) {
    if (!queue_) return;
    const std::lock_guard lock(queue_->mutex);
    if (queue_->events.size() == max_waiting) {
        queue_->events.pop_front();
        ++queue_->dropped;
    }
    queue_->events.push_back(std::move(event));
    queue_->changed.notify_one();
}

}  // namespace holdfast::discovery::publisher
