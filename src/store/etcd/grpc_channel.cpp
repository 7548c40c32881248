#include "store/etcd/grpc_channel.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <unordered_map>

#include "net/dial.h"

namespace holdfast::store::etcd {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

namespace {

using Clock = std::chrono::steady_clock;

struct UnderWay {
    Callback<GrpcAnswer> reply;  ///< for a call
    std::string message;
    bool answered = false;
    std::unique_ptr<GrpcChannel::Stream> stream;  ///< for a stream
};

std::string host_of(std::string_view address) {
    std::string_view host = address.substr(0, address.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return std::string(host);
}

std::string port_of(std::string_view address) {
    return std::string(address.substr(address.rfind(':') + 1));
}

}  // namespace

struct GrpcChannel::Impl : std::enable_shared_from_this<Impl> {
    Impl(asio::io_context& io, Options chosen, Told listener)
        : loop(io), options(std::move(chosen)), told(std::move(listener)), socket(io), timer(io) {
        timeout = std::to_string(to_ms_up(options.answer_within)) + "m";
    }

    /// The caller limits the time (etcd_link.h).
    void connect() {
        const auto port = static_cast<std::uint16_t>(std::stoul(port_of(options.address)));
        connecting = net::dial(loop, {host_of(options.address), port}, {},
                               [self = shared_from_this()](Result<tcp::socket> made) {
                                   if (!made) return self->lose(made.error().message);
                                   self->socket = std::move(*made);
                                   self->connected();
                               });
    }

    void connected() {
        ErrorCode ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        open = true;
        read();
        told.on_open();
        flush_later();
    }

    void read() {
        socket.async_read_some(asio::buffer(incoming), [self = shared_from_this()](ErrorCode error, std::size_t size) {
            if (self->closed) return;
            if (error) return self->lose(error == asio::error::eof ? "it closed the connection" : error.message());
            self->take_in({self->incoming.data(), size});
            if (!self->closed) self->read();
        });
    }

    void take_in(std::string_view bytes) {
        session.receive(bytes);
        hand_over_all();
        flush_later();
    }

    void hand_over_all() {
        for (GrpcSession::Event& event : session.take_events()) {
            hand_over(event);
            if (closed) return;
        }
        if (session.broken()) lose(*session.broken());
    }

    void hand_over(GrpcSession::Event& event) {
        const auto found = under_way.find(event.stream);
        if (found == under_way.end()) return;
        if (!event.end) return take_message(found->second, std::move(event.message));
        UnderWay ended = std::move(found->second);
        under_way.erase(found);
        if (ended.stream) return ended.stream->on_end(*event.end);
        GrpcStatus status = std::move(*event.end);
        if (status.code == GrpcStatus::ok && !ended.answered)
            status = {GrpcStatus::internal, "it answered without a message"};
        ended.reply({std::move(status), std::move(ended.message)});
    }

    void take_message(UnderWay& one, std::string message) {
        if (one.stream) {
            const auto on_message = one.stream->on_message;  // a copy: the callback may end the stream
            return on_message(message);
        }
        one.answered = true;
        one.message = std::move(message);
    }

    /// Posted, so that calls begun in the meantime are sent together.
    void flush_later() {
        if (flushing || closed || !open) return;
        flushing = true;
        asio::post(loop, [self = shared_from_this()] {
            self->flushing = false;
            self->flush();
        });
    }

    void flush() {
        if (closed || writing) return;
        session.take_output(outgoing);
        hand_over_all();
        if (closed || outgoing.empty()) return;
        writing = true;
        asio::async_write(socket, asio::buffer(outgoing), [self = shared_from_this()](ErrorCode error, std::size_t) {
            self->writing = false;
            self->outgoing.clear();
            if (self->closed) return;
            if (error) return self->lose(error.message());
            self->flush();
        });
    }

    std::optional<GrpcSession::Stream> begin(std::string_view path, std::string_view message, bool stays_open) {
        std::vector<GrpcSession::Header> headers;
        for (const auto& [name, value] : metadata)
            headers.push_back({name, value});
        if (!stays_open) headers.push_back({"grpc-timeout", timeout});
        const auto stream = session.begin({options.address, path, headers, message, stays_open});
        flush_later();
        return stream;
    }

    void refuse(Callback<GrpcAnswer> reply, GrpcStatus status) {
        refused.emplace_back(std::move(reply), std::move(status));
        asio::post(loop, [self = shared_from_this()] {
            if (!self->silent) self->answer_refused();
        });
    }

