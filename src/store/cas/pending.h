#pragma once

#include "base/time.h"
#include "store/store.h"

namespace holdfast::core {

/// An update that has not been answered.
struct Pending {
    Update* update;
    Instant give_up_at;
};

}  // namespace holdfast::core
