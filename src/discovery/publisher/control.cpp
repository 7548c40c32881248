#include "discovery/publisher/control.h"

#include <boost/asio/write.hpp>

#include "codec/frame.h"

namespace holdfast::discovery::publisher {

using boost::system::error_code;

void Control::send(const Message& message) {
    if (closed_) return;
    append_frame(message, waiting_);
    if (sending_.empty()) write();
}

void Control::close() {
    closed_ = true;
    error_code ignored;
    socket_.close(ignored);
}

void Control::read() {
    input_.resize(codec::frame_header_bytes + max_frame_bytes);
    socket_.async_read_some(boost::asio::buffer(input_.data() + have_, input_.size() - have_),
                            [self = shared_from_this()](error_code error, std::size_t bytes) {
                                if (error) return self->failed(error.message());
                                self->on_read(bytes);
                            });
}

void Control::on_read(std::size_t bytes) {
    have_ += bytes;
    std::string_view rest(input_.data(), have_);
    while (!closed_) {
        const std::string_view frame = rest;
        const auto body = codec::take_frame(rest, max_frame_bytes);
        if (!body) return failed(not_a_relay(frame));
        if (!*body) break;
        const auto message = decode(**body);
        if (!message) return failed(message.error().message);
        listener_.on_message(*message);
    }
    if (closed_) return;
    input_.erase(0, have_ - rest.size());
    have_ = rest.size();
    read();
}

void Control::write() {
    sending_.swap(waiting_);
    boost::asio::async_write(socket_, boost::asio::buffer(sending_),
                             [self = shared_from_this()](error_code error, std::size_t) {
                                 self->sending_.clear();
                                 if (error) return self->failed(error.message());
                                 if (!self->waiting_.empty() && !self->closed_) self->write();
                             });
}

void Control::failed(const std::string& why) {
    if (closed_) return;
    close();
    listener_.on_closed(why);
}

}  // namespace holdfast::discovery::publisher
