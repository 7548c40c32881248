#include "doors/http/test_client.h"

#include <algorithm>
#include <arpa/inet.h>
#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

#include "base/text.h"

namespace holdfast::doors::http {
namespace {

constexpr int patience_s = 30;

/// Owns the whole value, since what is looked at must outlive the look.
boost::json::value parsed(const std::string& body) {
    boost::json::error_code error;
    boost::json::value value = boost::json::parse(body, error);
    if (error) throw std::runtime_error("not JSON: " + body);
    return value;
}

const boost::json::value* find(const boost::json::value& value, std::string_view pointer) {
    boost::json::error_code error;
    return value.find_pointer({pointer.data(), pointer.size()}, error);
}

template <class Read>
auto look(const Answer& answer, std::string_view pointer, Read read) {
    const boost::json::value value = parsed(answer.body);
    const boost::json::value* found = find(value, pointer);
    if (found == nullptr) throw std::runtime_error(std::string(pointer) + " is missing in " + answer.body);
    return read(*found);
}

}  // namespace

std::string Answer::text(std::string_view pointer) const {
    return look(*this, pointer, [](const auto& value) { return std::string(value.as_string()); });
}
std::int64_t Answer::number(std::string_view pointer) const {
    return look(*this, pointer, [](const auto& value) { return value.template to_number<std::int64_t>(); });
}
bool Answer::truth(std::string_view pointer) const {
    return look(*this, pointer, [](const auto& value) { return value.as_bool(); });
}
bool Answer::is_null(std::string_view pointer) const {
    return look(*this, pointer, [](const auto& value) { return value.is_null(); });
}
std::size_t Answer::size(std::string_view pointer) const {
    return look(*this, pointer, [](const auto& value) {
        return value.is_array() ? value.as_array().size() : value.as_object().size();
    });
}
bool Answer::has(std::string_view pointer) const {
    const boost::json::value value = parsed(body);
    return find(value, pointer) != nullptr;
}

TestClient::TestClient(int port, int receive_buffer) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval patience{patience_s, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error("cannot connect");
}

TestClient::TestClient(TestClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), buffer_(std::move(other.buffer_)) {}

TestClient::~TestClient() {
    close();
}

bool TestClient::try_send(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

void TestClient::send(std::string_view bytes) {
    ASSERT_TRUE(try_send(bytes));
}

void TestClient::end_sending() {
    ::shutdown(socket_, SHUT_WR);
}

void TestClient::close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void TestClient::reset() {
    const linger at_once{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
}

bool TestClient::fill() {
    char piece[16 * 1024];
    const ssize_t got = ::recv(socket_, piece, sizeof piece, 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) throw std::runtime_error("nothing came for too long");
    if (got <= 0) return false;
    buffer_.append(piece, static_cast<std::size_t>(got));
    return true;
}

std::string TestClient::read_until(std::string_view end) {
    std::size_t at = 0;
    while ((at = buffer_.find(end)) == std::string::npos)
        if (!fill()) return {};
    std::string text = buffer_.substr(0, at);
    buffer_.erase(0, at + end.size());
    return text;
}

std::string TestClient::read_line() {
    return read_until("\n");
}

std::string TestClient::read_to_end() {
    while (fill()) {
    }
    return std::exchange(buffer_, {});
}

Answer TestClient::read_head() {
    Answer answer;
    const std::string head = read_until("\r\n\r\n") + "\r\n";
    if (!head.starts_with("HTTP/1.1 ")) return answer;
    answer.status = std::stoi(head.substr(9, 3));
    for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
        const std::size_t colon = head.find(": ", at);
        const std::size_t end = head.find("\r\n", at);
        std::string name = head.substr(at, colon - at);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](char c) { return static_cast<char>(std::tolower(c)); });
        answer.headers[name] = head.substr(colon + 2, end - colon - 2);
        at = end + 2;
    }
    return answer;
}

Answer TestClient::read() {
    Answer answer = read_head();
    const auto length = answer.headers.find("content-length");
    if (length == answer.headers.end()) return answer;
    const std::size_t bytes = std::stoul(length->second);
    while (buffer_.size() < bytes)
        if (!fill()) return {};
    answer.body = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
    return answer;
}

Answer TestClient::ask(std::string_view method, std::string_view target, std::string_view body) {
    send(request_text(method, target, body));
    return method == "HEAD" ? read_head() : read();
}

std::string request_text(std::string_view method, std::string_view target, std::string_view body,
                         std::string_view headers) {
    std::string text(method);
    text += ' ';
    text += target;
    text += " HTTP/1.1\r\nHost: 127.0.0.1\r\n";
    text += headers;
    if (!body.empty())
        text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n";
    text += body;
    return text;
}

StreamEvent read_event(TestClient& client) {
    StreamEvent event;
    for (std::string line = client.read_line(); !line.empty(); line = client.read_line()) {
        if (line.starts_with("id: ")) event.id = line.substr(4);
        if (line.starts_with("event: ")) event.type = line.substr(7);
        if (line.starts_with("data: ")) event.data = line.substr(6);
        if (line.starts_with(":")) event.comment = line;
    }
    return event;
}

StreamEvent read_real_event(TestClient& client) {
    for (;;) {
        StreamEvent event = read_event(client);
        if (!event.type.empty()) return event;
        if (event.id.empty() && event.comment.empty()) throw std::runtime_error("the stream ended");
    }
}

}  // namespace holdfast::doors::http
