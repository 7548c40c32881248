#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "client/http_connection.h"
#include "client/transport.h"

namespace holdfast::client {

/// Requests and answers as documented in docs/http-api.md. Answers are validated: a malformed answer counts as no
/// answer.

/// Metadata as compact JSON text. The error is `invalid_argument` if it is not a JSON object.
Result<std::string> checked_metadata(const std::string& metadata);

/// Fails only if the caller's metadata is invalid, the one part that is given as JSON.
Result<HttpRequest> acquire_request(const AcquireAsk& ask);
AcquireReply read_acquire(const AcquireAsk& ask, const HttpResponse& response);

HttpRequest renew_request(const NamedLeases& leases);
Result<std::vector<RenewReply>> read_renew(const NamedLeases& leases, const HttpResponse& response);
/// Renews the first of these leases; its answer is that of one renewal.
HttpRequest renew_one_request(const NamedLeases& leases);
/// Renews all leases of the holder.
HttpRequest renew_all_request(const NamedLeases& leases);

/// The path of a lease, its name escaped: `/v1/leases/FILE%3Ax%2317`.
std::string lease_target(std::string_view id);

/// Releases one of these leases.
HttpRequest release_request(const NamedLeases& leases, const std::string& id);
ReleaseReply read_release(const HttpResponse& response);

/// The code and message of an error answer; `bad_answer` if it has none.
Error read_error(const HttpResponse& response);

/// A refusal, with what is in the way. Returns nothing if the answer is malformed.
std::optional<Failure> read_failure(const JsonValue& answer, int status);
/// The `conflicts` of an answer. Returns none if they are malformed.
std::vector<Conflict> read_conflicts(const JsonValue& answer);

/// Classifies the error codes of a server that cannot serve, though another of its cluster may: whether the request
/// certainly had no effect, or may have had one.
enum class Absence { nothing_done, unknown };
std::optional<Absence> absence_of(const ErrorCode& code);
/// Returns nothing if the answer is valid.
std::optional<Absence> absence_in(const HttpResponse& response);

/// The outcome of an acquire that was refused with this code.
Outcome outcome_of(const ErrorCode& code, int status);

/// The same for agents. A malformed answer is the error `bad_answer`.

/// The path of an agent, its id escaped.
std::string agent_target(std::string_view id);

HttpRequest register_request(const AgentAsk& agent);
Result<AgentKnown> read_agent(const HttpResponse& response);

HttpRequest restarting_request(const AgentAsk& agent);

/// The state of all leases of a holder, or of these.
HttpRequest verify_request(const AgentAsk& agent);
HttpRequest verify_request(const std::vector<std::string>& leases);
Result<std::vector<VerifiedLease>> read_verified(const HttpResponse& response);

}  // namespace holdfast::client
