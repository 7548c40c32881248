#pragma once

#include <optional>

#include "codec/peer/record_codec.h"
#include "consensus/log_messages.h"
#include "peer.pb.h"
#include "store/quorum/messages.h"

namespace holdfast::peer {

void write(const core::LogMessage& message, pb::Message& to);

/// Nothing if the message is of another kind; what is read is to be used only if the check holds.
std::optional<core::QuorumMessage> read_quorum(const pb::Message& from, Check& check);
std::optional<core::LogMessage> read_log(const pb::Message& from, Check& check);

}  // namespace holdfast::peer
