#pragma once

#include "base/fd.h"

namespace holdfast::inline base {

/// Wakes a thread that waits in poll(2) or epoll(7): its descriptor is readable from notify() until drain().
class Wakeup {
 public:
    /// Throws std::system_error if the system has no descriptors left.
    Wakeup();

    int fd() const { return fd_.get(); }

    /// From any thread, and from a signal handler.
    void notify() const;
    /// Takes all notifications so far. Returns false if there was none.
    bool drain() const;

 private:
    Fd fd_;
};

}  // namespace holdfast::inline base
