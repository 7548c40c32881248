#pragma once

#include <functional>

namespace holdfast {

/// When a door works: time is told before, once for all that was received together (T6), and what is due next is looked
/// up after.
struct DoorTurn {
    std::function<void()> begins;
    std::function<void()> ends;
};

}  // namespace holdfast
