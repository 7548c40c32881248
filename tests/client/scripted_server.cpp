#include "client/scripted_server.h"

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdlib>
#include <netinet/in.h>
#include <optional>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace holdfast::client {

namespace {

/// Takes one whole request off the front of the bytes, if there is one.
std::optional<ScriptedServer::Request> take_request(std::string& bytes) {
    const auto end = bytes.find("\r\n\r\n");
    if (end == std::string::npos) return std::nullopt;
    ScriptedServer::Request request;
    request.headers = bytes.substr(0, end + 2);
    const auto length_at = request.headers.find("Content-Length: ");
    const auto length = length_at == std::string::npos ? 0 : std::stoul(request.headers.substr(length_at + 16));
    if (bytes.size() < end + 4 + length) return std::nullopt;
    request.body = bytes.substr(end + 4, length);
    bytes.erase(0, end + 4 + length);
    const auto first = request.headers.find(' ');
    const auto second = request.headers.find(' ', first + 1);
    request.method = request.headers.substr(0, first);
    request.target = request.headers.substr(first + 1, second - first - 1);
    return request;
}

std::string timeline(int ttl_ms) {
    return R"("ttl_ms": )" + std::to_string(ttl_ms) + R"(, "timeline": {"renew_in_ms": )" + std::to_string(ttl_ms / 3) +
           R"(, "soft_terminate_in_ms": )" + std::to_string(ttl_ms * 2 / 3) + R"(, "hard_terminate_in_ms": )" +
           std::to_string(ttl_ms * 5 / 6) + R"(, "expires_in_ms": )" + std::to_string(ttl_ms) + "}";
}

}  // namespace

ScriptedServer::ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (listener_ < 0 || ::bind(listener_, generic, size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, generic, &size) != 0)
        throw std::runtime_error("cannot listen on loopback");
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    ::close(listener_);
    cut_connections();
    for (auto& thread : threads_)
        thread.join();
}

std::string ScriptedServer::url() const {
    return "http://127.0.0.1:" + std::to_string(port_);
}

void ScriptedServer::cut_connections() {
    const std::lock_guard lock(mutex_);
    for (const int socket : open_)
        ::shutdown(socket, SHUT_RDWR);
}

void ScriptedServer::accept_all() {
    while (true) {
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket < 0) return;
        const std::lock_guard lock(mutex_);
        open_.push_back(socket);
        const int connection = ++connections_;
        threads_.emplace_back([this, socket, connection] { serve(socket, connection); });
    }
}

void ScriptedServer::serve(int socket, int connection) {
    std::string bytes;
    char chunk[4096];
    bool open = true;
    while (open) {
        while (auto request = take_request(bytes)) {
            request->connection = connection;
            request->number = ++requests_;
            const Reply reply = script_(*request);
            for (std::size_t sent = 0; sent < reply.bytes.size();) {
                const auto n = ::send(socket, reply.bytes.data() + sent, reply.bytes.size() - sent, MSG_NOSIGNAL);
                if (n <= 0) break;
                sent += static_cast<std::size_t>(n);
            }
            if (reply.close) open = false;
        }
        const auto got = open ? ::recv(socket, chunk, sizeof chunk, 0) : 0;
        if (got <= 0) break;
        bytes.append(chunk, static_cast<std::size_t>(got));
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, socket);
    ::close(socket);
    ++closed_;
}

std::string http_answer(int status, const std::string& body, const std::string& more_headers) {
    return "HTTP/1.1 " + std::to_string(status) +
           " Whatever\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           more_headers + "\r\n" + body;
}

std::string granted_answer(const std::string& resource, std::uint64_t token, int ttl_ms, int waited_ms) {
    return http_answer(201, R"({"verdict": "GRANTED", "waited_ms": )" + std::to_string(waited_ms) +
                                R"(, "leases": [{"id": ")" + resource + "#" + std::to_string(token) +
                                R"(", "resource": ")" + resource + R"(", "predicate": "MUTATES", "token": )" +
                                std::to_string(token) + ", " + timeline(ttl_ms) + "}]}");
}

std::string renewed_answer(const std::string& id, int ttl_ms) {
    return http_answer(200, R"({"renewed": 1, "rejected": 0, "results": [{"id": ")" + id +
                                R"(", "result": "RENEWED", "lease": {)" + timeline(ttl_ms) + "}}]}");
}

std::string rejected_answer(const std::string& id, const std::string& code) {
    return http_answer(200, R"({"renewed": 0, "rejected": 1, "results": [{"id": ")" + id +
                                R"(", "result": "REJECTED", "error": {"code": ")" + code +
                                R"(", "message": "so it is"}}]})");
}

bool eventually(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

}  // namespace holdfast::client
