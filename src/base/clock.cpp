#include "base/clock.h"

#include <ctime>

namespace holdfast {
namespace {

std::chrono::nanoseconds read(clockid_t clock) {
    timespec reading{};
    clock_gettime(clock, &reading);
    return std::chrono::seconds{reading.tv_sec} + std::chrono::nanoseconds{reading.tv_nsec};
}

}  // namespace

Instant store_clock_now() {
    return Instant{read(CLOCK_BOOTTIME)};
}

HolderInstant holder_clock_now() {
    return HolderInstant{read(CLOCK_BOOTTIME)};
}

std::int64_t wall_clock_ms() {
    return to_ms(read(CLOCK_REALTIME));
}

}  // namespace holdfast
