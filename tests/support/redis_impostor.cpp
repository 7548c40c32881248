#include "support/redis_impostor.h"

#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/resp/resp_command.h"

namespace holdfast {

RedisImpostor::RedisImpostor(Script script)
    : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, generic, &size) != 0)
        throw std::runtime_error("cannot listen on loopback");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
}

RedisImpostor::~RedisImpostor() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    for (const int socket : sockets_)
        ::shutdown(socket, SHUT_RDWR);
    for (auto& thread : threads_)
        thread.join();
    for (const int socket : sockets_)
        ::close(socket);
}

std::string RedisImpostor::usual_answer(const Words& command) {
    const std::string& name = command[0];
    if (name == "INFO") return "$25\r\nuptime_in_seconds:10000\r\n\r\n";
    if (name == "SET" || name == "SCRIPT") return "+OK\r\n";
    if (name == "GET") return "$-1\r\n";
    if (name == "SCAN") return "*2\r\n$1\r\n0\r\n*0\r\n";
    return ":1\r\n";
}

void RedisImpostor::half_close() {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_)
        ::shutdown(socket, SHUT_WR);
}

void RedisImpostor::accept_all() {
    for (;;) {
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) return;
        const std::lock_guard lock(mutex_);
        sockets_.push_back(socket);
        ++connections_;
        threads_.emplace_back([this, socket] { serve(socket); });
    }
}

void RedisImpostor::serve(int socket) {
    std::string received;
    codec::resp::CommandReader reader;
    for (;;) {
        while (reader.read(received) == codec::resp::CommandReader::Outcome::command) {
            const Words words(reader.words().begin(), reader.words().end());
            received.erase(0, reader.size());
            if (!send(socket, script_(words))) return;
        }
        char chunk[4096];
        const auto got = ::recv(socket, chunk, sizeof chunk, 0);
        if (got <= 0) return;
        received.append(chunk, static_cast<std::size_t>(got));
    }
}

bool RedisImpostor::send(int socket, const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
        const auto n = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return false;
        sent += static_cast<std::size_t>(n);
    }
    return true;
}

}  // namespace holdfast
