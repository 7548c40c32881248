#pragma once

#include "agreed/cluster_state.h"
#include "log.pb.h"

namespace holdfast::core {

/// Conversions between the messages of proto/log.proto and the state's types. Decoding fails (false or nullopt) if a
/// rule is violated.
void encode(const Policy& policy, log::pb::PolicySettings& out);
void encode(const std::string& holder, const Ban& ban, log::pb::Ban& out);
void encode(const NameRuleKey& about, const NameRule& rule, log::pb::NameRule& out);
void encode(const SavedAgent& agent, log::pb::Agent& out);
void encode(const AuditEntry& entry, log::pb::AuditEntry& out);

bool decode(const log::pb::PolicySettings& in, Policy& policy);
void decode(const log::pb::Ban& in, Policy& policy);
void decode(const log::pb::NameRule& in, Policy& policy);
std::optional<SavedAgent> decode(const log::pb::Agent& in);
AuditEntry decode(const log::pb::AuditEntry& in);

}  // namespace holdfast::core
