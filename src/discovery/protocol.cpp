#include "discovery/protocol.h"

#include <limits>

#include "codec/check.h"
#include "codec/frame.h"
#include "discovery.pb.h"

namespace holdfast::discovery {
namespace {

// Limits of the wire format. They are wider than those of an advertisement, so that the directory can say which of its
// rules a publisher has broken.
constexpr std::size_t max_name_bytes = 4096;
constexpr std::size_t max_address_bytes = 512;
constexpr std::size_t max_message_bytes = 4096;
constexpr std::size_t max_key_bytes = 256;  ///< for public keys and signatures
constexpr std::size_t max_list = 1024;
constexpr std::uint64_t token_limit = 1ULL << 53;  ///< G3
constexpr std::int64_t time_ms_limit = 1LL << 53;  ///< so that times can be added without overflow
constexpr Duration max_time = 49 * 24h;            ///< the longest remaining time of a lease; fits in 32 bits

constexpr std::string_view granted = "ok";  ///< the code of a response that refuses nothing

class Check : public codec::Check {
 public:
    /// Moves the text if it is within the limit.
    void text(std::string& from, std::size_t most, std::string& to) {
        if (that(from.size() <= most, "a text is too long")) to = std::move(from);
    }
    Error error() const { return {Code::malformed, why()}; }
};

/// Clamped to the range of the wire format.
std::uint32_t to_wire_ms(Duration duration) {
    if (duration <= Duration{0}) return 0;
    return static_cast<std::uint32_t>(to_ms(std::min(duration, max_time)));
}

Duration from_wire_ms(std::uint32_t ms, Check& check) {
    const Duration duration = std::chrono::milliseconds{ms};
    check.that(duration <= max_time, "a time is out of range");
    return duration;
}

// ---- writing ----

void write(const PublisherHello& hello, pb::RelayMessage& to) {
    to.mutable_publisher_hello()->set_version(hello.version);
    to.mutable_publisher_hello()->set_knows_may_retry(hello.knows_may_retry);
}

void write(const RelayHello& hello, pb::RelayMessage& to) {
    to.mutable_relay_hello()->set_version(hello.version);
    to.mutable_relay_hello()->set_relay(hello.relay);
    to.mutable_relay_hello()->set_time_ms(hello.time_ms);
}

void write(const SignedUpdate& update, pb::RelayMessage& to) {
    pb::SignedUpdate& wire = *to.mutable_update();
    wire.set_request(update.request);
    wire.set_public_key(update.public_key);
    wire.set_signature(update.signature);
    wire.set_number(update.number);
}

void write(const UpdateResponse& response, pb::RelayMessage& to) {
    pb::LeaseUpdateResponse& wire = *to.mutable_response();
    wire.set_number(response.number);
    wire.set_code(std::string(response.refused ? response.refused->name() : granted));
    wire.set_message(response.message);
    wire.set_name(response.name);
    wire.set_token(response.token);
    wire.set_ttl_ms(to_wire_ms(response.ttl));
    wire.set_expires_in_ms(to_wire_ms(response.expires_in));
    wire.set_renew_in_ms(to_wire_ms(response.renew_in));
    wire.set_time_ms(response.time_ms);
    wire.set_relay(response.relay);
    wire.set_retry_in_ms(to_wire_ms(response.retry_in));
}

void write(const StreamOffer& offer, pb::RelayMessage& to) {
    to.mutable_offer()->set_ticket(offer.ticket);
    to.mutable_offer()->set_name(offer.name);
    to.mutable_offer()->set_consumer(offer.consumer);
}

void write(const StreamRefused& refused, pb::RelayMessage& to) {
    to.mutable_refused()->set_ticket(refused.ticket);
    to.mutable_refused()->set_message(refused.message);
    to.mutable_refused()->set_not_held(refused.not_held);
}

void write(const Withdrawn& withdrawn, pb::RelayMessage& to) {
    to.mutable_withdrawn()->set_name(withdrawn.name);
    to.mutable_withdrawn()->set_token(withdrawn.token);
    to.mutable_withdrawn()->set_code(std::string(withdrawn.code.name()));
    to.mutable_withdrawn()->set_message(withdrawn.message);
}

void write(const MayRetry& may_retry, pb::RelayMessage& to) {
    to.mutable_may_retry()->set_name(may_retry.name);
    to.mutable_may_retry()->set_within_ms(to_wire_ms(may_retry.within));
}

void write(const StreamRequest& request, pb::RelayMessage& to) {
    to.mutable_request()->set_version(request.version);
    to.mutable_request()->set_name(request.name);
}

void write(const StreamAccept& accept, pb::RelayMessage& to) {
    to.mutable_accept()->set_version(accept.version);
    to.mutable_accept()->set_ticket(accept.ticket);
}

void write(const StreamOpened&, pb::RelayMessage& to) {
    to.mutable_opened();
}

void write(const StreamFailed& failed, pb::RelayMessage& to) {
    to.mutable_failed()->set_code(std::string(failed.code.name()));
    to.mutable_failed()->set_message(failed.message);
    to.mutable_failed()->set_relay(failed.relay);
}

// ---- reading ----

void read_ticket(std::string& from, std::string& to, Check& check) {
    if (check.that(from.size() == ticket_bytes, "the ticket has the wrong length")) to = std::move(from);
}

ErrorCode read_code(const std::string& from, Check& check) {
    check.that(from.size() <= ErrorCode::max_bytes, "a text is too long");
    return ErrorCode::named(from);
}

std::uint64_t read_token(std::uint64_t from, Check& check) {
    check.that(from < token_limit, "a token is out of range");
    return from;
}

std::int64_t read_time_ms(std::int64_t from, Check& check) {
    check.that(from >= 0 && from < time_ms_limit, "a time is out of range");
    return from;
}

RelayHello read(pb::RelayHello& from, Check& check) {
    return {.version = from.version(), .relay = from.relay(), .time_ms = read_time_ms(from.time_ms(), check)};
}

SignedUpdate read(pb::SignedUpdate& from, Check& check) {
    SignedUpdate update;
    update.request = std::move(*from.mutable_request());
    check.text(*from.mutable_public_key(), max_key_bytes, update.public_key);
    check.text(*from.mutable_signature(), max_key_bytes, update.signature);
    update.number = from.number();
    return update;
}

UpdateResponse read(pb::LeaseUpdateResponse& from, Check& check) {
    UpdateResponse response;
    response.number = from.number();
    if (ErrorCode code = read_code(from.code(), check); code.name() != granted) response.refused = std::move(code);
    check.text(*from.mutable_message(), max_message_bytes, response.message);
    check.text(*from.mutable_name(), max_name_bytes, response.name);
    response.token = read_token(from.token(), check);
    response.ttl = from_wire_ms(from.ttl_ms(), check);
    response.expires_in = from_wire_ms(from.expires_in_ms(), check);
    response.renew_in = from_wire_ms(from.renew_in_ms(), check);
    response.retry_in = from_wire_ms(from.retry_in_ms(), check);
    response.time_ms = read_time_ms(from.time_ms(), check);
    response.relay = from.relay();
    return response;
}

StreamOffer read(pb::StreamOffer& from, Check& check) {
    StreamOffer offer;
    read_ticket(*from.mutable_ticket(), offer.ticket, check);
    check.text(*from.mutable_name(), max_name_bytes, offer.name);
    check.text(*from.mutable_consumer(), max_address_bytes, offer.consumer);
    return offer;
}

StreamRefused read(pb::StreamRefused& from, Check& check) {
    StreamRefused refused;
    read_ticket(*from.mutable_ticket(), refused.ticket, check);
    check.text(*from.mutable_message(), max_message_bytes, refused.message);
    refused.not_held = from.not_held();
    return refused;
}

Withdrawn read(pb::Withdrawn& from, Check& check) {
    Withdrawn withdrawn;
    check.text(*from.mutable_name(), max_name_bytes, withdrawn.name);
    withdrawn.token = read_token(from.token(), check);
    withdrawn.code = read_code(from.code(), check);
    check.text(*from.mutable_message(), max_message_bytes, withdrawn.message);
    return withdrawn;
}

MayRetry read(pb::MayRetry& from, Check& check) {
    MayRetry may_retry;
    check.text(*from.mutable_name(), max_name_bytes, may_retry.name);
    may_retry.within = from_wire_ms(from.within_ms(), check);
    return may_retry;
}

StreamRequest read(pb::StreamRequest& from, Check& check) {
    StreamRequest request{.version = from.version()};
    check.text(*from.mutable_name(), max_name_bytes, request.name);
    return request;
}

StreamAccept read(pb::StreamAccept& from, Check& check) {
    StreamAccept accept{.version = from.version()};
    read_ticket(*from.mutable_ticket(), accept.ticket, check);
    return accept;
}

StreamFailed read(pb::StreamFailed& from, Check& check) {
    StreamFailed failed;
    failed.code = read_code(from.code(), check);
    check.text(*from.mutable_message(), max_message_bytes, failed.message);
    check.text(*from.mutable_relay(), max_address_bytes, failed.relay);
    return failed;
}

Message read(pb::RelayMessage& from, Check& check) {
    switch (from.kind_case()) {
        case pb::RelayMessage::kPublisherHello:
            return PublisherHello{from.publisher_hello().version(), from.publisher_hello().knows_may_retry()};
        case pb::RelayMessage::kRelayHello:
            return read(*from.mutable_relay_hello(), check);
        case pb::RelayMessage::kUpdate:
            return read(*from.mutable_update(), check);
        case pb::RelayMessage::kResponse:
            return read(*from.mutable_response(), check);
        case pb::RelayMessage::kOffer:
            return read(*from.mutable_offer(), check);
        case pb::RelayMessage::kRefused:
            return read(*from.mutable_refused(), check);
        case pb::RelayMessage::kWithdrawn:
            return read(*from.mutable_withdrawn(), check);
        case pb::RelayMessage::kMayRetry:
            return read(*from.mutable_may_retry(), check);
        case pb::RelayMessage::kRequest:
            return read(*from.mutable_request(), check);
        case pb::RelayMessage::kAccept:
            return read(*from.mutable_accept(), check);
        case pb::RelayMessage::kOpened:
            return StreamOpened{};
        case pb::RelayMessage::kFailed:
            return read(*from.mutable_failed(), check);
        case pb::RelayMessage::KIND_NOT_SET:
            break;
    }
    check.that(false, "a message of no known kind");
    return StreamOpened{};
}

// ---- signed updates ----

// The enum on the wire has an extra first value for "none".
pb::LeaseUpdateRequest::Action to_wire(Action action) {
    return static_cast<pb::LeaseUpdateRequest::Action>(static_cast<int>(action) + 1);
}

Action from_wire(pb::LeaseUpdateRequest::Action action, Check& check) {
    const bool known = action >= pb::LeaseUpdateRequest::REGISTER && action <= pb::LeaseUpdateRequest::UNREGISTER;
    if (!check.that(known, "there is no such action")) return Action::enter;
    return static_cast<Action>(static_cast<int>(action) - 1);
}

void read_lists(pb::LeaseUpdateRequest& from, Update& to, Check& check) {
    const auto too_many = [](int count) { return static_cast<std::size_t>(count) > max_list; };
    if (!check.that(!too_many(from.alpn_size()) && !too_many(from.metadata_size()), "a list is too long")) return;
    to.alpn.reserve(static_cast<std::size_t>(from.alpn_size()));
    for (std::string& protocol : *from.mutable_alpn())
        to.alpn.push_back(std::move(protocol));
    to.metadata.reserve(static_cast<std::size_t>(from.metadata_size()));
    for (pb::Pair& pair : *from.mutable_metadata())
        to.metadata.emplace_back(std::move(*pair.mutable_key()), std::move(*pair.mutable_value()));
}

}  // namespace

void append_frame(const Message& message, std::string& out) {
    pb::RelayMessage wire;
    std::visit([&](const auto& one) { write(one, wire); }, message);
    const std::size_t bytes = wire.ByteSizeLong();
    HOLDFAST_ASSERT(bytes <= max_frame_bytes);
    codec::append_frame_length(bytes, out);
    wire.AppendToString(&out);
}

Result<Message> decode(std::string_view body) {
    pb::RelayMessage wire;
    if (body.size() > max_frame_bytes || !wire.ParseFromArray(body.data(), static_cast<int>(body.size())))
        return Error{Code::malformed, "the message cannot be read"};
    Check check;
    Message message = read(wire, check);
    if (check.fails()) return check.error();
    return message;
}

std::string encode(const Update& update) {
    pb::LeaseUpdateRequest wire;
    wire.set_action(to_wire(update.action));
    wire.set_name(update.name);
    wire.set_token(update.token);
    wire.set_returning(update.returning);
    wire.set_ttl_ms(to_wire_ms(update.ttl));
    wire.set_address(update.address);
    for (const std::string& protocol : update.alpn)
        wire.add_alpn(protocol);
    for (const auto& [key, value] : update.metadata) {
        pb::Pair& pair = *wire.add_metadata();
        pair.set_key(key);
        pair.set_value(value);
    }
    wire.set_relay(update.relay);
    wire.set_time_ms(update.time_ms);
    wire.set_nonce(update.nonce);
    return wire.SerializeAsString();
}

Result<Update> decode_update(std::string_view bytes) {
    pb::LeaseUpdateRequest wire;
    if (bytes.size() > max_frame_bytes || !wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
        return Error{Code::malformed, "the update cannot be read"};
    Check check;
    Update update;
    update.action = from_wire(wire.action(), check);
    check.text(*wire.mutable_name(), max_name_bytes, update.name);
    update.token = read_token(wire.token(), check);
    update.returning = wire.returning();
    update.ttl = from_wire_ms(wire.ttl_ms(), check);
    check.text(*wire.mutable_address(), max_address_bytes, update.address);
    read_lists(wire, update, check);
    update.relay = wire.relay();
    update.time_ms = read_time_ms(wire.time_ms(), check);
    update.nonce = wire.nonce();
    if (check.fails()) return check.error();
    return update;
}

}  // namespace holdfast::discovery
