#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/http_connection.h"
#include "client/http_link.h"
#include "client/transport.h"

namespace holdfast {

/// Requests and answers as JSON, as docs/http-api.md has them. What an answer says is checked before it is believed:
/// one that lacks something or makes no sense is no answer.

/// Metadata as compact JSON text. The error is `invalid_argument` if it is not a JSON object.
Result<std::string> checked_metadata(const std::string& metadata);

/// The error is about the caller's metadata, which is the one part given as JSON.
Result<std::string> acquire_body(const AcquireAsk& ask);
AcquireReply read_acquire(const AcquireAsk& ask, const HttpResponse& response);

std::string renew_body(const NamedLeases& leases);
Result<std::vector<RenewReply>> read_renew(const NamedLeases& leases, const HttpResponse& response);

/// The code and message of an answer that is an error; `bad_answer` if it does not even say that.
Error read_error(const HttpResponse& response);

/// The codes of a server that cannot serve, though another of its cluster may, and what it leaves unknown.
enum class Absence { nothing_done, unknown };
std::optional<Absence> absence_of(std::string_view code);
/// Nothing if it is an answer to go by.
std::optional<Absence> absence_in(const HttpResponse& response);

/// What a refusal with this code means to whoever asked for a lease.
Outcome outcome_of(std::string_view code, int status);

/// What is said about agents, as JSON, as docs/http-api.md has it. As in messages.h, an answer that makes no sense is
/// an error, `bad_answer`.

std::string register_body(const AgentAsk& agent);
Result<AgentKnown> read_agent(const HttpResponse& response);

std::string restarting_body(const AgentAsk& agent);

std::string verify_body(const AgentAsk& agent);
Result<std::vector<VerifiedLease>> read_verified(const HttpResponse& response);

}  // namespace holdfast
