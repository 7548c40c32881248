#include "doors/http/decode.h"

#include "doors/http/decode_parts.h"
#include "lease/limits.h"
#include "lease/resource.h"

namespace holdfast::http {
namespace {

namespace limits = core::limits;

core::Predicate predicate_field(Fields& fields) {
    const auto text = fields.text("predicate");
    if (!text) return core::Predicate::mutates;
    const auto predicate = core::parse_predicate(*text);
    if (!predicate) {
        std::string names;
        for (const core::Predicate each : core::all_predicates)
            names += (names.empty() ? "" : ", ") + std::string(core::to_string(each));
        fields.refuse("predicate must be one of " + names);
    }
    return predicate.value_or(core::Predicate::mutates);
}

/// The resource under its one name; checked_manifest() would see to that too, but not say which intent is wrong.
core::Intent intent_field(Fields& fields, std::string_view name_space) {
    const auto resource = core::normalised(fields.text("resource").value_or(""));
    if (!resource) {
        fields.check(resource.error());
        return {};
    }
    fields.check(core::check_resource(*resource));
    return {core::full_name(name_space, *resource), core::Predicate::mutates};
}

Result<std::vector<core::Intent>> decode_intents(const JsonValue& list, std::string_view name_space) {
    std::vector<core::Intent> intents;
    intents.reserve(list.items.size());
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        const std::string path = "intents[" + std::to_string(i) + "]";
        if (list.items[i].kind != JsonValue::Kind::object) return invalid_argument(path + " must be an object");
        Fields fields(list.items[i], path + ".");
        core::Intent intent = intent_field(fields, name_space);
        intent.predicate = predicate_field(fields);
        if (auto error = fields.error()) return *error;
        intents.push_back(std::move(intent));
    }
    return core::checked_manifest(std::move(intents));
}

std::string metadata_field(Fields& fields) {
    const JsonValue* metadata = fields.object("metadata");
    if (metadata == nullptr) return {};
    std::string text = to_text(*metadata);
    if (text.size() > limits::metadata_bytes)
        fields.refuse("metadata is longer than " + std::to_string(limits::metadata_bytes) + " bytes of JSON");
    return text;
}

/// What is to be taken: one resource, or a list of intents.
Result<std::vector<core::Intent>> decode_manifest(Fields& fields, std::string_view name_space) {
    const JsonValue* list = fields.array("intents", limits::intents_per_manifest);
    const bool has_list = fields.has("intents");
    if (has_list && fields.has("resource")) fields.refuse("say either resource or intents, not both");
    if (!has_list) {
        std::vector<core::Intent> one{intent_field(fields, name_space)};
        return one;
    }
    fields.any("resource");
    if (list == nullptr) return std::vector<core::Intent>{};
    return decode_intents(*list, name_space);
}

Result<core::LeaseName> decode_listed(const JsonValue& item, const std::string& path) {
    if (item.kind != JsonValue::Kind::string) return invalid_argument(path + " must be the name of a lease");
    auto name = decode_lease_name(item.text);
    if (!name) return Error{name.error().code, path + ": " + name.error().message};
    return name;
}

std::string path_of(std::size_t index) {
    return "leases[" + std::to_string(index) + "]";
}

Result<std::vector<core::LeaseName>> decode_names(const JsonValue& list) {
    std::vector<core::LeaseName> names;
    names.reserve(list.items.size());
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        auto name = decode_listed(list.items[i], path_of(i));
        if (!name) return name.error();
        names.push_back(std::move(*name));
    }
    return names;
}

/// A lease with how far its work has come, or just its name.
Result<core::LeaseToRenew> decode_lease_to_renew(const JsonValue& item, const std::string& path) {
    core::LeaseToRenew lease;
    const JsonValue* id = &item;
    if (item.kind == JsonValue::Kind::object) {
        Fields fields(item, path + ".");
        id = fields.any("id");
        lease.progress = progress_field(fields);
        if (id == nullptr) fields.refuse(path + ".id is missing");
        if (auto error = fields.error()) return *error;
    }
    auto name = decode_listed(*id, path);
    if (!name) return name.error();
    lease.name = std::move(*name);
    return lease;
}

Result<std::vector<core::LeaseToRenew>> decode_leases_to_renew(const JsonValue& list) {
    std::vector<core::LeaseToRenew> leases;
    leases.reserve(list.items.size());
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        auto lease = decode_lease_to_renew(list.items[i], path_of(i));
        if (!lease) return lease.error();
        leases.push_back(std::move(*lease));
    }
    return leases;
}

/// The fields that every renewal has.
DecodedRenewal renewal_fields(const Request& request, Fields& fields) {
    DecodedRenewal renewal;
    renewal.request.caller = caller_of(request);
    renewal.request.holder = holder_field(fields);
    renewal.request.epoch = epoch_field(fields);
    renewal.request.ttl = duration_field(fields, "ttl_ms");
    renewal.request.progress = progress_field(fields);
    renewal.client_time_ms = fields.whole("client_time_ms", 0, client_time_ms_max);
    return renewal;
}

std::string namespace_parameter(Query& query) {
    std::string name_space = query.text("namespace", limits::namespace_bytes).value_or("");
    query.check(core::check_namespace(name_space));
    return name_space;
}

}  // namespace

