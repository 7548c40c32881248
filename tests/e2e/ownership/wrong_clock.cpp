#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

/// The 8 bytes of the file that WRONG_CLOCK_FILE names, as they are at every moment; null if it names none.
const volatile std::int64_t* shared_shift() noexcept {
    const char* const path = std::getenv("WRONG_CLOCK_FILE");
    if (path == nullptr) return nullptr;
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) std::abort();
    void* const mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED) std::abort();
    return static_cast<const volatile std::int64_t*>(mapped);
}

std::int64_t shift() noexcept {
    static const volatile std::int64_t* const shared = shared_shift();
    if (shared != nullptr) return *shared;
    const char* const fixed = std::getenv("WRONG_CLOCK_S");
    return fixed == nullptr ? 0 : std::atol(fixed);
}

}  // namespace

/// Preloaded into a program, sets its wall clock off by WRONG_CLOCK_S seconds, or by what WRONG_CLOCK_FILE says while
/// it runs, and leaves every other clock as it is. (libfaketime also moves absolute timers, of whichever clock.)
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* reading) noexcept {
    const long failed = ::syscall(SYS_clock_gettime, clock, reading);
    if (failed == 0 && clock == CLOCK_REALTIME) reading->tv_sec += shift();
    return static_cast<int>(failed);
}

extern "C" __attribute__((visibility("default"))) int gettimeofday(timeval* __restrict reading, void*) noexcept {
    timespec precise{};
    const int failed = ::clock_gettime(CLOCK_REALTIME, &precise);
    if (failed == 0) *reading = {precise.tv_sec, precise.tv_nsec / 1000};
    return failed;
}
