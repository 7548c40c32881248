#include <cstdlib>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

/// Preloaded into a program, sets its wall clock off by WRONG_CLOCK_S seconds and leaves every other clock as it is.
/// (libfaketime also moves absolute timers, of whichever clock.)
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* reading) noexcept {
    const long failed = ::syscall(SYS_clock_gettime, clock, reading);
    const char* const off = std::getenv("WRONG_CLOCK_S");
    if (failed == 0 && clock == CLOCK_REALTIME && off != nullptr) reading->tv_sec += std::atol(off);
    return static_cast<int>(failed);
}
