#pragma once

#include <optional>
#include <string>

#include "codec/check.h"
#include "consensus/log_messages.h"
#include "lease/limits.h"
#include "peer.pb.h"
#include "store/quorum/ballot.h"
#include "store/quorum/messages.h"

namespace holdfast::codec::peer {

/// With its namespace: `@namespace/resource`.
inline constexpr std::size_t full_name_bytes = lease::limits::resource_bytes + lease::limits::namespace_bytes + 2;

/// Appends the message as the bytes of a Message of proto/peer.proto, without building Protobuf objects. These are most
/// of the messages between nodes, and building objects first would cost more than all the rest of sending them.
void append_message(const store::quorum::QuorumMessage& message, std::string& out);

store::quorum::NodeIndex read_node(std::uint32_t from, Check& check);

void write(const consensus::LogMessage& message, pb::Message& to);

/// Nullopt if the message is of another kind. The result may be used only if the check holds.
std::optional<store::quorum::QuorumMessage> read_quorum(const pb::Message& from, Check& check);
std::optional<consensus::LogMessage> read_log(const pb::Message& from, Check& check);

}  // namespace holdfast::codec::peer
