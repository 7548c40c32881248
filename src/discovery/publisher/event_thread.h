#pragma once

#include <holdfast/discovery.h>

#include <functional>
#include <memory>

namespace holdfast::discovery::publisher {

/// Delivers events to the program in order, on its own thread, so that a slow callback delays no renewal. At most
/// max_waiting events are queued. Beyond that the oldest is dropped, and an event `events_dropped` reports how many
/// were.
class EventThread {
 public:
    using Callback = std::function<void(const ServiceEvent&)>;
    static constexpr std::size_t max_waiting = 1000;

    /// Starts no thread if there is no callback. Throws std::system_error if the system cannot start one.
    explicit EventThread(Callback callback);
    /// Delivers the queued events first, for two seconds at most. Does not wait if called from the callback.
    ~EventThread();
    EventThread(const EventThread&) = delete;
    EventThread& operator=(const EventThread&) = delete;

    void put(ServiceEvent event);

 private:
    struct Queue;
    std::shared_ptr<Queue> queue_;
};

}  // namespace holdfast::discovery::publisher