Result<core::LeaseName> decode_lease_name(std::string_view id) {
    auto name = core::parse_lease_name(id);
    if (!name) return invalid_argument("a lease is named resource#token; this is not: " + shown(id));
    const core::SplitName split = core::split_name(name->resource);
    auto checked = core::check_resource(split.resource);
    if (checked) checked = core::check_namespace(split.name_space);
    if (!checked) return checked.error();
    name->resource = core::full_name(split.name_space, split.resource);
    return *name;
}

Result<DecodedAcquire> decode_acquire(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    DecodedAcquire decoded;
    core::AcquireRequest& acquire = decoded.request;
    acquire.caller = caller_of(request);
    acquire.holder = holder_field(fields);
    acquire.epoch = epoch_field(fields);
    acquire.session = text_field(fields, "session", limits::session_bytes);
    const std::string name_space = fields.text("namespace").value_or("");
    fields.check(core::check_namespace(name_space));
    auto manifest = decode_manifest(fields, name_space);
    acquire.ttl = duration_field(fields, "ttl_ms");
    acquire.wait = duration_field(fields, "wait_ms").value_or(Duration::zero());
    acquire.progress = progress_field(fields);
    acquire.reason = text_field(fields, "reason", limits::reason_bytes);
    acquire.metadata = metadata_field(fields);
    acquire.idempotency_key = text_field(fields, "idempotency_key", limits::idempotency_key_bytes);
    decoded.client_time_ms = fields.whole("client_time_ms", 0, client_time_ms_max);
    if (auto error = fields.error()) return *error;
    if (!manifest) return manifest.error();
    acquire.intents = std::move(*manifest);
    return decoded;
}

Result<DecodedRenewal> decode_renewal(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    DecodedRenewal renewal = renewal_fields(request, fields);
    const JsonValue* leases = fields.array("leases", limits::leases_per_request);
    if (auto error = fields.error()) return *error;
    renewal.all = leases == nullptr;
    if (renewal.all) return renewal;
    auto named = decode_leases_to_renew(*leases);
    if (!named) return named.error();
    renewal.request.leases = std::move(*named);
    for (core::LeaseToRenew& lease : renewal.request.leases)
        if (!lease.progress) lease.progress = renewal.request.progress;
    return renewal;
}

Result<DecodedRenewal> decode_single_renewal(const Request& request, const std::string& id) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    DecodedRenewal renewal = renewal_fields(request, fields);
    if (auto error = fields.error()) return *error;
    auto name = decode_lease_name(id);
    if (!name) return name.error();
    renewal.request.leases.push_back({std::move(*name), renewal.request.progress});
    return renewal;
}

Result<core::ReleaseRequest> decode_release(const Request& request, const std::string& id) {
    auto query = Query::parse(request.query);
    if (!query) return query.error();
    const auto holder_in_query = query->text("holder", limits::holder_bytes);
    const auto epoch_in_query = query->whole("epoch", 1, count_max);
    const auto session_in_query = query->text("session", limits::session_bytes);
    if (auto error = query->error()) return *error;
    auto body = read_json_object(request.body);
    if (!body) return body.error();
    Fields fields(*body);
    const auto holder = fields.text("holder");
    const auto session = text_field(fields, "session", limits::session_bytes);
    const auto epoch = epoch_field(fields);
    if (holder_in_query && holder) fields.refuse("say holder once, in the query or in the body");
    if (epoch_in_query && epoch) fields.refuse("say epoch once, in the query or in the body");
    if (session_in_query && !session.empty()) fields.refuse("say session once, in the query or in the body");
    core::ReleaseRequest release;
    release.caller = caller_of(request);
    release.holder = holder_in_query ? *holder_in_query : holder.value_or("");
    release.epoch = epoch_in_query ? epoch_in_query : epoch;
    release.session = session_in_query ? *session_in_query : session;
    fields.check(core::check_holder(release.holder));
    if (auto error = fields.error()) return *error;
    auto name = decode_lease_name(id);
    if (!name) return name.error();
    release.name = std::move(*name);
    return release;
}

Result<DecodedVerify> decode_verify(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    DecodedVerify verify;
    const JsonValue* leases = fields.array("leases", limits::leases_per_request);
    if (fields.has("leases") == fields.has("holder")) fields.refuse("say either leases or holder");
    verify.holder = fields.text("holder").value_or("");
    verify.epoch = epoch_field(fields);
    if (fields.has("holder")) fields.check(core::check_holder(verify.holder));
    if (fields.has("epoch") && !fields.has("holder")) fields.refuse("epoch goes with holder");
    if (auto error = fields.error()) return *error;
    if (leases == nullptr) return verify;
    auto names = decode_names(*leases);
    if (!names) return names.error();
    verify.leases = std::move(*names);
    return verify;
}

Result<DecodedList> decode_list(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedList list;
    list.holder = query->text("holder", limits::holder_bytes).value_or("");
    list.prefix = query->text("prefix", limits::resource_bytes).value_or("");
    list.name_space = namespace_parameter(*query);
    list.limit = query->whole("limit", 1, 1000).value_or(100);
    list.after = query->text("after", core::limits::cursor_bytes).value_or("");
    if (auto error = query->error()) return *error;
    return list;
}

Result<EventFilter> decode_event_filter(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    EventFilter filter;
    filter.holder = query->text("holder", limits::holder_bytes).value_or("");
    filter.prefix = query->text("prefix", limits::resource_bytes).value_or("");
    filter.name_space = namespace_parameter(*query);
    filter.renewed = query->boolean("renewed").value_or(false);
    if (auto error = query->error()) return *error;
    return filter;
}

}  // namespace holdfast::http
