#include "net/peer_watch.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace holdfast::net {
namespace {

struct Probing {
    int idle_seconds;
    int interval_seconds;
    int probes;
    unsigned unacknowledged_ms;  // TCP_USER_TIMEOUT; 0: the system's default
};
constexpr Probing usual_probing{300, 75, 9, 0};
constexpr Probing close_probing{1, 1, 4, 5000};

constexpr unsigned max_probes_missed = 1;
constexpr unsigned max_silence_ms = 2000;  // while sent data is unacknowledged

}  // namespace

void watch_peer(int socket, Watch watch) {
    const Probing& probing = watch == Watch::close ? close_probing : usual_probing;
    const auto set = [socket](int option, const auto& value) {
        ::setsockopt(socket, IPPROTO_TCP, option, &value, sizeof value);
    };
    set(TCP_KEEPCNT, probing.probes);
    set(TCP_KEEPINTVL, probing.interval_seconds);
    set(TCP_USER_TIMEOUT, probing.unacknowledged_ms);
    set(TCP_KEEPIDLE, probing.idle_seconds);
}

bool peer_is_there(int socket) {
    pollfd look{socket, POLLRDHUP, 0};
    if (::poll(&look, 1, 0) < 0 || (look.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) return false;
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;  // not TCP: only in tests
    if (info.tcpi_probes > max_probes_missed) return false;
    return info.tcpi_unacked == 0 || info.tcpi_last_ack_recv < max_silence_ms;
}

}  // namespace holdfast::net
