#include "doors/http/decode.h"

#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"
#include "lease/ip_prefix.h"
#include "lease/limits.h"
#include "lease/manifest.h"
#include "lease/resource.h"

namespace holdfast::doors::http {

namespace limits = lease::limits;

Error invalid_argument(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

authority::Caller caller_of(const Request& request) {
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
    if (auto error = JsonFields(*body).error()) return *error;
    return Query::parse(request.query);
}

std::string holder_field(JsonFields& fields) {
    std::string holder = fields.text("holder").value_or("");
    fields.check(lease::check_holder(holder));
    return holder;
}

std::optional<std::uint64_t> epoch_field(JsonFields& fields) {
    return fields.whole("epoch", 1, max_count);
}

std::optional<std::uint64_t> progress_field(JsonFields& fields) {
    return fields.whole("progress", 0, max_count);
}

std::string namespace_parameter(Query& query) {
    std::string name_space = query.text("namespace", lease::limits::namespace_bytes).value_or("");
    query.check(lease::check_namespace(name_space));
    return name_space;
}

Result<lease::LeaseName> decode_lease_name(std::string_view id) {
    auto name = lease::parse_lease_name(id);
    if (!name) return invalid_argument("a lease is named resource#token; this is not: " + excerpt(id));
    const lease::SplitName split = lease::split_name(name->resource);
    auto checked = lease::check_resource(split.resource);
    if (checked) checked = lease::check_namespace(split.name_space);
    if (!checked) return checked.error();
    name->resource = lease::full_name(split.name_space, split.resource);
    return *name;
}

std::string lease_path(std::size_t index) {
    return fmt::format("leases[{}]", index);
}

Result<lease::LeaseName> decode_listed(const JsonValue& item, const std::string& path) {
    if (item.kind != JsonValue::Kind::string) return invalid_argument(path + " must be the name of a lease");
    auto name = decode_lease_name(item.text);
    if (!name) return Error{name.error().code, fmt::format("{}: {}", path, name.error().message)};
    return name;
}

Result<EventFilter> decode_event_filter(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    EventFilter filter;
    filter.holder = query->text("holder", lease::limits::holder_bytes).value_or("");
    filter.prefix = query->text("prefix", lease::limits::resource_bytes).value_or("");
    filter.name_space = namespace_parameter(*query);
    filter.renewed = query->boolean("renewed").value_or(false);
    if (auto error = query->error()) return *error;
    return filter;
}

Result<void> decode_holder_only(const Request& request, const std::string& holder) {
    if (auto nothing = decode_nothing(request); !nothing) return nothing;
    return lease::check_holder(holder);
}

Result<DecodedPage> decode_page(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedPage page;
    page.after = query->text("after", lease::limits::holder_bytes).value_or("");
    page.limit = query->whole("limit", 1, 1000).value_or(1000);
    if (auto error = query->error()) return *error;
    return page;
}

Result<void> decode_nothing(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    if (auto error = query->error()) return *error;
    return {};
}

}  // namespace holdfast::doors::http