    void answer_refused() {
        for (auto& [reply, status] : std::exchange(refused, {}))
            reply({std::move(status), {}});
    }

    void watch_deadlines() {
        while (!deadlines.empty() && !under_way.contains(deadlines.front().second))
            deadlines.pop_front();
        if (deadlines.empty() || waiting || closed) return;
        waiting = true;
        timer.expires_at(deadlines.front().first);
        timer.async_wait([self = shared_from_this()](ErrorCode cancelled) {
            self->waiting = false;
            if (!cancelled && !self->closed) self->give_up_overdue();
        });
    }

    void give_up_overdue() {
        const auto now = Clock::now();
        while (!closed && !deadlines.empty() && deadlines.front().first <= now) {
            const auto found = under_way.find(deadlines.front().second);
            deadlines.pop_front();
            if (found == under_way.end()) continue;
            session.cancel(found->first);
            UnderWay late = std::move(found->second);
            under_way.erase(found);
            late.reply({{GrpcStatus::deadline_exceeded, "no answer in time"}, {}});
        }
        flush_later();
        watch_deadlines();
    }

    void lose(const std::string& why) {
        if (closed) return;
        const auto on_lost = told.on_lost;
        shut();
        if (!silent) on_lost(why);
        answer_all(why);
    }

    void shut() {
        closed = true;
        net::cancel(connecting);
        timer.cancel();
        ErrorCode ignored;
        socket.close(ignored);
    }

    void answer_all(const std::string& why) {
        answer_refused();
        auto orphans = std::exchange(under_way, {});
        for (auto& [stream, one] : orphans) {
            if (silent) return;
            if (one.stream)
                one.stream->on_end({GrpcStatus::unavailable, why});
            else
                one.reply({{GrpcStatus::unavailable, why}, {}});
        }
    }

    asio::io_context& loop;
    Options options;
    Told told;
    std::string timeout;
    std::weak_ptr<net::Attempt> connecting;
    tcp::socket socket;
    asio::steady_timer timer;
    GrpcSession session;
    std::vector<std::pair<std::string, std::string>> metadata;
    std::unordered_map<GrpcSession::Stream, UnderWay> under_way;
    std::vector<std::pair<Callback<GrpcAnswer>, GrpcStatus>> refused;
    std::deque<std::pair<Clock::time_point, GrpcSession::Stream>> deadlines;  ///< may include answered calls
    std::array<char, 65536> incoming{};
    std::string outgoing;
    bool open = false, writing = false, flushing = false, waiting = false;
    bool closed = false;
    bool silent = false;  ///< no callbacks any more
};

GrpcChannel::GrpcChannel(asio::io_context& loop, Options options, Told told)
    : impl_(std::make_shared<Impl>(loop, std::move(options), std::move(told))) {
    asio::post(loop, [impl = impl_] {
        if (!impl->closed) impl->connect();
    });
}

GrpcChannel::~GrpcChannel() {
    impl_->silent = true;
    impl_->shut();
}

void GrpcChannel::set_metadata(std::vector<std::pair<std::string, std::string>> metadata) {
    impl_->metadata = std::move(metadata);
}

void GrpcChannel::call(std::string_view path, std::string_view message, Callback<GrpcAnswer> reply) {
    Impl& impl = *impl_;
    if (impl.closed) return impl.refuse(std::move(reply), {GrpcStatus::unavailable, "there is no connection"});
    if (impl.under_way.size() >= impl.options.max_calls ||
        impl.session.unsent_bytes() + impl.outgoing.size() + message.size() > impl.options.max_unsent_bytes)
        return impl.refuse(std::move(reply), {GrpcStatus::resource_exhausted, "too much is under way"});
    const auto stream = impl.begin(path, message, false);
    if (!stream) {
        impl.refuse(std::move(reply), {GrpcStatus::unavailable, "the connection is used up"});
        return asio::post(impl.loop, [impl = impl_] { impl->lose("it is used up"); });
    }
    impl.under_way[*stream].reply = std::move(reply);
    impl.deadlines.emplace_back(Clock::now() + impl.options.answer_within, *stream);
    impl.watch_deadlines();
}

void GrpcChannel::stream(std::string_view path, std::string_view message, Stream stream) {
    if (impl_->closed) return;
    if (const auto id = impl_->begin(path, message, true))
        impl_->under_way[*id].stream = std::make_unique<Stream>(std::move(stream));
}

void GrpcChannel::close(const std::string& why) {
    const auto impl = impl_;
    impl->shut();
    impl->answer_all(why);
}

}  // namespace holdfast::store::etcd
