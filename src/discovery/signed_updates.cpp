#include "discovery/protocol_codec.h"

namespace holdfast::discovery {
namespace {

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
        return Error{"malformed", "the update cannot be read"};
    Check check;
    Update update;
    update.action = from_wire(wire.action(), check);
    check.text(*wire.mutable_name(), max_name_bytes, update.name);
    check.that(wire.token() < token_limit, "a token is out of range");
    update.token = wire.token();
    update.returning = wire.returning();
    update.ttl = from_wire_ms(wire.ttl_ms(), check);
    check.text(*wire.mutable_address(), max_address_bytes, update.address);
    read_lists(wire, update, check);
    update.relay = wire.relay();
    check.that(wire.time_ms() >= 0 && wire.time_ms() < time_ms_limit, "a time is out of range");
    update.time_ms = wire.time_ms();
    update.nonce = wire.nonce();
    if (check.fails()) return check.error();
    return update;
}

}  // namespace holdfast::discovery
