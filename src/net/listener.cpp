#include "net/listener.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/text.h"
#include "base/time.h"

namespace holdfast::net {
namespace {

using boost::asio::ip::tcp;

constexpr auto accept_pause = 100ms;     // after a failed accept; the cause usually lasts a while
constexpr int keep_alive_seconds = 300;  // idle time before the first keepalive probe, as in Redis

constexpr rlim_t files_of_full_reserves = 640;  // with a lower fd limit, reserves shrink in proportion

struct HostPort {
    std::string host;
    std::string port;
};

Result<HostPort> split_address(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    const Error malformed{Code::cannot_listen, fmt::format("'{}' is not HOST:PORT", address)};
    if (colon == std::string::npos || colon == 0) return malformed;
    HostPort parts{address.substr(0, colon), address.substr(colon + 1)};
    const auto port = parse_number(parts.port);
    if (!port || *port > 65535) return malformed;
    if (parts.host.front() == '[' && parts.host.back() == ']') parts.host = parts.host.substr(1, parts.host.size() - 2);
    return parts;
}

}  // namespace

std::string text_of(const tcp::endpoint& endpoint) {
    const std::string host = endpoint.address().to_string();
    return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
}

tcp::endpoint plain_endpoint(const tcp::endpoint& endpoint) {
    if (!endpoint.address().is_v6() || !endpoint.address().to_v6().is_v4_mapped()) return endpoint;
    return {boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, endpoint.address().to_v6()), endpoint.port()};
}

int take_out(tcp::socket& socket) {
    boost::system::error_code error;
    socket.set_option(tcp::no_delay(true), error);
    socket.set_option(boost::asio::socket_base::keep_alive(true), error);
    const int bare = socket.release(error);
    if (error) return -1;
    ::setsockopt(bare, IPPROTO_TCP, TCP_KEEPIDLE, &keep_alive_seconds, sizeof keep_alive_seconds);
    ::fcntl(bare, F_SETFL, ::fcntl(bare, F_GETFL) | O_NONBLOCK);
    return bare;
}

bool leaves_fewer_files(int socket, std::size_t reserved) {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return false;
    const rlim_t least = std::min<rlim_t>(reserved, files.rlim_cur * reserved / files_of_full_reserves);
    return static_cast<rlim_t>(socket) + least >= files.rlim_cur;
}

struct Listener::Impl : std::enable_shared_from_this<Impl> {
    Impl(boost::asio::io_context& loop_given, OnSocket on_socket_given)
        : loop(loop_given), acceptor(loop), pause(loop), on_socket(std::move(on_socket_given)) {}

    boost::system::error_code bind(const HostPort& address) {
        boost::system::error_code error;
        tcp::resolver resolver(loop);
        const auto found = resolver.resolve(address.host, address.port, tcp::resolver::passive, error);
        if (error) return error;
        const tcp::endpoint endpoint = found.begin()->endpoint();
        acceptor.open(endpoint.protocol(), error);
        if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
        if (!error) acceptor.bind(endpoint, error);
        if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
        return error;
    }

    void accept() {
        acceptor.async_accept([self = shared_from_this()](boost::system::error_code error, tcp::socket socket) {
            self->accepted(error, std::move(socket));
        });
    }

    void accepted(boost::system::error_code error, tcp::socket socket) {
        if (!acceptor.is_open()) return;
        if (!error) on_socket(std::move(socket));
        if (!acceptor.is_open()) return;
        if (!error || error == boost::asio::error::connection_aborted) return accept();
        // Out of fds or memory. The connection stays in the backlog, and an immediate retry would spin.
        pause.expires_after(accept_pause);
        pause.async_wait([self = shared_from_this()](boost::system::error_code cancelled) {
            if (!cancelled && self->acceptor.is_open()) self->accept();
        });
    }

    void close() {
        boost::system::error_code ignored;
        acceptor.close(ignored);
        pause.cancel();
    }

    boost::asio::io_context& loop;
    tcp::acceptor acceptor;
    boost::asio::steady_timer pause;
    OnSocket on_socket;
};

Listener::Listener(boost::asio::io_context& loop, OnSocket on_socket)
    : impl_(std::make_shared<Impl>(loop, std::move(on_socket))) {}

Listener::~Listener() {
    close();
}

Result<tcp::endpoint> Listener::listen(const std::string& address) {
    const auto split = split_address(address);
    if (!split) return split.error();
    auto error = impl_->bind(*split);
    const tcp::endpoint bound = error ? tcp::endpoint{} : impl_->acceptor.local_endpoint(error);
    if (error) {
        close();
        return Error{Code::cannot_listen, fmt::format("cannot listen on {}: {}", address, error.message())};
    }
    impl_->accept();
    return bound;
}

void Listener::close() {
    impl_->close();
}

}  // namespace holdfast::net
