#pragma once

#include <holdfast/discovery.h>

#include <functional>
#include <memory>

namespace holdfast::discovery {

/// Tells the program of events on a thread of its own, in order, so that a slow callback holds up no renewal. So many
/// events wait for it at most: then the oldest is left out, and an event `events_dropped` says how many were.
class EventThread {
 public:
    using Callback = std::function<void(const ServiceEvent&)>;
    static constexpr std::size_t max_waiting = 1000;

    /// No thread without a callback. Throws std::system_error if the system has none left.
    explicit EventThread(Callback callback);
    /// Has what waits told first, for two seconds at most. Does not wait if it is the callback that runs this.
    ~EventThread();
    EventThread(const EventThread&) = delete;
    EventThread& operator=(const EventThread&) = delete;

    void put(ServiceEvent event);

 private:
    struct Queue;
    std::shared_ptr<Queue> queue_;
};

}  // namespace holdfast::discovery
