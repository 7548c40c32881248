#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "authority/authority.h"
#include "authority/requests.h"
#include "base/json_fields.h"
#include "base/result.h"
#include "doors/http/query.h"
#include "doors/http/request.h"
#include "lease/limits.h"

namespace holdfast::doors::http {

/// The limit of a holder's own time. A timeline added to it stays below 2^53.
inline constexpr std::uint64_t max_client_time_ms = 9'000'000'000'000'000;
/// The limit of a priority, in both directions. A priority may be a time or any other ordering number.
inline constexpr std::int64_t max_priority = 9'000'000'000'000'000;
/// The limit of an epoch and of a progress counter: every JSON parser keeps such numbers exact.
inline constexpr std::uint64_t max_count = lease::limits::epoch_ceiling - 1;

/// Shared by the decoders of all resources. A decoder turns a request of docs/http-api.md into a request to the
/// authority and validates every text: no client input reaches an assertion. Errors are `invalid_json`, `unknown_field`
/// and `invalid_argument`, with a message that names the field.

/// An error with the code `invalid_argument`.
Error invalid_argument(std::string message);

authority::Caller caller_of(const Request& request);

/// The body as an object. A query string is an error, since it would be ignored.
Result<JsonValue> body_only(const Request& request);
/// The query string. A body with fields is an error.
Result<Query> query_only(const Request& request);

std::string holder_field(JsonFields& fields);
std::optional<std::uint64_t> epoch_field(JsonFields& fields);
std::optional<std::uint64_t> progress_field(JsonFields& fields);

/// Selects the events of a stream. Empty text matches everything.
struct EventFilter {
    std::string name_space, prefix, holder;
    bool renewed = false;
};
Result<EventFilter> decode_event_filter(const Request& request);

/// A page of a list ordered by name, such as bans or agents.
struct DecodedPage {
    std::string after;
    std::size_t limit = 1000;
};
Result<DecodedPage> decode_page(const Request& request);

/// Parses a lease name from a path or a list, into its canonical form.
Result<lease::LeaseName> decode_lease_name(std::string_view id);
/// The path of an entry of a request's list of leases, for messages: `leases[INDEX]`.
std::string lease_path(std::size_t index);
/// The lease name at this path.
Result<lease::LeaseName> decode_listed(const JsonValue& item, const std::string& path);

/// For routes that take neither a query nor a body.
Result<void> decode_nothing(const Request& request);
/// The same for routes whose path names a holder or an agent.
Result<void> decode_holder_only(const Request& request, const std::string& holder);

std::string namespace_parameter(Query& query);

}  // namespace holdfast::doors::http
