#include "codec/peer/peer_messages.h"

#include <google/protobuf/arena.h>

#include "codec/field_writer.h"
#include "codec/peer/message_codec.h"

namespace holdfast::codec::peer {
namespace {

constexpr std::size_t max_message_bytes = max_frame_bytes - 256;  // leaves room for a ping and a pong
constexpr std::size_t arena_bytes = 64 * 1024;                    // kept from one message to the next

/// Memory for the parts of Protobuf messages, given back all at once.
class Memory {
 public:
    Memory() : room_(std::make_unique_for_overwrite<char[]>(arena_bytes)), arena_(options(room_.get())) {}

    template <class Wire>
    Wire& make() {
        return *google::protobuf::Arena::CreateMessage<Wire>(&arena_);
    }
    void give_back() { arena_.Reset(); }

 private:
    static google::protobuf::ArenaOptions options(char* room) {
        google::protobuf::ArenaOptions options;
        options.initial_block = room;
        options.initial_block_size = arena_bytes;
        return options;
    }

    std::unique_ptr<char[]> room_;
    google::protobuf::Arena arena_;
};

Error too_large(std::size_t bytes) {
    return Error{Code::too_large, "a message of " + std::to_string(bytes) + " bytes is too large for a frame"};
}

}  // namespace

struct Encoder::Impl {
    Result<void> append(const store::quorum::QuorumMessage& message, std::string& frame) {
        const std::size_t before = frame.size();
        FieldWriter(frame).nested(pb::Frame::kMessagesFieldNumber, [&] { append_message(message, frame); });
        const std::size_t bytes = frame.size() - before;
        if (bytes <= max_message_bytes) return {};
        frame.resize(before);
        return too_large(bytes);
    }

    Result<void> append(const consensus::LogMessage& message, std::string& frame) {
        pb::Message& wire = memory.make<pb::Message>();
        write(message, wire);
        const std::size_t bytes = wire.ByteSizeLong();
        const bool fits = bytes <= max_message_bytes;
        if (fits) FieldWriter(frame).nested(pb::Frame::kMessagesFieldNumber, [&] { wire.AppendToString(&frame); });
        memory.give_back();
        if (fits) return {};
        return too_large(bytes);
    }

    Memory memory;
};

Encoder::Encoder() : impl_(std::make_unique<Impl>()) {}
Encoder::~Encoder() = default;

Result<void> Encoder::append(const Message& message, std::string& frame) {
    return std::visit([&](const auto& one) { return impl_->append(one, frame); }, message);
}

Result<void> Encoder::append(const store::quorum::QuorumMessage& message, std::string& frame) {
    return impl_->append(message, frame);
}

Result<void> Encoder::append(const consensus::LogMessage& message, std::string& frame) {
    return impl_->append(message, frame);
}

void append_ping(std::uint64_t number, std::string& frame) {
    FieldWriter(frame).always(pb::Frame::kPingFieldNumber, number);
}

void append_pong(std::uint64_t number, std::string& frame) {
    FieldWriter(frame).always(pb::Frame::kPongFieldNumber, number);
}

void append_silence(std::uint64_t ms, std::string& frame) {
    FieldWriter(frame).always(pb::Frame::kSilentForMsFieldNumber, ms);
}

void append_lives(const std::vector<store::quorum::LifeMark>& lives, std::string& frame) {
    for (const store::quorum::LifeMark& life : lives)
        FieldWriter(frame).nested(pb::Frame::kLivesFieldNumber, [&] {
            FieldWriter(frame).number(pb::Life::kBootFieldNumber, life.boot);
            FieldWriter(frame).number(pb::Life::kIncarnationFieldNumber, life.incarnation);
        });
}

struct Decoder::Impl {
    Result<Frame> decode(std::string_view bytes);

    Memory memory;
};

Decoder::Decoder() : impl_(std::make_unique<Impl>()) {}
Decoder::~Decoder() = default;

namespace {

void take(const pb::Message& from, Frame& frame) {
    Check check;
    std::optional<Message> message;
    if (auto quorum = read_quorum(from, check)) {
        message.emplace(std::move(*quorum));
    } else if (auto log = read_log(from, check)) {
        message.emplace(std::move(*log));
    }
    if (!message) return;
    if (!check.fails()) return frame.messages.push_back(std::move(*message));
    if (frame.rejected++ == 0) frame.why_rejected = check.why();
}

}  // namespace

Result<Frame> Decoder::Impl::decode(std::string_view bytes) {
    pb::Frame& wire = memory.make<pb::Frame>();
    if (!wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return Error{Code::malformed, "the frame cannot be read"};
    const auto count = static_cast<std::size_t>(wire.messages_size());
    if (count > max_messages) return Error{Code::too_large, "the frame has too many messages"};
    Frame frame;
    frame.ping = wire.ping();
    frame.pong = wire.pong();
    frame.silent_for_ms = wire.silent_for_ms();
    for (const pb::Life& life : wire.lives())
        if (frame.lives.size() < max_members) frame.lives.push_back({life.boot(), life.incarnation()});
    frame.messages.reserve(count);
    for (const pb::Message& message : wire.messages())
        take(message, frame);
    return frame;
}

Result<Frame> Decoder::decode(std::string_view bytes) {
    if (bytes.size() > max_frame_bytes) return Error{Code::too_large, "the frame is too large"};
    auto frame = impl_->decode(bytes);
    impl_->memory.give_back();
    return frame;
}

}  // namespace holdfast::codec::peer
