#include "client/sessions/resp_connection.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "base/wakeup.h"
#include "codec/resp/resp_command.h"

namespace holdfast::client::sessions {

struct RespConnection::Impl {
    explicit Impl(codec::resp::RedisAddress given) : address(std::move(given)) {}
    ~Impl() {
        if (socket >= 0) ::close(socket);
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    Result<void> connect(HolderInstant until);
    Result<void> connect_to(const addrinfo& place, HolderInstant until);
    Result<void> greet(HolderInstant until);
    Result<void> wait(short events, HolderInstant until);
    Result<std::vector<codec::resp::Value>> exchange(const Batch& batch, HolderInstant until);
    Result<void> send_some(std::string_view& unsent);
    Result<void> receive_some();
    Result<void> read_values(std::vector<codec::resp::Value>& values, std::size_t wanted);
    void reset();
    bool is_alive() const;
    Error unreachable(std::string_view why) const {
        return {Code::unreachable, fmt::format("no answer from {}: {}", address.shown(), why)};
    }

    const codec::resp::RedisAddress address;
    const Wakeup wakeup;
    std::atomic<bool> stopped = false;
    int socket = -1;
    std::string received;
    std::size_t used = 0;  ///< bytes of `received` that are parsed
    codec::resp::ValueReader reader;
};

/// With a linger of zero the kernel discards unsent bytes: a late release could end a newer lease.
void RespConnection::Impl::reset() {
    if (socket < 0) return;
    const linger none{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::close(socket);
    socket = -1;
    received.clear();
    used = 0;
    reader = {};
}

/// Also false if the store has closed the connection, or has sent bytes with no request outstanding.
bool RespConnection::Impl::is_alive() const {
    if (socket < 0) return false;
    char next = 0;
    const auto got = ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 ? errno == EAGAIN || errno == EINTR : got > 0 && next == '>';
}

Result<void> RespConnection::Impl::wait(short events, HolderInstant until) {
    for (;;) {
        if (stopped) return Error{Code::cancelled, "the connection was stopped"};
        const HolderInstant now = holder_clock_now();
        if (now >= until) return unreachable("it took too long");
        std::array<pollfd, 2> watched{pollfd{socket, events, 0}, pollfd{wakeup.fd(), POLLIN, 0}};
        const int ready =
            ::poll(watched.data(), watched.size(), static_cast<int>(std::min<Duration>(until - now, 1h) / 1ms) + 1);
        if (ready < 0 && errno != EINTR) return unreachable(std::strerror(errno));
        if (ready > 0 && watched[0].revents != 0) return {};
    }
}

Result<void> RespConnection::Impl::connect(HolderInstant until) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int failed = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
    if (failed != 0) return unreachable(::gai_strerror(failed));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places{found, &::freeaddrinfo};
    Result<void> connected = unreachable("the name has no address");
    for (const addrinfo* place = found; place != nullptr && !connected; place = place->ai_next)
        connected = connect_to(*place, until);
    return connected ? greet(until) : connected;
}

Result<void> RespConnection::Impl::connect_to(const addrinfo& place, HolderInstant until) {
    reset();
    socket = ::socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) return unreachable(std::strerror(errno));
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int why = ::connect(socket, place.ai_addr, place.ai_addrlen) == 0 ? 0 : errno;
    if (why == EINPROGRESS) {
        if (auto ready = wait(POLLOUT, until); !ready) return ready;
        socklen_t size = sizeof why;
        ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &why, &size);
    }
    if (why != 0) return unreachable(std::strerror(why));
    return {};
}

