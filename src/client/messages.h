#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/http_connection.h"
#include "client/http_link.h"
#include "client/transport.h"

namespace holdfast::client {

/// Requests and answers as JSON, as documented in docs/http-api.md. Answers are validated: a malformed answer counts as
/// no answer.

/// Metadata as compact JSON text. The error is `invalid_argument` if it is not a JSON object.
Result<std::string> checked_metadata(const std::string& metadata);

/// Fails only if the caller's metadata is invalid, the one part that is given as JSON.
Result<std::string> acquire_body(const AcquireAsk& ask);
AcquireReply read_acquire(const AcquireAsk& ask, const HttpResponse& response);

std::string renew_body(const NamedLeases& leases);
Result<std::vector<RenewReply>> read_renew(const NamedLeases& leases, const HttpResponse& response);

/// The code and message of an error answer; `bad_answer` if it has none.
Error read_error(const HttpResponse& response);

/// Classifies the error codes of a server that cannot serve, though another of its cluster may: whether the request
/// certainly had no effect, or may have had one.
enum class Absence { nothing_done, unknown };
std::optional<Absence> absence_of(std::string_view code);
/// Returns nothing if the answer is valid.
std::optional<Absence> absence_in(const HttpResponse& response);

/// The outcome of an acquire that was refused with this code.
Outcome outcome_of(std::string_view code, int status);

/// The same for agents. A malformed answer is the error `bad_answer`.

std::string register_body(const AgentAsk& agent);
Result<AgentKnown> read_agent(const HttpResponse& response);

std::string restarting_body(const AgentAsk& agent);

std::string verify_body(const AgentAsk& agent);
Result<std::vector<VerifiedLease>> read_verified(const HttpResponse& response);

}  // namespace holdfast::client
