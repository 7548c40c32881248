#include "doors/http/connection.h"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cstring>

namespace holdfast::doors::http {
namespace {

constexpr std::size_t input_bytes_first = 4 * 1024;
constexpr std::size_t buffer_bytes_kept = 64 * 1024;
constexpr auto linger_for = 2s;

}  // namespace

Connection::Connection(boost::asio::ip::tcp::socket socket, Duration write_timeout)
    : socket_(std::move(socket)), write_timeout_(write_timeout) {
    boost::system::error_code ignored;
    socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
    socket_.set_option(boost::asio::socket_base::keep_alive(true), ignored);
}

bool Connection::peer_is_there() const {
    // Asio's handle is not const.
    return !ended_ && !closed_ && holdfast::net::peer_is_there(const_cast<Connection*>(this)->socket_.native_handle());
}

/// Moves the unread input to the front, or grows the buffer if it is there already. REQUIRES: no read is under way.
void Connection::make_room() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ < input_.size()) return;
    if (begin_ > 0) {
        std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    } else {
        input_.resize(std::min(std::max(input_.size() * 4, input_bytes_first), max_input_bytes));
    }
}

void Connection::read_on() {
    if (reading_ || ended_ || closed_ || is_input_full()) return;
    make_room();
    reading_ = true;
    socket_.async_read_some(boost::asio::buffer(input_.data() + end_, input_.size() - end_),
                            [self = shared_from_this()](boost::system::error_code error, std::size_t bytes) {
                                self->on_read(error, bytes);
                            });
}

void Connection::on_read(boost::system::error_code error, std::size_t bytes) {
    reading_ = false;
    if (closed_) return;
    if (error && error != boost::asio::error::eof) return close();
    ended_ = error == boost::asio::error::eof;
    end_ += bytes;
    if (finishing_) {
        begin_ = end_;
        if (lingering_ && ended_) return close();
    } else {
        on_input();
    }
    read_on();
}

void Connection::flush() {
    if (closed_ || !writing_.empty()) return;
    if (output_.empty()) {
        if (finishing_) linger();
        return;
    }
    std::swap(output_, writing_);
    progress_.begin(Clock::now());
    write_some();
}

void Connection::write_some() {
    socket_.async_write_some(boost::asio::buffer(writing_.data() + written_, writing_.size() - written_),
                             [self = shared_from_this()](boost::system::error_code error, std::size_t bytes) {
                                 self->on_write(error, bytes);
                             });
}

void Connection::on_write(boost::system::error_code error, std::size_t bytes) {
    if (closed_) return;
    if (error) return close();
    written_ += bytes;
    progress_.sent(written_, Clock::now());
    if (written_ < writing_.size()) return write_some();
    written_ = 0;
    progress_.end();
    writing_.clear();
    if (writing_.capacity() > buffer_bytes_kept) writing_.shrink_to_fit();
    if (output_.empty() && !finishing_) on_written();
    flush();
}

void Connection::finish() {
    if (closed_ || finishing_) return;
    finishing_ = true;
    flush();
}

void Connection::linger() {
    if (lingering_) return;
    lingering_ = true;
    if (ended_ || !may_linger()) return close();
    boost::system::error_code error;
    socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
    if (error) return close();
    linger_deadline_ = Clock::now() + linger_for;
    begin_ = end_;
    read_on();
}

void Connection::close() {
    if (closed_) return;
    const auto self = shared_from_this();  // on_close() may let go of the last other owner
    closed_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
    on_close();
}

void Connection::check(Clock::time_point now) {
    if (closed_) return;
    if (progress_.is_late(now, write_timeout_)) return close();
    if (lingering_ && now >= linger_deadline_) return close();
    if (!finishing_) on_check(now);
}

}  // namespace holdfast::doors::http
