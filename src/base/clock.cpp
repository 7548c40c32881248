#include "base/clock.h"

#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/random.h"

namespace holdfast::inline base {
namespace {

std::chrono::nanoseconds read(clockid_t clock) {
    timespec reading{};
    clock_gettime(clock, &reading);
    return std::chrono::seconds{reading.tv_sec} + std::chrono::nanoseconds{reading.tv_nsec};
}

/// The offset of the wall clock from the store's clock. Returns nullopt if this thread was delayed between the two
/// readings.
std::optional<std::chrono::nanoseconds> measured_wall_lead() {
    const auto before = read(CLOCK_BOOTTIME);
    const auto wall = read(CLOCK_REALTIME);
    if (read(CLOCK_BOOTTIME) - before > std::chrono::milliseconds{1}) return std::nullopt;
    return wall - before;
}

/// The two clocks are never read at the same moment, so each measurement of the offset differs slightly. The first one
/// is kept while it is about right; otherwise one instant would be shown as two times.
std::chrono::nanoseconds wall_lead() {
    constexpr std::chrono::nanoseconds about = std::chrono::milliseconds{50};
    static std::atomic<std::int64_t> kept_ns = 0;  // shared by all threads; zero: not measured yet
    const std::chrono::nanoseconds kept{kept_ns.load(std::memory_order_relaxed)};
    const auto measured = measured_wall_lead();
    if (!measured) return kept.count() != 0 ? kept : read(CLOCK_REALTIME) - read(CLOCK_BOOTTIME);
    if (kept.count() != 0 && *measured - kept < about && kept - *measured < about) return kept;
    kept_ns.store(measured->count(), std::memory_order_relaxed);
    return *measured;
}

}  // namespace

Instant store_clock_now() {
    return Instant{read(CLOCK_BOOTTIME)};
}

HolderInstant holder_clock_now() {
    return HolderInstant{read(CLOCK_BOOTTIME)};
}

std::int64_t wall_clock_ms() {
    timespec reading{};
    clock_gettime(CLOCK_REALTIME, &reading);
    return std::int64_t{reading.tv_sec} * 1000 + reading.tv_nsec / 1'000'000;  // never overflows, unlike nanoseconds
}

std::int64_t shown_wall_ms(Instant instant) {
    return to_ms(instant.time_since_epoch() + wall_lead());
}

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

}  // namespace holdfast::inline base
