#include "store/etcd/grpc_session.h"

#include <algorithm>
#include <cstring>
#include <nghttp2/nghttp2.h>
#include <unordered_map>

#include "base/assert.h"
#include "base/text.h"

namespace holdfast::store::etcd {
namespace {

constexpr std::size_t prefix_bytes = 5;  // a compression flag and a length
constexpr std::size_t max_text_bytes = 1024;
constexpr std::int32_t window_bytes = 64 << 20;
constexpr std::uint32_t stream_window_bytes = 16 << 20;

std::string framed(std::string_view message) {
    std::string out;
    out.reserve(prefix_bytes + message.size());
    out += '\0';
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(message.size() >> shift & 0xff);
    return out += message;
}

std::size_t length_in(std::string_view prefix) {
    std::size_t length = 0;
    for (const char c : prefix.substr(1, 4))
        length = length << 8 | static_cast<unsigned char>(c);
    return length;
}

/// Makes text from the server safe for a message.
std::string presentable(std::string_view text) {
    std::string out(text.substr(0, max_text_bytes));
    if (!is_utf8(out)) return "(unreadable)";
    std::replace_if(
        out.begin(), out.end(),
        [](char c) {
            return has_control_characters({&c, 1});
        },
        ' ');
    return out;
}

nghttp2_nv pair_of(const GrpcSession::Header& header, bool lasting) {
    const auto bytes = [](std::string_view text) {
        return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
    };
    const std::uint8_t flags = lasting ? NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE : 0;
    return {bytes(header.name), bytes(header.value), header.name.size(), header.value.size(), flags};
}

struct Conversation {
    std::string out;
    std::size_t sent = 0;
    bool stays_open = false;

