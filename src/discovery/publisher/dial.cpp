#include "discovery/publisher/dial.h"

#include <algorithm>
#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <netinet/tcp.h>
#include <unistd.h>

#include "codec/frame.h"
#include "discovery/publisher/host_port.h"
#include "net/dial.h"

namespace holdfast::discovery::publisher {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr int max_detours = 2;
constexpr Duration max_silence = 5s;    // timeout for a relay if there is another to try
constexpr int keep_alive_seconds = 30;  // idle time before keep-alive probes
constexpr int keep_alive_every_seconds = 10;

void tune(Socket& socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
    const int bare = socket.native_handle();
    ::setsockopt(bare, IPPROTO_TCP, TCP_KEEPIDLE, &keep_alive_seconds, sizeof keep_alive_seconds);
    ::setsockopt(bare, IPPROTO_TCP, TCP_KEEPINTVL, &keep_alive_every_seconds, sizeof keep_alive_every_seconds);
}

/// The handshake with a relay. Reads no more than the answer: the bytes after it belong to the stream.
class Opening : public std::enable_shared_from_this<Opening> {
 public:
    using Done = std::function<void(StreamResult)>;

    Opening(Socket socket, const Message& first, Done done)
        : socket_(std::move(socket)), timer_(socket_.get_executor()), done_(std::move(done)) {
        append_frame(first, said_);
    }

    void start(Duration timeout) {
        timer_.expires_after(timeout);
        timer_.async_wait([self = shared_from_this()](error_code error) {
            if (!error) self->fail(Code::unreachable, "the relay did not answer in time");
        });
        boost::asio::async_write(socket_, boost::asio::buffer(said_),
                                 [self = shared_from_this()](error_code error, std::size_t) {
                                     if (error) return self->fail(Code::unreachable, error.message());
                                     self->read_length();
                                 });
    }

 private:
    void read_length() {
        read(codec::frame_header_bytes, [this] { read_body(); });
    }

    void read_body() {
        std::size_t bytes = 0;
        for (const char byte : heard_)
            bytes = bytes << 8 | static_cast<unsigned char>(byte);
        if (bytes > max_frame_bytes) return fail(Code::malformed, not_a_relay(heard_));
        read(bytes, [this] { judge(); });
    }

    void read(std::size_t bytes, std::function<void()> then) {
        heard_.resize(bytes);
        boost::asio::async_read(socket_, boost::asio::buffer(heard_),
                                [self = shared_from_this(), then = std::move(then)](error_code error, std::size_t) {
                                    if (error) return self->fail(Code::unreachable, "the relay closed the connection");
                                    then();
                                });
    }

    void judge() {
        const auto message = decode(heard_);
        if (!message) return fail(Code::malformed, "what answers is not a relay: " + message.error().message);
        if (const auto* failed = std::get_if<StreamFailed>(&*message)) return finish(*failed);
        if (!std::holds_alternative<StreamOpened>(*message))
            return fail(Code::malformed, "what answers is not a relay");
        finish(std::move(socket_));
    }

    void fail(Code code, std::string message) { finish(StreamFailed{.code = code, .message = std::move(message)}); }

    void finish(StreamResult result) {
        if (!done_) return;
        const Done done = std::exchange(done_, {});
        timer_.cancel();
        error_code ignored;
        if (socket_.is_open()) socket_.close(ignored);
        done(std::move(result));
    }

