#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "authority/authority.h"
#include "base/result.h"
#include "doors/http/request.h"

namespace holdfast::http {

/// Requests of docs/http-api.md as the authority takes them. Every text is checked for form here: nothing a client
/// sends reaches an assertion. Errors are `invalid_json`, `unknown_field` and `invalid_argument`, with a message naming
/// the field.

struct DecodedAcquire {
    core::AcquireRequest request;
    std::optional<std::uint64_t> client_time_ms;
};
Result<DecodedAcquire> decode_acquire(const Request& request);

struct DecodedRenewal {
    core::RenewRequest request;
    bool all = false;  ///< the body named no leases
    std::optional<std::uint64_t> client_time_ms;
};
Result<DecodedRenewal> decode_renewal(const Request& request);
/// The same for one lease, which the path names.
Result<DecodedRenewal> decode_single_renewal(const Request& request, const std::string& id);

Result<core::ReleaseRequest> decode_release(const Request& request, const std::string& id);

/// Either leases or a holder, and which life of it asks.
struct DecodedVerify {
    std::vector<core::LeaseName> leases;
    std::string holder;
    std::optional<std::uint64_t> epoch;
};
Result<DecodedVerify> decode_verify(const Request& request);

/// A page of leases to list. Owns the text that core::ListQuery only looks at.
struct DecodedList {
    std::string name_space, prefix, holder;
    std::size_t limit = 100;
    std::string after;
};
Result<DecodedList> decode_list(const Request& request);

/// Which events a stream carries. Empty text matches everything.
struct EventFilter {
    std::string name_space, prefix, holder;
    bool renewed = false;
};
Result<EventFilter> decode_event_filter(const Request& request);

Result<core::PolicyChange> decode_policy_change(const Request& request);

struct DecodedBan {
    std::string holder;
    std::string reason;
};
Result<DecodedBan> decode_ban(const Request& request, const std::string& holder);

/// An agent that registers, and one that says that it restarts.
Result<core::AgentRequest> decode_agent(const Request& request, const std::string& id);
Result<core::AgentRequest> decode_restart(const Request& request, const std::string& id);

/// A page of what is listed by name: bans, agents.
struct DecodedPage {
    std::string after;
    std::size_t limit = 1000;
};
Result<DecodedPage> decode_page(const Request& request);

/// A page of the audit.
struct DecodedAudit {
    std::uint64_t after = 0;
    std::size_t limit = 100;
};
Result<DecodedAudit> decode_audit(const Request& request);

/// The lease a path or a list names, in its canonical form.
Result<core::LeaseName> decode_lease_name(std::string_view id);

/// For routes that take neither a query nor a body.
Result<void> decode_nothing(const Request& request);
/// The same for one holder or agent, whom the path names.
Result<void> decode_holder_only(const Request& request, const std::string& holder);

}  // namespace holdfast::http
