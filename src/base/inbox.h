#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "base/wakeup.h"

namespace holdfast::inline base {

/// What other threads have for a thread that waits in poll(2). The users bound its size: they put one item per request
/// or change.
template <class Item>
class Inbox {
 public:
    /// Readable while there are items.
    int fd() const { return wakeup_.fd(); }

    void put(Item item) {
        const std::lock_guard lock{mutex_};
        items_.push_back(std::move(item));
        wakeup_.notify();
    }

    /// All items, oldest first.
    std::vector<Item> take() {
        const std::lock_guard lock{mutex_};
        wakeup_.drain();
        return std::exchange(items_, {});
    }

 private:
    Wakeup wakeup_;
    std::mutex mutex_;
    std::vector<Item> items_;
};

}  // namespace holdfast::inline base
