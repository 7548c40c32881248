#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <nghttp2/nghttp2.h>
#include <string>
#include <vector>

namespace holdfast::store::etcd {

/// What a call is answered with, and in which of the ways that a server might get wrong.
struct FakeAnswer {
    std::string body;          ///< as it is sent, with whatever stands for the prefix
    std::string status = "0";  ///< empty: no grpc-status
    std::string text = {};     ///< the grpc-message
    bool trailers_only = false;
    std::string http_status = "200";
    bool reset = false;
    bool goodbye = false;
    bool silent = false;
    bool stays_open = false;  ///< after the body

    static std::string framed(const std::string& message) {
        std::string out(5, '\0');
        for (std::size_t i = 0; i < 4; ++i)
            out[4 - i] = static_cast<char>(message.size() >> (8 * i) & 0xff);
        return out + message;
    }
};

/// A server of gRPC that says what a test wants it to say, on a loop.
class FakeGrpcServer {
    using tcp = boost::asio::ip::tcp;

 public:
    using Handler = std::function<FakeAnswer(const std::string& path, const std::string& message)>;

    FakeGrpcServer(boost::asio::io_context& io, Handler handler)
        : handler_(std::move(handler)), acceptor_(io, {boost::asio::ip::address_v4::loopback(), 0}) {
        port_ = acceptor_.local_endpoint().port();
        accept();
    }
    ~FakeGrpcServer() {
        for (const auto& peer : peers_) {
            boost::system::error_code ignored;
            peer->socket.close(ignored);
        }
    }
    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

    std::vector<std::map<std::string, std::string>> headers;  ///< of all calls so far
    int pieces = 0;                                           ///< that came from the socket

 private:
    struct Stream {
        std::map<std::string, std::string> headers;
        std::string in;
        FakeAnswer answer;
        std::size_t sent = 0;
    };
    struct Peer {
        Peer(FakeGrpcServer& server, tcp::socket connected) : owner(server), socket(std::move(connected)) {}
        ~Peer() { nghttp2_session_del(session); }
        FakeGrpcServer& owner;
        tcp::socket socket;
        nghttp2_session* session = nullptr;
        std::map<std::int32_t, Stream> streams;
        std::array<char, 65536> buffer{};
        std::string out;
    };

