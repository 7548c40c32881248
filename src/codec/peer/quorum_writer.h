#pragma once

#include <string>

#include "store/quorum/messages.h"

namespace holdfast::peer {

/// Appends the message as the bytes of a Message of proto/peer.proto, straight from what it is: these are most of what
/// the nodes of a cluster say, and building Protobuf's own objects first would cost more than the rest of saying it.
void append_message(const core::QuorumMessage& message, std::string& out);

}  // namespace holdfast::peer
