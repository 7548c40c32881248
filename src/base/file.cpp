#include "base/file.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace holdfast::inline base {

File::File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}

File::~File() {
    if (fd_ >= 0) ::close(fd_);
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
