#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "consensus/log_messages.h"
#include "lease/limits.h"
#include "peer.pb.h"
#include "store/cas/relative_record.h"
#include "store/quorum/ballot.h"
#include "store/quorum/messages.h"

namespace holdfast::codec::peer {

/// Records the first violation in a message.
class Check {
 public:
    /// Returns `holds`.
    bool that(bool holds, std::string_view what) {
        if (!holds && why_.empty()) why_ = what;
        return holds;
    }
    bool fails() const { return !why_.empty(); }
    const std::string& why() const { return why_; }

 private:
    std::string why_;
};

/// With its namespace: `@namespace/resource`.
inline constexpr std::size_t full_name_bytes = lease::limits::resource_bytes + lease::limits::namespace_bytes + 2;

/// Appends the message as the bytes of a Message of proto/peer.proto, without building Protobuf objects. These are most
/// of the messages between nodes, and building objects first would cost more than all the rest of sending them.
void append_message(const store::quorum::QuorumMessage& message, std::string& out);

// Readers leave `to` in any state if the check fails.

store::quorum::Ballot read(const pb::Ballot& from, Check& check);

void read(const pb::Record& from, store::cas::RelativeRecord& to, Check& check);

void read_resource(const std::string& from, std::string& to, Check& check);
store::quorum::NodeIndex read_node(std::uint32_t from, Check& check);

void write(const consensus::LogMessage& message, pb::Message& to);

/// Nullopt if the message is of another kind. The result may be used only if the check holds.
std::optional<store::quorum::QuorumMessage> read_quorum(const pb::Message& from, Check& check);
std::optional<consensus::LogMessage> read_log(const pb::Message& from, Check& check);

}  // namespace holdfast::codec::peer
