#include "net/transport.h"

#include <cerrno>
#include <sys/socket.h>

namespace holdfast::net {

Transport::Moved Transport::read_some(std::span<char> room) {
    const ssize_t got = ::recv(socket_.get(), room.data(), room.size(), 0);
    if (got > 0) return {.bytes = static_cast<std::size_t>(got)};
    if (got == 0) return {.ended = true};
    return {.error = errno == EAGAIN || errno == EINTR ? 0 : errno};
}

Transport::Moved Transport::write_some(std::string_view bytes) {
    Moved moved;
    while (moved.bytes < bytes.size()) {
        const ssize_t took =
            ::send(socket_.get(), bytes.data() + moved.bytes, bytes.size() - moved.bytes, MSG_NOSIGNAL);
        if (took < 0 && errno == EINTR) continue;
        if (took < 0) {
            moved.error = errno == EAGAIN ? 0 : errno;
            break;
        }
        moved.bytes += static_cast<std::size_t>(took);
    }
    return moved;
}

bool Transport::end_sending() {
    return ::shutdown(socket_.get(), SHUT_WR) == 0;
}

int Transport::release() {
    return socket_.release();
}

}  // namespace holdfast::net
