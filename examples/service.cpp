// A service that is found by its name, and somebody who asks it. Neither can reach the other: both reach the relay.
//
//   service offer NAME TIMES      answers so many questions, then ends
//   service ask NAME QUESTION     prints the answer
//
// The relay is at HOLDFAST_RELAY_SERVER, or at 127.0.0.1:7403. Exit codes: 0 done, 1 not done, 2 usage.

#include <holdfast/discovery.h>

#include <arpa/inet.h>
#include <iostream>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace {

int fail(const std::string& why) {
    std::cerr << why << '\n';
    return 1;
}

/// Up to where the other side has ended; its answer may still come.
std::string read_all(int stream) {
    std::string text;
    char piece[4096];
    for (ssize_t got; (got = ::read(stream, piece, sizeof piece)) > 0;)
        text.append(piece, static_cast<std::size_t>(got));
    return text;
}

bool write_all(int stream, std::string_view text) {
    while (!text.empty()) {
        const ssize_t sent = ::send(stream, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return ::shutdown(stream, SHUT_WR) == 0;
}

/// Listens on a free port of this machine that only this machine can reach. Returns the port, or 0.
int listen_on(int socket) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    if (::bind(socket, reinterpret_cast<sockaddr*>(&place), size) != 0 || ::listen(socket, 64) != 0) return 0;
    ::getsockname(socket, reinterpret_cast<sockaddr*>(&place), &size);
    return ntohs(place.sin_port);
}

int offer(const std::string& name, int times) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    const int port = listen_on(listener);
    if (port == 0) return fail("cannot listen");
    auto published = holdfast::Publisher::advertise({
        .name = name,
        .target = "127.0.0.1:" + std::to_string(port),
        .metadata = {{"questions", std::to_string(times)}},
        .on_event = [](const holdfast::ServiceEvent& event) { std::cerr << event.message << std::endl; },
    });
    if (!published) return fail(published.failure().message);
    for (; times > 0; --times) {
        const int asker = ::accept(listener, nullptr, nullptr);
        if (asker < 0) return fail("cannot accept");
        const std::string question = read_all(asker);
        std::cout << name << " was asked: " << question << std::endl;
        write_all(asker, question + "? That is a good question.");
        ::close(asker);
    }
    ::close(listener);
    return 0;  // `published` goes: its name is free at once, and the last answer still arrives
}

int ask(const std::string& name, const std::string& question) {
    const auto stream = holdfast::connect_service("", name);
    if (!stream) return fail(stream.failure.code + ": " + stream.failure.message);
    const bool asked = write_all(stream.fd, question);
    std::cout << read_all(stream.fd) << std::endl;
    ::close(stream.fd);
    return asked ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc == 4 ? argv[1] : "";
    if (what == "offer") return offer(argv[2], std::stoi(argv[3]));
    if (what == "ask") return ask(argv[2], argv[3]);
    return fail("usage: service offer NAME TIMES | service ask NAME QUESTION"), 2;
}
