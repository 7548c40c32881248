#include "discovery/publisher/splice.h"

#include <array>
#include <boost/asio/write.hpp>
#include <memory>

namespace holdfast::discovery::publisher {
namespace {

using boost::system::error_code;

class Pair : public std::enable_shared_from_this<Pair> {
 public:
    Pair(Socket one, Socket other, std::function<void()> done)
        : sockets_{std::move(one), std::move(other)}, done_(std::move(done)) {}
    ~Pair() {
        if (done_) cut();
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    void start() {
        read(0);
        read(1);
    }

 private:
    /// From this side to the other.
    void read(std::size_t side) {
        sockets_[side].async_read_some(boost::asio::buffer(buffers_[side]),
                                       [self = shared_from_this(), side](error_code error, std::size_t bytes) {
                                           self->on_read(side, error, bytes);
                                       });
    }

    void on_read(std::size_t side, error_code error, std::size_t bytes) {
        if (error == boost::asio::error::eof) return end(side);
        if (error) return reset();
        boost::asio::async_write(sockets_[1 - side], boost::asio::buffer(buffers_[side], bytes),
                                 [self = shared_from_this(), side](error_code failed, std::size_t) {
                                     if (failed) return self->reset();
                                     self->read(side);
                                 });
    }

    void end(std::size_t side) {
        error_code error;
        sockets_[1 - side].shutdown(Socket::shutdown_send, error);
        if (error) return reset();
        if (++ended_ == 2) finish();
    }

    void reset() {
        cut();
        finish();
    }

    /// So that neither side mistakes a truncated stream for a complete one.
    void cut() {
        for (Socket& socket : sockets_) {
            error_code ignored;
            socket.set_option(boost::asio::socket_base::linger(true, 0), ignored);
            socket.close(ignored);
        }
    }

    void finish() {
        for (Socket& socket : sockets_) {
            error_code ignored;
            socket.close(ignored);
        }
        if (const auto done = std::exchange(done_, {})) done();
    }

    std::array<Socket, 2> sockets_;
    std::array<std::array<char, splice_buffer_bytes>, 2> buffers_;
    int ended_ = 0;
    std::function<void()> done_;
};

}  // namespace

void splice(Socket one, Socket other, std::function<void()> done) {
    std::make_shared<Pair>(std::move(one), std::move(other), std::move(done))->start();
}

}  // namespace holdfast::discovery::publisher
