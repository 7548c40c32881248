#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "authority/authority.h"
#include "authority/requests.h"
#include "base/result.h"
#include "doors/http/fields.h"
#include "doors/http/json_value.h"
#include "doors/http/query.h"
#include "doors/http/request.h"
#include "keys/controller/key.h"

namespace holdfast::http {

/// What the decoders of all resources share. A decoder turns a request of docs/http-api.md into one of the authority
/// and checks every text for form: nothing a client sends reaches an assertion. Errors are `invalid_json`,
/// `unknown_field` and `invalid_argument`, with a message naming the field.

/// An error with the code `invalid_argument`.
Error invalid_argument(std::string message);

core::Caller caller_of(const Request& request);

/// The body as an object. A query next to it is an error: nobody would read it.
Result<JsonValue> body_only(const Request& request);
/// The other way round.
Result<Query> query_only(const Request& request);

std::string text_field(Fields& fields, std::string_view name, std::size_t max_bytes);
std::string holder_field(Fields& fields);
std::optional<Duration> duration_field(Fields& fields, std::string_view name);
std::optional<std::uint64_t> epoch_field(Fields& fields);
std::optional<std::uint64_t> progress_field(Fields& fields);

/// Which events a stream carries. Empty text matches everything.
struct EventFilter {
    std::string name_space, prefix, holder;
    bool renewed = false;
};
Result<EventFilter> decode_event_filter(const Request& request);

/// A page of what is listed by name: bans, agents.
struct DecodedPage {
    std::string after;
    std::size_t limit = 1000;
};
Result<DecodedPage> decode_page(const Request& request);

/// The lease a path or a list names, in its canonical form.
Result<core::LeaseName> decode_lease_name(std::string_view id);

/// For routes that take neither a query nor a body.
Result<void> decode_nothing(const Request& request);
/// The same for one holder or agent, whom the path names.
Result<void> decode_holder_only(const Request& request, const std::string& holder);

std::string namespace_parameter(Query& query);

enum class NameNeed : std::uint8_t { required, optional };

/// `{name, namespace?, tag?}`; no object is one without a name. A key without a name keeps none, if that may be.
Result<core::Key> key_from(const JsonValue* object, NameNeed need);

/// The name of a drone, a backend or a pool.
std::string plain_name_field(Fields& fields, std::string_view name, std::size_t max_bytes);
Result<void> check_plain_name(std::string_view name, std::string_view value, std::size_t max_bytes);

}  // namespace holdfast::http
