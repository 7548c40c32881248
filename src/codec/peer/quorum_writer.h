#pragma once

#include <string>

#include "store/quorum/messages.h"

namespace holdfast::peer {

/// Appends the message as the bytes of a Message of proto/peer.proto, without building Protobuf objects. These are most
/// of the messages between nodes, and building objects first would cost more than all the rest of sending them.
void append_message(const core::QuorumMessage& message, std::string& out);

}  // namespace holdfast::peer
