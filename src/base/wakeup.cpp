#include "base/wakeup.h"

#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <system_error>

namespace holdfast::inline base {

Wakeup::Wakeup() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!fd_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
}

void Wakeup::notify() const {
    const int before = errno;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
    errno = before;
}

bool Wakeup::drain() const {
    std::uint64_t count = 0;
    return ::read(fd_.get(), &count, sizeof count) == sizeof count;
}

}  // namespace holdfast::inline base
