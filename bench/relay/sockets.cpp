#include "sockets.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/random.h"
#include "codec/frame.h"

namespace holdfast::bench {
namespace {

sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

}  // namespace

void give_up(const std::string& why) {
    std::fprintf(stderr, "bench-relay: %s\n", why.c_str());
    std::exit(1);
}

int connect_to(int port, bool blocking) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const sockaddr_in address = loopback(port);
    if (made < 0 || ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        give_up("cannot connect to port " + std::to_string(port) + ": " + std::strerror(errno));
    if (!blocking) ::fcntl(made, F_SETFL, O_NONBLOCK);
    return made;
}

int listen_on_loopback(int& port) {
    const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address = loopback(port);
    socklen_t size = sizeof address;
    if (::bind(made, reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(made, 4096) != 0)
        give_up("cannot listen");
    ::getsockname(made, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    return made;
}

void raise_open_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

double cpu_seconds_of(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int i = 3; i < 14; ++i)
        fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// ---- a publisher's control connection ----

std::size_t ControlEnd::send(const discovery::Message& message) {
    std::string bytes;
    discovery::append_frame(message, bytes);
    if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size()))
        give_up("the relay does not take a message");
    return bytes.size();
}

bool ControlEnd::fill(bool waits) {
    char room[16 * 1024];
    const ssize_t got = ::recv(socket_, room, sizeof room, waits ? 0 : MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN)) give_up("the relay has ended a connection");
    if (got < 0) return false;
    input_.append(room, static_cast<std::size_t>(got));
    received_ += static_cast<std::size_t>(got);
    return true;
}

std::optional<discovery::Message> ControlEnd::receive() {
    for (bool more = true; more; more = fill(false)) {
        std::string_view rest = input_;
        const auto frame = codec::take_frame(rest, discovery::max_frame_bytes);
        if (!frame) give_up("the relay sent nonsense");
        if (!*frame) continue;
        auto message = discovery::decode(**frame);
        if (!message) give_up("the relay sent nonsense");
        input_.erase(0, input_.size() - rest.size());
        return std::move(*message);
    }
    return std::nullopt;
}

discovery::Message ControlEnd::wait_for_message() {
    while (true) {
        if (auto message = receive()) return std::move(*message);
        fill(true);
    }
}

discovery::SignedUpdate Signer::sign(discovery::Update update) {
    update.relay = hello_.relay;
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - at_);
    update.time_ms = hello_.time_ms + passed.count();
    update.nonce = random_seed();
    const std::string request = discovery::encode(update);
    return {request, identity_.public_key(), identity_.sign(discovery::identity::update_purpose, request),
            static_cast<std::uint32_t>(++number_)};
}

}  // namespace holdfast::bench
