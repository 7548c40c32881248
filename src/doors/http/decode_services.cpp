#include "doors/http/decode_services.h"

#include "base/clock.h"
#include "base/code.h"
#include "base/encodings.h"
#include "discovery/directory/service_limits.h"
#include "discovery/directory/service_name.h"
#include "discovery/identity/identity.h"
#include "doors/http/decode.h"
#include "doors/http/decode_parts.h"
#include "lease/limits.h"

namespace holdfast::http {
namespace {

namespace limits = core::limits;

constexpr std::uint64_t ttl_ms_max = UINT32_MAX;
constexpr std::int64_t time_ms_max = 9'000'000'000'000'000;

discovery::Action action_field(Fields& fields) {
    const auto action = fields.text("action").value_or("");
    if (action == "renew") return discovery::Action::renew;
    if (action == "unregister") return discovery::Action::unregister;
    if (action != "register") fields.refuse("action must be register, renew or unregister");
    return discovery::Action::enter;
}

/// Eight bytes in hex, the highest first.
std::uint64_t bytes_field(Fields& fields, std::string_view name) {
    const auto bytes = from_hex(fields.text(name).value_or(""));
    if (!bytes || bytes->size() != sizeof(std::uint64_t)) {
        fields.refuse(std::string(name) + " must be 16 hexadecimal digits");
        return 0;
    }
    std::uint64_t value = 0;
    for (const char byte : *bytes)
        value = value << 8 | static_cast<unsigned char>(byte);
    return value;
}

std::vector<std::string> alpn_field(Fields& fields) {
    std::vector<std::string> alpn;
    const JsonValue* list = fields.array("alpn", 2 * limits::alpn_names);
    if (list == nullptr) return alpn;
    for (const JsonValue& name : list->items) {
        if (name.kind != JsonValue::Kind::string) fields.refuse("alpn must be a list of text");
        alpn.push_back(name.text);
    }
    return alpn;
}

std::vector<std::pair<std::string, std::string>> service_metadata(Fields& fields) {
    std::vector<std::pair<std::string, std::string>> metadata;
    const JsonValue* object = fields.object("metadata");
    if (object == nullptr) return metadata;
    for (const JsonValue::Member& member : object->members) {
        if (member.value.kind != JsonValue::Kind::string) fields.refuse("metadata must be an object of text");
        metadata.emplace_back(member.key, member.value.text);
    }
    return metadata;
}

Result<void> check_identity(const std::string& identity) {
    if (is_identity_id(identity)) return {};
    return Error{std::string(name_of(core::Code::invalid_identity)),
                 "an identity has 32 characters of a-z and 2-7, as `holdfast identity show` says"};
}

Result<std::string> service_name(const std::string& given) {
    auto name = core::normalised_service_name(given);
    if (!name) return Error{std::string(name_of(core::Code::invalid_name)), name.error().message};
    return std::move(*name);
}

Error bad_signature(const char* message) {
    return {std::string(name_of(core::Code::bad_signature)), message};
}

}  // namespace

Result<DecodedUpdate> decode_service_update(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    Fields fields(*body);
    DecodedUpdate decoded;
    discovery::Update& update = decoded.update;
    update.action = action_field(fields);
    update.name = fields.text("name").value_or("");
    update.token = fields.whole("token", 0, core::token_limit - 1).value_or(0);
    update.returning = fields.boolean("returning").value_or(false);
    update.ttl = std::chrono::milliseconds(fields.whole("ttl_ms", 0, ttl_ms_max).value_or(0));
    update.address = fields.text("address").value_or("");
    update.alpn = alpn_field(fields);
    update.metadata = service_metadata(fields);
    update.relay = bytes_field(fields, "relay");
    update.time_ms = fields.signed_whole("time_ms", time_ms_max).value_or(0);
    update.nonce = bytes_field(fields, "nonce");
    if (auto error = fields.error()) return *error;
    const std::size_t dot = request.signature.find('.');
    if (dot == std::string::npos) return bad_signature("the header Holdfast-Signature: PUBLICKEY.SIGNATURE is missing");
    auto key = from_base64url(std::string_view(request.signature).substr(0, dot));
    auto signature = from_base64url(std::string_view(request.signature).substr(dot + 1));
    if (!key || !signature) return bad_signature("Holdfast-Signature must be two parts in base64url without padding");
    decoded.public_key = std::move(*key);
    decoded.signature = std::move(*signature);
    return decoded;
}

namespace {

std::string glob_parameter(Query& query) {
    std::string glob = query.text("name", limits::service_name_bytes).value_or("");
    const std::size_t star = std::min(glob.find('*'), glob.size());
    if (glob.size() - star > limits::service_glob_tail_bytes)
        query.check(Error{"invalid_argument", "name has more than 64 bytes from its first * on; say more before it"});
    return glob;
}

}  // namespace

Result<core::ServiceQuery> decode_service_query(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    core::ServiceQuery decoded;
    decoded.name_glob = glob_parameter(*query);
    decoded.after = query->text("after", limits::service_name_bytes).value_or("");
    decoded.limit = query->whole("limit", 1, 1000).value_or(100);
    if (auto error = query->error()) return *error;
    return decoded;
}

Result<std::string> decode_service_glob(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    std::string glob = glob_parameter(*query);
    if (auto error = query->error()) return *error;
    return glob;
}

Result<void> decode_identity_only(const Request& request, const std::string& identity) {
    if (auto nothing = decode_nothing(request); !nothing) return nothing;
    return check_identity(identity);
}

Result<DecodedNameRule> decode_name_rule(const Request& request, const std::string& given) {
    auto body = body_only(request);
    if (!body) return body.error();
    auto name = service_name(given);
    if (!name) return name.error();
    Fields fields(*body);
    DecodedNameRule decoded;
    decoded.about.name = std::move(*name);
    decoded.about.identity = fields.text("identity").value_or("");
    decoded.rule.reason = text_field(fields, "reason", limits::reason_bytes);
    decoded.rule.since_wall_ms = wall_clock_ms();
    const std::string rule = fields.text("rule").value_or("");
    if (rule == "reserved")
        decoded.rule.kind = core::NameRule::Kind::reserved;
    else if (rule != "denied")
        fields.refuse("rule must be denied or reserved");
    if (rule == "reserved" && decoded.about.identity.empty())
        fields.refuse("identity must say whom the name is reserved for");
    if (auto error = fields.error()) return *error;
    if (decoded.about.identity.empty()) return decoded;
    if (auto checked = check_identity(decoded.about.identity); !checked) return checked.error();
    return decoded;
}

Result<core::NameRuleKey> decode_lifted_name_rules(const Request& request, const std::string& given) {
    auto query = query_only(request);
    if (!query) return query.error();
    auto name = service_name(given);
    if (!name) return name.error();
    core::NameRuleKey about{std::move(*name), query->text("identity", limits::holder_bytes).value_or("")};
    if (auto error = query->error()) return *error;
    if (about.identity.empty()) return about;
    if (auto checked = check_identity(about.identity); !checked) return checked.error();
    return about;
}

Result<DecodedRulesPage> decode_name_rules_page(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    DecodedRulesPage page;
    const std::string after = query->text("after", limits::service_name_bytes + limits::holder_bytes).value_or("");
    page.limit = query->whole("limit", 1, 1000).value_or(1000);
    if (auto error = query->error()) return *error;
    const std::size_t slash = after.rfind('/');
    page.after.name = after.substr(0, slash);
    if (slash != std::string::npos) page.after.identity = after.substr(slash + 1);
    return page;
}

}  // namespace holdfast::http
