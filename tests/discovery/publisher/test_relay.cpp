#include "discovery/publisher/test_relay.h"

#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <future>

#include "base/clock.h"
#include "codec/frame.h"
#include "discovery/publisher/splice.h"

namespace holdfast::discovery::publisher {

using boost::asio::ip::tcp;
using boost::system::error_code;

TestRelay::TestRelay() : acceptor_(loop_, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    port_ = acceptor_.local_endpoint().port();
    accept();
    thread_ = std::thread([this] { loop_.run(); });
}

TestRelay::~TestRelay() {
    loop_.stop();
    thread_.join();
}

void TestRelay::with(const std::function<void(ScriptedRelay&)>& function) {
    std::promise<void> done;
    boost::asio::post(loop_, [&] {
        function(relay_);
        done.set_value();
    });
    done.get_future().get();
}

void TestRelay::send_elsewhere(const std::string& relay) {
    with([&](ScriptedRelay&) { elsewhere_ = relay; });
}

void TestRelay::restart() {
    with([&](ScriptedRelay& relay) {
        for (auto& [connection, control] : publishers_)
            control->close();
        publishers_.clear();
        relay.restart();
    });
}

void TestRelay::accept() {
    acceptor_.async_accept([this](error_code error, Socket socket) {
        if (error) return;
        greet(std::make_shared<Socket>(std::move(socket)));
        accept();
    });
}

/// Reads the first frame and not a byte more.
void TestRelay::greet(std::shared_ptr<Socket> socket) {
    const auto bytes = std::make_shared<std::string>(codec::frame_header_bytes, '\0');
    boost::asio::async_read(*socket, boost::asio::buffer(*bytes), [this, socket, bytes](error_code error, std::size_t) {
        if (error) return;
        const std::size_t size =
            static_cast<unsigned char>((*bytes)[2]) * 256U + static_cast<unsigned char>((*bytes)[3]);
        bytes->resize(size);
        boost::asio::async_read(*socket, boost::asio::buffer(*bytes),
                                [this, socket, bytes](error_code failed, std::size_t) {
                                    const auto message = decode(*bytes);
                                    if (!failed && message) begin(socket, *message);
                                });
    });
}

void TestRelay::begin(const std::shared_ptr<Socket>& socket, const Message& first) {
    if (std::holds_alternative<PublisherHello>(first)) publish(socket);
    if (const auto* request = std::get_if<StreamRequest>(&first)) offer(socket, request->name);
    if (const auto* accepted = std::get_if<StreamAccept>(&first)) join(socket, accepted->ticket);
}

void TestRelay::publish(const std::shared_ptr<Socket>& socket) {
    const std::uint64_t connection = ++connections_;
    const auto control = std::make_shared<Control>(
        std::move(*socket), Control::Listener{[this, connection](const Message& message) { hear(connection, message); },
                                              [this, connection](const std::string&) {
                                                  relay_.connection_closed(connection);
                                                  publishers_.erase(connection);
                                                  registered_ = relay_.leases.size();
                                              }});
    publishers_[connection] = control;
    control->start();
    control->send(relay_.hello(holder_clock_now()));
}

void TestRelay::hear(std::uint64_t connection, const Message& message) {
    if (const auto* update = std::get_if<SignedUpdate>(&message)) {
        const UpdateResponse answer = relay_.answer(*update, connection, holder_clock_now());
        registered_ = relay_.leases.size();  // before anybody can know of it
        publishers_[connection]->send(answer);
    }
    if (const auto* refused = std::get_if<StreamRefused>(&message))
        if (const auto consumer = waiting_.extract(refused->ticket))
            fail(consumer.mapped(), {.code = Code::refused, .message = refused->message});
}

void TestRelay::offer(const std::shared_ptr<Socket>& consumer, const std::string& name) {
    if (!elsewhere_.empty()) return fail(consumer, {.code = Code::elsewhere, .relay = elsewhere_});
    const auto found = relay_.leases.find(name);
    if (found == relay_.leases.end())
        return fail(consumer, {.code = Code::unknown_service, .message = "no such service"});
    std::string ticket = std::to_string(++connections_);
    ticket.resize(ticket_bytes, '.');
    waiting_[ticket] = consumer;
    publishers_[found->second.connection]->send(StreamOffer{ticket, name, "somewhere"});
}

void TestRelay::join(const std::shared_ptr<Socket>& data, const std::string& ticket) {
    const auto consumer = waiting_.extract(ticket);
    if (!consumer) return fail(data, {.code = Code::unknown_ticket});
    std::string opened;
    append_frame(StreamOpened{}, opened);
    for (const auto& socket : {consumer.mapped(), data})
        boost::asio::write(*socket, boost::asio::buffer(opened));
    splice(std::move(*consumer.mapped()), std::move(*data), [] {});
}

void TestRelay::fail(const std::shared_ptr<Socket>& socket, const StreamFailed& why) {
    std::string frame;
    append_frame(why, frame);
    error_code ignored;
    boost::asio::write(*socket, boost::asio::buffer(frame), ignored);
    socket->close(ignored);
}

}  // namespace holdfast::discovery::publisher
