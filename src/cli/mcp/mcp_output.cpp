#include "cli/mcp/mcp_output.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>

namespace holdfast {

McpOutput::McpOutput(int descriptor) : descriptor_(descriptor), stopped_(eventfd(0, EFD_CLOEXEC)) {}

bool McpOutput::is_writable() const {
    pollfd waiting[]{{descriptor_, POLLOUT, 0}, {stopped_.get(), POLLIN, 0}};
    while (::poll(waiting, 2, -1) < 0 && errno == EINTR) {
    }
    return (waiting[0].revents & POLLOUT) != 0;
}

bool McpOutput::write_line(const std::string& line) {
    const std::lock_guard lock(mutex_);
    const std::string text = line + "\n";
    std::string_view rest = text;
    while (!rest.empty() && !broken_) {
        if (!is_writable()) {
            broken_ = true;
            break;
        }
        // A pipe that is writable takes this much without blocking.
        const ssize_t done = ::write(descriptor_, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
        if (done > 0) rest.remove_prefix(static_cast<std::size_t>(done));
        if (done < 0 && errno != EINTR && errno != EAGAIN) broken_ = true;
    }
    return !broken_;
}

void McpOutput::stop() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(stopped_.get(), &one, sizeof one);
}

}  // namespace holdfast
