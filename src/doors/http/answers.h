#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "authority/authority.h"
#include "doors/http/json_writer.h"
#include "doors/http/response.h"

namespace holdfast::http {

/// Answers of the authority as docs/http-api.md writes them.

/// The time of an answer. Instants of the store are shown as the wall clock's, for people only (T1).
struct Moment {
    Instant now;

    static std::string shown(Instant instant);
};

/// The holder's own time, if it told us (T4).
using ClientTime = std::optional<std::uint64_t>;

Response answer_acquire(const core::AcquireAnswer& answer, ClientTime client_time, const Moment& moment);
Response answer_renewal(const core::RenewAnswer& answer, ClientTime client_time, const Moment& moment);
Response answer_renewals(const core::RenewAllAnswer& all, ClientTime client_time, const Moment& moment);
Response answer_release(const core::LeaseName& name, const core::ReleaseAnswer& answer);
Response answer_lease(const core::VerifyAnswer& answer, const Moment& moment);
Response answer_list(const core::ListPage& page, const Moment& moment);
Response answer_verify(const std::vector<core::VerifyAnswer>& answers);
/// Who of those that hold a group's resource leads it, if anybody does (L1). REQUIRES: the resource is `leader:GROUP`.
Response answer_leader(const std::string& group, const core::VerifyAnswer& answer);
Response answer_bar(const core::HeldLease& held, const Moment& moment);
Response answer_revoke(const core::LeaseName& name);
Response answer_policy(const core::Policy& policy);
Response answer_ban(const std::string& holder, const core::Ban& ban);
Response answer_unban(const std::string& holder, bool unbanned);
/// At most `limit` bans of holders after `after`, in the order of their names.
Response answer_bans(const core::Policy& policy, const std::string& after, std::size_t limit);
Response answer_audit(const core::AuditPage& page);

/// 201 if it was registered just now.
Response answer_agent(const core::AgentAnswer& answer);
Response answer_agents(const core::AgentPage& page);
Response answer_restart(const core::RestartAnswer& answer);
Response answer_forget(const std::string& id, bool forgotten);

Response failure(const core::Refused& refused);

/// `conflicts`: who is in the way.
void put_conflicts(JsonWriter& json, const std::vector<core::NamedConflict>& conflicts);

/// `data` of an event.
std::string event_json(const core::Event& event, const Moment& moment);

}  // namespace holdfast::http