    Socket socket_;
    boost::asio::steady_timer timer_;
    std::string said_;
    std::string heard_;
    Done done_;
};

/// Follows redirects from relay to relay.
struct Search {
    boost::asio::io_context& loop;
    std::string name;
    Duration timeout;
    std::function<void(StreamResult)> done;
    int detours = 0;
};

void ask(const client::ServerAddress& relay, const std::shared_ptr<Search>& search) {
    dial_stream(search->loop, relay, StreamRequest{.name = search->name}, search->timeout,
                [search](StreamResult result) {
                    const auto* failed = std::get_if<StreamFailed>(&result);
                    if (failed == nullptr || failed->code != Code::elsewhere || search->detours == max_detours)
                        return search->done(std::move(result));
                    const auto next = parse_host_port(failed->relay, relay_port);
                    if (!next) return search->done(std::move(result));
                    ++search->detours;
                    ask(*next, search);
                });
}

Result<int> taken_out(Socket& socket) {
    boost::system::error_code error;
    const int fd = socket.release(error);
    if (error) return Error{Code::unreachable, error.message()};
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

}  // namespace

void dial(boost::asio::io_context& loop, const client::ServerAddress& address, Duration timeout,
          std::function<void(Result<Socket>)> done) {
    net::dial(loop, {address.host, address.port}, timeout,
              [authority = address.authority(), done = std::move(done)](Result<Socket> socket) {
                  if (!socket)
                      return done(Error{Code::unreachable,
                                        fmt::format("cannot connect to {}: {}", authority, socket.error().message)});
                  tune(*socket);
                  done(std::move(socket));
              });
}

void dial_stream(boost::asio::io_context& loop, const client::ServerAddress& relay, const Message& first,
                 Duration timeout, std::function<void(StreamResult)> done) {
    dial(loop, relay, timeout, [first, timeout, done = std::move(done)](Result<Socket> socket) {
        if (!socket) return done(StreamFailed{.code = socket.error().code, .message = socket.error().message});
        std::make_shared<Opening>(std::move(*socket), first, done)->start(timeout);
    });
}

void dial_service(boost::asio::io_context& loop, std::vector<client::ServerAddress> relays, const std::string& name,
                  Duration timeout, std::function<void(StreamResult)> done,
                  std::function<void(const client::ServerAddress&)> on_away) {
    const client::ServerAddress first = relays.front();
    relays.erase(relays.begin());
    if (relays.empty()) return ask(first, std::make_shared<Search>(Search{loop, name, timeout, std::move(done)}));
    const auto try_next = [&loop, first, relays = std::move(relays), name, timeout, done = std::move(done),
                           on_away = std::move(on_away)](StreamResult result) {
        const auto* failed = std::get_if<StreamFailed>(&result);
        const bool is_away = failed != nullptr && (failed->code == Code::unreachable || failed->code == Code::stopping);
        if (!is_away) return done(std::move(result));
        if (on_away) on_away(first);
        dial_service(loop, relays, name, timeout, done, on_away);
    };
    // A hanging relay cannot be told from a slow publisher, so only the last relay gets the full timeout.
    ask(first, std::make_shared<Search>(Search{loop, name, std::min(timeout, max_silence), try_next}));
}

Result<int> open_service(const std::vector<client::ServerAddress>& relays, const std::string& name, Duration timeout,
                         const std::stop_token& stop) {
    if (name.empty() || name.size() > 255) return Error{Code::invalid_name, "a name has 1 to 255 bytes"};
    Result<int> opened = Error{Code::unreachable, "the relay did not answer"};
    try {
        boost::asio::io_context loop{1};
        dial_service(loop, relays, name, timeout, [&](StreamResult result) {
            if (auto* socket = std::get_if<Socket>(&result)) {
                opened = taken_out(*socket);
            } else {
                const auto& failed = std::get<StreamFailed>(result);
                opened = Error{failed.code, failed.message.empty() ? std::string(failed.code.name()) : failed.message};
            }
        });
        const std::stop_callback on_stop(stop, [&loop] { loop.stop(); });
        loop.run();
    } catch (const boost::system::system_error& error) {  // no fd or thread left
        return Error{Code::unreachable, error.what()};
    }
    if (!stop.stop_requested()) return opened;
    if (opened) ::close(*opened);
    return Error{Code::cancelled, "the program broke the call off"};
}

std::string not_a_relay(std::string_view first_bytes) {
    if (first_bytes.starts_with("HTTP"))
        return "what answers speaks HTTP and is not a relay; the relay of a server has a port of its own, three above "
               "its HTTP port unless 'serve --relay' says otherwise";
    if (first_bytes.starts_with("-ERR") || first_bytes.starts_with("-NOA"))
        return "what answers speaks the protocol of Redis and is not a relay; the relay of a server has a port of its "
               "own, two above its RESP port unless 'serve --relay' says otherwise";
    return "what answers is not a relay";
}

}  // namespace holdfast::discovery::publisher