    void accept() {
        acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
            if (error) return;
            auto peer = std::make_shared<Peer>(*this, std::move(socket));
            nghttp2_session_callbacks* callbacks = nullptr;
            nghttp2_session_callbacks_new(&callbacks);
            nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
            nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
            nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
            nghttp2_session_server_new(&peer->session, callbacks, peer.get());
            nghttp2_session_callbacks_del(callbacks);
            const nghttp2_settings_entry room[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 24}};
            nghttp2_submit_settings(peer->session, NGHTTP2_FLAG_NONE, room, 1);
            nghttp2_session_set_local_window_size(peer->session, NGHTTP2_FLAG_NONE, 0, 1 << 24);
            peers_.push_back(peer);
            flush(peer);
            read(peer);
            accept();
        });
    }
    void read(const std::shared_ptr<Peer>& peer) {
        peer->socket.async_read_some(boost::asio::buffer(peer->buffer), [this, peer](boost::system::error_code error,
                                                                                     std::size_t size) {
            if (error) return;
            ++pieces;
            nghttp2_session_mem_recv(peer->session, reinterpret_cast<const std::uint8_t*>(peer->buffer.data()), size);
            flush(peer);
            read(peer);
        });
    }
    static void flush(const std::shared_ptr<Peer>& peer) {
        if (!peer->out.empty()) return;  // what is being written is followed by the rest
        const std::uint8_t* data = nullptr;
        for (ssize_t size = nghttp2_session_mem_send(peer->session, &data); size > 0;
             size = nghttp2_session_mem_send(peer->session, &data))
            peer->out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
        if (peer->out.empty()) return;
        boost::asio::async_write(peer->socket, boost::asio::buffer(peer->out),
                                 [peer](boost::system::error_code error, std::size_t) {
                                     peer->out.clear();
                                     if (!error) flush(peer);
                                 });
    }

    static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                         const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
        static_cast<Peer*>(user)
            ->streams[frame->hd.stream_id]
            .headers[std::string(reinterpret_cast<const char*>(name), name_size)] =
            std::string(reinterpret_cast<const char*>(value), value_size);
        return 0;
    }
    static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                       void* user) {
        static_cast<Peer*>(user)->streams[id].in.append(reinterpret_cast<const char*>(data), size);
        return 0;
    }
    /// Answers a call once all of it is here, and a stream once its first message is.
    static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
        Peer& peer = *static_cast<Peer*>(user);
        if (frame->hd.type != NGHTTP2_DATA) return 0;
        const std::int32_t id = frame->hd.stream_id;
        Stream& stream = peer.streams[id];
        if (!stream.headers.contains(":path") || !has_message(stream.in)) return 0;
        peer.owner.headers.push_back(stream.headers);
        stream.answer =
            peer.owner.handler_(stream.headers[":path"], stream.in.substr(std::min<std::size_t>(5, stream.in.size())));
        stream.headers.clear();
        peer.owner.reply(peer, id, stream);
        return 0;
    }
    static bool has_message(const std::string& in) {
        if (in.size() < 5) return false;
        std::size_t length = 0;
        for (std::size_t i = 1; i < 5; ++i)
            length = length << 8 | static_cast<unsigned char>(in[i]);
        return in.size() >= 5 + length;
    }
    void reply(Peer& peer, std::int32_t id, Stream& stream) {
        const FakeAnswer& answer = stream.answer;
        if (answer.goodbye) nghttp2_submit_goaway(peer.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR, nullptr, 0);
        if (answer.reset) nghttp2_submit_rst_stream(peer.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
        if (answer.silent || answer.reset) return;
        static const std::string type = "application/grpc";
        std::vector<nghttp2_nv> pairs{pair(":status", answer.http_status), pair("content-type", type)};
        if (answer.trailers_only) {
            pairs.push_back(pair("grpc-status", answer.status));
            pairs.push_back(pair("grpc-message", answer.text));
            nghttp2_submit_response(peer.session, id, pairs.data(), pairs.size(), nullptr);
            return;
        }
        nghttp2_data_provider body{};
        body.source.ptr = &stream;
        body.read_callback = read_body;
        nghttp2_submit_response(peer.session, id, pairs.data(), pairs.size(), &body);
    }
    static ssize_t read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* buffer, std::size_t size,
                             std::uint32_t* flags, nghttp2_data_source* source, void*) {
        Stream& stream = *static_cast<Stream*>(source->ptr);
        const std::size_t part = std::min(size, stream.answer.body.size() - stream.sent);
        std::memcpy(buffer, stream.answer.body.data() + stream.sent, part);
        stream.sent += part;
        if (stream.sent < stream.answer.body.size()) return static_cast<ssize_t>(part);
        if (stream.answer.stays_open && part == 0) return NGHTTP2_ERR_DEFERRED;
        if (stream.answer.stays_open) return static_cast<ssize_t>(part);
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (stream.answer.status.empty()) return static_cast<ssize_t>(part);
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const nghttp2_nv trailers[] = {pair("grpc-status", stream.answer.status),
                                       pair("grpc-message", stream.answer.text)};
        nghttp2_submit_trailer(session, id, trailers, 2);
        return static_cast<ssize_t>(part);
    }
    static nghttp2_nv pair(const char* name, const std::string& value) {
        const auto bytes = [](const char* text) { return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text)); };
        return {bytes(name), bytes(value.data()), std::strlen(name), value.size(), NGHTTP2_NV_FLAG_NONE};
    }

    Handler handler_;
    tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    std::vector<std::shared_ptr<Peer>> peers_;
};

}  // namespace holdfast::store::etcd