Result<void> RespConnection::Impl::greet(HolderInstant until) {
    Batch batch;
    if (!address.password.empty()) {
        if (address.user.empty())
            codec::resp::write_command(batch.bytes, {"AUTH", address.password});
        else
            codec::resp::write_command(batch.bytes, {"AUTH", address.user, address.password});
        ++batch.commands;
    }
    if (address.database != 0) {
        codec::resp::write_command(batch.bytes, {"SELECT", std::to_string(address.database)});
        ++batch.commands;
    }
    if (batch.commands == 0) return {};
    const auto answers = exchange(batch, until);
    if (!answers) return answers.error();
    for (const codec::resp::Value& answer : *answers)
        if (answer.is_error()) return Error{Code::refused, fmt::format("{} refused: {}", address.shown(), answer.text)};
    return {};
}

Result<std::vector<codec::resp::Value>> RespConnection::Impl::exchange(const Batch& batch, HolderInstant until) {
    std::string_view unsent = batch.bytes;
    std::vector<codec::resp::Value> values;
    values.reserve(batch.commands);
    for (;;) {
        if (const auto read = read_values(values, batch.commands); !read) return read.error();
        if (unsent.empty() && values.size() == batch.commands) return values;
        // Reads while it writes: otherwise the store could block on its full send buffer while requests are still being
        // sent.
        const short events = unsent.empty() ? POLLIN : POLLIN | POLLOUT;
        if (const auto ready = wait(events, until); !ready) return ready.error();
        if (const auto sent = send_some(unsent); !sent) return sent.error();
        if (const auto got = receive_some(); !got) return got.error();
    }
}

Result<void> RespConnection::Impl::send_some(std::string_view& unsent) {
    if (unsent.empty()) return {};
    const auto sent = ::send(socket, unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return unreachable(std::strerror(errno));
    if (sent > 0) unsent.remove_prefix(static_cast<std::size_t>(sent));
    return {};
}

Result<void> RespConnection::Impl::receive_some() {
    std::array<char, 32 * 1024> chunk;
    const auto got = ::recv(socket, chunk.data(), chunk.size(), 0);
    if (got == 0) return unreachable("it closed the connection");
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (got < 0) return unreachable(std::strerror(errno));
    received.erase(0, std::exchange(used, 0));
    received.append(chunk.data(), static_cast<std::size_t>(got));
    return {};
}

Result<void> RespConnection::Impl::read_values(std::vector<codec::resp::Value>& values, std::size_t wanted) {
    for (;;) {
        switch (reader.read(std::string_view(received).substr(used))) {
            case codec::resp::ValueReader::Outcome::more:
                return {};
            case codec::resp::ValueReader::Outcome::malformed:
                return unreachable(fmt::format("this is not the Redis protocol: {}", reader.error()));
            case codec::resp::ValueReader::Outcome::value:
                break;
        }
        used += reader.size();
        if (reader.value().type == codec::resp::Value::Type::push) continue;
        if (values.size() == wanted) return unreachable("there are more answers than commands");
        values.push_back(std::move(reader.value()));
    }
}

RespConnection::RespConnection(codec::resp::RedisAddress address) : impl_(std::make_unique<Impl>(std::move(address))) {}
RespConnection::~RespConnection() = default;

Result<bool> RespConnection::open(Duration timeout) {
    if (impl_->stopped) return Error{Code::cancelled, "the connection was stopped"};
    if (impl_->is_alive()) return false;
    impl_->reset();
    if (const auto connected = impl_->connect(holder_clock_now() + timeout); !connected) {
        impl_->reset();
        return connected.error();
    }
    return true;
}

Result<std::vector<codec::resp::Value>> RespConnection::exchange(const Batch& batch, Duration timeout) {
    HOLDFAST_ASSERT(impl_->socket >= 0);
    auto answers = impl_->exchange(batch, holder_clock_now() + timeout);
    if (!answers) impl_->reset();
    return answers;
}

void RespConnection::reset() {
    impl_->reset();
}

void RespConnection::stop() {
    impl_->stopped = true;
    impl_->wakeup.notify();
}

const codec::resp::RedisAddress& RespConnection::address() const {
    return impl_->address;
}

}  // namespace holdfast::client::sessions