    std::string in;
    int http_status = 0;
    std::optional<int> grpc_status;
    std::string grpc_message;
    std::optional<GrpcStatus> failure;  ///< detected here; overrides the server's status
};

}  // namespace

struct GrpcSession::Impl {
    explicit Impl(GrpcLimits most) : limits(most) {
        nghttp2_session_callbacks* callbacks = nullptr;
        HOLDFAST_ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
        HOLDFAST_ASSERT(nghttp2_session_client_new(&session, callbacks, this) == 0);
        nghttp2_session_callbacks_del(callbacks);
        const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                                   {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, stream_window_bytes}};
        nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
        nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, window_bytes);
    }
    ~Impl() { nghttp2_session_del(session); }

    static Impl& of(void* user) { return *static_cast<Impl*>(user); }

    Conversation* find(Stream stream) {
        const auto found = conversations.find(stream);
        return found == conversations.end() ? nullptr : found->second.get();
    }

    void break_off(std::string why) {
        if (!broken) broken = std::move(why);
    }

    /// On a protocol violation nghttp2 sends GOAWAY itself, and then wants to read nothing more.
    void notice_end() {
        if (nghttp2_session_want_read(session) != 0) return;
        break_off("this is not HTTP/2: " + (last_error.empty() ? "it breaks the protocol" : last_error));
    }

    static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                         const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
        Conversation* conversation = of(user).find(frame->hd.stream_id);
        if (conversation == nullptr) return 0;
        const std::string_view key(reinterpret_cast<const char*>(name), name_size);
        const std::string_view text(reinterpret_cast<const char*>(value), value_size);
        if (key == ":status") conversation->http_status = static_cast<int>(parse_number(text).value_or(0) % 1000);
        if (key == "grpc-status")
            conversation->grpc_status = static_cast<int>(std::min<std::uint64_t>(parse_number(text).value_or(2), 99));
        if (key == "grpc-message")
            conversation->grpc_message = presentable(percent_decode(text).value_or(std::string(text)));
        return 0;
    }

    static int on_data(nghttp2_session*, std::uint8_t, Stream stream, const std::uint8_t* data, std::size_t size,
                       void* user) {
        Impl& self = of(user);
        Conversation* conversation = self.find(stream);
        if (conversation == nullptr || conversation->failure) return 0;
        conversation->in.append(reinterpret_cast<const char*>(data), size);
        self.buffered += size;
        self.take_messages(stream, *conversation);
        if (self.buffered > self.limits.buffered_bytes) self.break_off("it sends more than there is room for");
        return 0;
    }

    void take_messages(Stream stream, Conversation& conversation) {
        std::string_view rest = conversation.in;
        while (rest.size() >= prefix_bytes) {
            const std::size_t length = length_in(rest);
            if (rest[0] != 0 || length > limits.message_bytes) {
                conversation.failure = {GrpcStatus::internal,
                                        rest[0] != 0 ? "the answer is compressed" : "the answer is too long"};
                nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
                rest = {};
                break;
            }
            if (rest.size() < prefix_bytes + length) break;
            events.push_back({stream, std::string(rest.substr(prefix_bytes, length)), std::nullopt});
            rest.remove_prefix(prefix_bytes + length);
        }
        buffered -= conversation.in.size() - rest.size();
        conversation.in.erase(0, conversation.in.size() - rest.size());
    }

    static int on_frame(nghttp2_session* http2, const nghttp2_frame* frame, void* user) {
        const Conversation* conversation = of(user).find(frame->hd.stream_id);
        const bool ends = (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
                          (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
        // The server has ended the stream, so nothing more needs to be sent.
        if (ends && conversation != nullptr && conversation->stays_open)
            nghttp2_submit_rst_stream(http2, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_CANCEL);
        // Do not wait for its outstanding replies: it is shutting down, and another member is not.
        if (frame->hd.type == NGHTTP2_GOAWAY) of(user).break_off("it says goodbye");
        return 0;
    }

    static int on_close(nghttp2_session*, Stream stream, std::uint32_t error, void* user) {
        Impl& self = of(user);
        const auto found = self.conversations.find(stream);
        if (found == self.conversations.end()) return 0;
        Conversation& conversation = *found->second;
        self.events.push_back({stream, {}, how_it_ended(conversation, error)});
        self.forget(found);
        return 0;
    }

    static GrpcStatus how_it_ended(const Conversation& conversation, std::uint32_t error) {
        if (conversation.failure) return *conversation.failure;
        if (conversation.grpc_status) {
            if (*conversation.grpc_status == GrpcStatus::ok && !conversation.in.empty())
                return {GrpcStatus::internal, "the answer ends in the middle"};
            return {*conversation.grpc_status, conversation.grpc_message};
        }
        if (error != NGHTTP2_NO_ERROR)
            return {GrpcStatus::unavailable, std::string("the stream was reset: ") + nghttp2_http2_strerror(error)};
        if (conversation.http_status != 200)
            return {GrpcStatus::unknown, "it answered with HTTP status " + std::to_string(conversation.http_status)};
        return {GrpcStatus::unknown, "it answered without a grpc-status"};
    }

    static int on_error(nghttp2_session*, int, const char* text, std::size_t size, void* user) {
        of(user).last_error = presentable({text, size});
        return 0;
    }

    static ssize_t read_out(nghttp2_session*, Stream, std::uint8_t* buffer, std::size_t size, std::uint32_t* flags,
                            nghttp2_data_source* source, void* user) {
        auto& conversation = *static_cast<Conversation*>(source->ptr);
        const std::size_t part = std::min(size, conversation.out.size() - conversation.sent);
        if (part == 0 && conversation.stays_open) return NGHTTP2_ERR_DEFERRED;
        std::memcpy(buffer, conversation.out.data() + conversation.sent, part);
        conversation.sent += part;
        of(user).unsent -= part;
        if (conversation.sent == conversation.out.size() && !conversation.stays_open) *flags |= NGHTTP2_DATA_FLAG_EOF;
        return static_cast<ssize_t>(part);
    }

    using Conversations = std::unordered_map<Stream, std::unique_ptr<Conversation>>;
    void forget(Conversations::iterator at) {
        unsent -= at->second->out.size() - at->second->sent;
        buffered -= at->second->in.size();
        conversations.erase(at);
    }

    GrpcLimits limits;
    nghttp2_session* session = nullptr;
    Conversations conversations;
    std::vector<Event> events;
    std::size_t unsent = 0, buffered = 0;
    std::string last_error;
    std::optional<std::string> broken;
};

GrpcSession::GrpcSession(GrpcLimits limits) : impl_(std::make_unique<Impl>(limits)) {}

GrpcSession::~GrpcSession() = default;

std::optional<GrpcSession::Stream> GrpcSession::begin(const Request& request) {
    std::vector<nghttp2_nv> headers{
        pair_of({":method", "POST"}, true),      pair_of({":scheme", "http"}, true),
        pair_of({":path", request.path}, false), pair_of({":authority", request.authority}, false),
        pair_of({"te", "trailers"}, true),       pair_of({"content-type", "application/grpc"}, true)};
    for (const Header& header : request.metadata)
        headers.push_back(pair_of(header, false));
    auto conversation = std::make_unique<Conversation>();
    conversation->out = framed(request.message);
    conversation->stays_open = request.stays_open;
    nghttp2_data_provider body{};
    body.source.ptr = conversation.get();
    body.read_callback = Impl::read_out;
    const Stream stream =
        nghttp2_submit_request(impl_->session, nullptr, headers.data(), headers.size(), &body, nullptr);
    if (stream < 0) return std::nullopt;
    impl_->unsent += conversation->out.size();
    impl_->conversations.emplace(stream, std::move(conversation));
    return stream;
}

void GrpcSession::cancel(Stream stream) {
    const auto found = impl_->conversations.find(stream);
    if (found == impl_->conversations.end()) return;
    // nghttp2 may still ask for the body before it sends the reset, so the conversation stays until the stream is
    // closed.
    found->second->failure = GrpcStatus{GrpcStatus::deadline_exceeded, "cancelled"};
    nghttp2_submit_rst_stream(impl_->session, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
}

void GrpcSession::take_output(std::string& out) {
    while (!impl_->broken) {
        const std::uint8_t* data = nullptr;
        const ssize_t size = nghttp2_session_mem_send(impl_->session, &data);
        if (size < 0) return impl_->break_off(nghttp2_strerror(static_cast<int>(size)));
        if (size == 0) return impl_->notice_end();
        out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
}

std::size_t GrpcSession::unsent_bytes() const {
    return impl_->unsent;
}

void GrpcSession::receive(std::string_view bytes) {
    const ssize_t taken =
        nghttp2_session_mem_recv(impl_->session, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (taken < 0) impl_->break_off("this is not HTTP/2: " + std::string(nghttp2_strerror(static_cast<int>(taken))));
}

std::vector<GrpcSession::Event> GrpcSession::take_events() {
    return std::exchange(impl_->events, {});
}

const std::optional<std::string>& GrpcSession::broken() const {
    return impl_->broken;
}

}  // namespace holdfast::store::etcd
