#include "doors/http/decode_parts.h"

#include "base/code.h"
#include "lease/manifest.h"

namespace holdfast::http {

Error invalid_argument(std::string message) {
    return {std::string(core::name_of(core::Code::invalid_argument)), std::move(message)};
}

core::Caller caller_of(const Request& request) {
    return {request.peer, request.connection};
}

Result<JsonValue> body_only(const Request& request) {
    auto query = Query::parse(request.query);
    if (!query) return query.error();
    if (auto error = query->error()) return *error;
    return read_json_object(request.body);
}

Result<Query> query_only(const Request& request) {
    auto body = read_json_object(request.body);
    if (!body) return body.error();
    if (auto error = Fields(*body).error()) return *error;
    return Query::parse(request.query);
}

std::string text_field(Fields& fields, std::string_view name, std::size_t most_bytes) {
    std::string text = fields.text(name).value_or("");
    fields.check(core::check_text({name, text}, most_bytes));
    return text;
}

std::string holder_field(Fields& fields) {
    std::string holder = fields.text("holder").value_or("");
    fields.check(core::check_holder(holder));
    return holder;
}

std::optional<Duration> duration_field(Fields& fields, std::string_view name) {
    const auto ms = fields.whole(name, 0, duration_ms_max);
    if (!ms) return std::nullopt;
    return std::chrono::milliseconds(*ms);
}

std::optional<std::uint64_t> epoch_field(Fields& fields) {
    return fields.whole("epoch", 1, count_max);
}

std::optional<std::uint64_t> progress_field(Fields& fields) {
    return fields.whole("progress", 0, count_max);
}

}  // namespace holdfast::http
