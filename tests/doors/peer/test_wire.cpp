#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <list>

#include "doors/peer/members.h"
#include "doors/peer/peer_fixture.h"
#include "net/listener.h"

namespace holdfast::doors::peer {
namespace {

using boost::asio::ip::tcp;

tcp::endpoint endpoint_of(const std::string& address) {
    const auto split = split_address(address);
    return {boost::asio::ip::make_address(split->host), static_cast<std::uint16_t>(std::stoul(split->port))};
}

}  // namespace

struct TestWire::Impl : std::enable_shared_from_this<Impl> {
    /// One connection: two sockets, and what goes from one to the other.
    struct Pair : std::enable_shared_from_this<Pair> {
        Pair(Impl& impl_given, tcp::socket from_given) : impl(impl_given), from(std::move(from_given)), to(impl.loop) {}

        void begin(const std::string& target) {
            from.set_option(tcp::no_delay(true));
            to.async_connect(endpoint_of(target), [self = shared_from_this()](boost::system::error_code error) {
                if (error) return self->close();
                self->to.set_option(tcp::no_delay(true));
                self->pass(Way::there);
                self->pass(Way::back);
            });
        }
        void pass(Way way) {
            const auto buffer = std::make_shared<std::string>(65536, '\0');
            source(way).async_read_some(
                boost::asio::buffer(*buffer),
                [self = shared_from_this(), buffer, way](boost::system::error_code error, std::size_t bytes) {
                    if (error == boost::asio::error::eof) return self->end(way);
                    if (error) return self->close();
                    buffer->resize(bytes);
                    self->write(way, buffer);
                });
        }
        void write(Way way, const std::shared_ptr<std::string>& buffer) {
            if (frozen[static_cast<std::size_t>(way)]) return;
            if (impl.change) impl.change(way, *buffer);
            boost::asio::async_write(
                target(way), boost::asio::buffer(*buffer),
                [self = shared_from_this(), buffer, way](boost::system::error_code error, std::size_t) {
                    if (error) return self->close();
                    self->pass(way);
                });
        }
        void end(Way way) {
            if (lost) return;
            boost::system::error_code ignored;
            target(way).shutdown(tcp::socket::shutdown_send, ignored);
            if (++ended == 2) close();
        }
        void close() {
            if (lost) return;
            boost::system::error_code ignored;
            from.close(ignored);
            to.close(ignored);
        }
        tcp::socket& source(Way way) { return way == Way::there ? from : to; }
        tcp::socket& target(Way way) { return way == Way::there ? to : from; }

        Impl& impl;
        tcp::socket from, to;
        bool frozen[2] = {false, false};
        bool lost = false;
        int ended = 0;
    };

    explicit Impl(boost::asio::io_context& loop_given)
        : loop(loop_given), listener(loop, [this](tcp::socket socket) { accepted(std::move(socket)); }) {}

    void accepted(tcp::socket socket) {
        ++count;
        if (target.empty()) return;
        pairs.push_back(std::make_shared<Pair>(*this, std::move(socket)));
        pairs.back()->begin(target);
    }

    boost::asio::io_context& loop;
    net::Listener listener;
    std::string address, target;
    std::function<void(Way, std::string&)> change;
    std::list<std::shared_ptr<Pair>> pairs;
    std::size_t count = 0;
};

TestWire::TestWire(boost::asio::io_context& loop, std::string target) : impl_(std::make_shared<Impl>(loop)) {
    impl_->target = std::move(target);
    impl_->address = net::text_of(*impl_->listener.listen("127.0.0.1:0"));
}

TestWire::~TestWire() {
    impl_->listener.close();
    for (const auto& pair : impl_->pairs)
        pair->lost = false;
    cut();
}

const std::string& TestWire::address() const {
    return impl_->address;
}

void TestWire::lead_to(std::string target) {
    impl_->target = std::move(target);
}

void TestWire::change(std::function<void(Way, std::string&)> change) {
    impl_->change = std::move(change);
}

void TestWire::freeze(Way way) {
    for (const auto& pair : impl_->pairs)
        pair->frozen[static_cast<std::size_t>(way)] = true;
}

void TestWire::half_close(Way way) {
    for (const auto& pair : impl_->pairs) {
        boost::system::error_code ignored;
        pair->target(way).shutdown(tcp::socket::shutdown_send, ignored);
    }
}

void TestWire::cut() {
    for (const auto& pair : impl_->pairs)
        pair->close();
}

void TestWire::lose_sight() {
    freeze(Way::there);
    freeze(Way::back);
    for (const auto& pair : impl_->pairs)
        pair->lost = true;
}

std::size_t TestWire::accepted() const {
    return impl_->count;
}

struct TestStranger::Impl : std::enable_shared_from_this<Impl> {
    explicit Impl(boost::asio::io_context& loop) : socket(loop) {}

    void read() {
        socket.async_read_some(boost::asio::buffer(buffer),
                               [self = shared_from_this()](boost::system::error_code error, std::size_t bytes) {
                                   if (error) {
                                       self->closed = true;
                                       return;
                                   }
                                   self->received.append(self->buffer, bytes);
                                   self->read();
                               });
    }

    tcp::socket socket;
    char buffer[4096];
    std::string received;
    bool closed = false;
};

TestStranger::TestStranger(boost::asio::io_context& loop, const std::string& address)
    : impl_(std::make_shared<Impl>(loop)) {
    impl_->socket.connect(endpoint_of(address));
    impl_->read();
}

TestStranger::~TestStranger() {
    boost::system::error_code ignored;
    impl_->socket.close(ignored);
}

void TestStranger::send(std::string_view bytes) {
    boost::system::error_code ignored;
    boost::asio::write(impl_->socket, boost::asio::buffer(bytes), ignored);
}

const std::string& TestStranger::received() const {
    return impl_->received;
}

bool TestStranger::closed() const {
    return impl_->closed;
}

}  // namespace holdfast::doors::peer
