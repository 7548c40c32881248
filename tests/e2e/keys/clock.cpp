#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/// Preloaded into a program, gives it a clock that runs at KEYS_CLOCK_RATE, counted from KEYS_CLOCK_BASE_NS of
/// CLOCK_BOOTTIME, and timers that keep to it; and a wall clock that is off by as many seconds as the 64-bit number in
/// the file KEYS_CLOCK_STEP says at that moment. All processes with the same environment see the same clock.
namespace {

constexpr std::int64_t second = 1'000'000'000;

std::int64_t number(const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::atoll(text) : 0;
}

double rate() {
    static const char* const text = std::getenv("KEYS_CLOCK_RATE");
    static const double value = text != nullptr ? std::atof(text) : 1.0;
    return value;
}

std::int64_t step_s() {
    static const std::int64_t* const step = [] {
        const char* path = std::getenv("KEYS_CLOCK_STEP");
        const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file < 0) return static_cast<const std::int64_t*>(nullptr);
        void* mapped = ::mmap(nullptr, 8, PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        return mapped == MAP_FAILED ? nullptr : static_cast<const std::int64_t*>(mapped);
    }();
    return step != nullptr ? __atomic_load_n(step, __ATOMIC_RELAXED) : 0;
}

std::int64_t true_ns(clockid_t clock) {
    timespec reading{};
    ::syscall(SYS_clock_gettime, clock, &reading);
    return reading.tv_sec * second + reading.tv_nsec;
}

/// How far the clock has run ahead of the true one.
std::int64_t ahead_ns() {
    static const std::int64_t base = number("KEYS_CLOCK_BASE_NS");
    return static_cast<std::int64_t>(static_cast<double>(true_ns(CLOCK_BOOTTIME) - base) * (rate() - 1.0));
}

timespec to_timespec(std::int64_t ns) {
    return {ns / second, ns % second};
}

/// From now by this clock to now by the true one; zero stays zero, which stops a timer.
timespec true_time(timespec wanted, clockid_t clock, bool absolute) {
    const std::int64_t ns = wanted.tv_sec * second + wanted.tv_nsec;
    if (ns == 0) return wanted;
    const std::int64_t true_now = true_ns(clock);
    const std::int64_t left = absolute ? ns - (true_now + ahead_ns()) : ns;
    const auto true_left = static_cast<std::int64_t>(static_cast<double>(left) / rate());
    const std::int64_t given = absolute ? true_now + true_left : true_left;
    return to_timespec(given > 0 ? given : 1);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* reading) noexcept {
    if (::syscall(SYS_clock_gettime, clock, reading) != 0) return -1;
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME) return 0;
    const std::int64_t step = clock == CLOCK_REALTIME ? step_s() * second : 0;
    *reading = to_timespec(reading->tv_sec * second + reading->tv_nsec + ahead_ns() + step);
    return 0;
}

/// All timers of Holdfast are on CLOCK_BOOTTIME or CLOCK_MONOTONIC, which are as far ahead as each other.
extern "C" __attribute__((visibility("default"))) int timerfd_settime(int fd, int flags, const itimerspec* wanted,
                                                                      itimerspec* old) noexcept {
    using Function = int (*)(int, int, const itimerspec*, itimerspec*);
    static const auto settime = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "timerfd_settime"));
    const bool absolute = (flags & TFD_TIMER_ABSTIME) != 0;
    itimerspec changed = *wanted;
    changed.it_value = true_time(wanted->it_value, CLOCK_BOOTTIME, absolute);
    return settime(fd, flags, &changed, old);
}
