#pragma once

#include "base/time.h"
#include "supervise/fd.h"

namespace holdfast {

/// A timer on the holder's clock, which counts suspend (T3).
class BootAlarm {
 public:
    BootAlarm();

    /// Readable once the instant has passed.
    int fd() const { return timer_.get(); }
    void set(HolderInstant at);

 private:
    Fd timer_;
};

}  // namespace holdfast
