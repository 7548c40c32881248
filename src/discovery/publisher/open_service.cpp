#include "discovery/publisher/open_service.h"

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "discovery/publisher/dial.h"

namespace holdfast::discovery {
namespace {

Result<int> taken_out(Socket& socket) {
    boost::system::error_code error;
    const int fd = socket.release(error);
    if (error) return Error{"unreachable", error.message()};
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

}  // namespace

Result<int> open_service(const std::vector<ServerAddress>& relays, const std::string& name, Duration timeout,
                         const std::stop_token& stop) {
    if (name.empty() || name.size() > 255) return Error{"invalid_name", "a name has 1 to 255 bytes"};
    Result<int> opened = Error{"unreachable", "the relay did not answer"};
    try {
        boost::asio::io_context loop{1};
        dial_service(loop, relays, name, timeout, [&](StreamResult result) {
            if (auto* socket = std::get_if<Socket>(&result)) {
                opened = taken_out(*socket);
            } else {
                const auto& failed = std::get<StreamFailed>(result);
                opened = Error{failed.code, failed.message.empty() ? failed.code : failed.message};
            }
        });
        const std::stop_callback on_stop(stop, [&loop] { loop.stop(); });
        loop.run();
    } catch (const boost::system::system_error& error) {  // no fd or thread left
        return Error{"unreachable", error.what()};
    }
    if (!stop.stop_requested()) return opened;
    if (opened) ::close(*opened);
    return Error{"cancelled", "the program broke the call off"};
}

}  // namespace holdfast::discovery
