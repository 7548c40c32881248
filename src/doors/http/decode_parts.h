#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "authority/requests.h"
#include "base/result.h"
#include "doors/http/fields.h"
#include "doors/http/json_value.h"
#include "doors/http/query.h"
#include "doors/http/request.h"

namespace holdfast::http {

/// What the decoders of decode.h share.

/// An error with the code `invalid_argument`.
Error invalid_argument(std::string message);

core::Caller caller_of(const Request& request);

/// The body as an object. A query next to it is an error: nobody would read it.
Result<JsonValue> body_only(const Request& request);
/// The other way round.
Result<Query> query_only(const Request& request);

std::string text_field(Fields& fields, std::string_view name, std::size_t most_bytes);
std::string holder_field(Fields& fields);
std::optional<Duration> duration_field(Fields& fields, std::string_view name);
std::optional<std::uint64_t> epoch_field(Fields& fields);
std::optional<std::uint64_t> progress_field(Fields& fields);

}  // namespace holdfast::http
