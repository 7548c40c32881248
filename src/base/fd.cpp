#include "base/fd.h"

#include <cerrno>
#include <fcntl.h>

namespace holdfast::inline base {

Fd open_file(const std::string& path, int flags) {
    return Fd{::open(path.c_str(), flags | O_CLOEXEC, 0600)};
}

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t wrote = ::write(fd, text.data(), text.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return true;
}

}  // namespace holdfast::inline base
