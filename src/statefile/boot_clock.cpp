#include "statefile/boot_clock.h"

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/random.h"

namespace holdfast {

ClockReading read_boot_clock() {
    std::string clock;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> clock;
    // A clock whose name is not known must be taken for one never seen before; then only durations are trusted.
    if (clock.empty()) clock = random_hex(16);
    // A container moved to another time namespace has another CLOCK_BOOTTIME within the same boot.
    std::error_code none;
    clock += ' ' + std::filesystem::read_symlink("/proc/self/ns/time", none).string();
    return {.clock = std::move(clock), .now = store_clock_now()};
}

}  // namespace holdfast
