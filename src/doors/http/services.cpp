#include <array>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/code.h"
#include "base/encodings.h"
#include "base/glob.h"
#include "base/result.h"
#include "base/text.h"
#include "discovery/directory/directory.h"
#include "discovery/directory/service_limits.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "doors/http/request.h"
#include "doors/http/response.h"
#include "lease/limits.h"

namespace holdfast::doors::http {
namespace {

namespace limits = lease::limits;

/// A signed update: the decoded body and its signature.
struct DecodedUpdate {
    discovery::Update update;
    std::string public_key;
    std::string signature;
};

struct RelayView {
    std::uint64_t relay = 0;
    std::int64_t time_ms = 0;
    std::string address;  ///< empty: this server has no relay
};

constexpr std::uint64_t max_ttl_ms = UINT32_MAX;
constexpr std::int64_t max_time_ms = 9'000'000'000'000'000;

discovery::Action action_field(JsonFields& fields) {
    const auto action = fields.text("action").value_or("");
    if (action == "renew") return discovery::Action::renew;
    if (action == "unregister") return discovery::Action::unregister;
    if (action != "register") fields.refuse("action must be register, renew or unregister");
    return discovery::Action::enter;
}

/// Eight bytes in hex, big-endian.
std::uint64_t bytes_field(JsonFields& fields, std::string_view name) {
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

std::vector<std::string> alpn_field(JsonFields& fields) {
    std::vector<std::string> alpn;
    const JsonValue* list = fields.array("alpn", 2 * discovery::directory::limits::alpn_names);
    if (list == nullptr) return alpn;
    for (const JsonValue& name : list->items) {
        if (name.kind != JsonValue::Kind::string) fields.refuse("alpn must be a list of text");
        alpn.push_back(name.text);
    }
    return alpn;
}

std::vector<std::pair<std::string, std::string>> service_metadata(JsonFields& fields) {
    std::vector<std::pair<std::string, std::string>> metadata;
    const JsonValue* object = fields.object("metadata");
    if (object == nullptr) return metadata;
    for (const JsonValue::Member& member : object->members) {
        if (member.value.kind != JsonValue::Kind::string) fields.refuse("metadata must be an object of text");
        metadata.emplace_back(member.key, member.value.text);
    }
    return metadata;
}

Error bad_signature(const char* message) {
    return {Code::bad_signature, message};
}

Result<DecodedUpdate> decode_service_update(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    DecodedUpdate decoded;
    discovery::Update& update = decoded.update;
    update.action = action_field(fields);
    update.name = fields.text("name").value_or("");
    update.token = fields.whole("token", 0, lease::token_limit - 1).value_or(0);
    update.returning = fields.boolean("returning").value_or(false);
    update.ttl = std::chrono::milliseconds(fields.whole("ttl_ms", 0, max_ttl_ms).value_or(0));
    update.address = fields.text("address").value_or("");
    update.alpn = alpn_field(fields);
    update.metadata = service_metadata(fields);
    update.relay = bytes_field(fields, "relay");
    update.time_ms = fields.signed_whole("time_ms", max_time_ms).value_or(0);
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

std::string glob_parameter(Query& query) {
    std::string glob = query.text("name", discovery::directory::limits::service_name_bytes).value_or("");
    const std::size_t star = std::min(glob.find('*'), glob.size());
    if (glob.size() - star > discovery::directory::limits::service_glob_tail_bytes)
        query.check(
            Error{Code::invalid_argument, "name has more than 64 bytes from its first * on; write more before the *"});
    return glob;
}

Result<discovery::directory::ServiceQuery> decode_service_query(const Request& request) {
    auto query = query_only(request);
    if (!query) return query.error();
    discovery::directory::ServiceQuery decoded;
    decoded.name_glob = glob_parameter(*query);
    decoded.after = query->text("after", discovery::directory::limits::service_name_bytes).value_or("");
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

std::string hex(std::uint64_t value) {
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8)
        bytes += static_cast<char>(value >> shift & 0xff);
    return to_hex(bytes);
}

void put_entry(JsonWriter& json, const discovery::directory::ServiceEntry& entry) {
    json.open_object().field("name", entry.name).field("identity", entry.identity).field("address", entry.address);
    json.key("alpn").open_array();
    for (const std::string& name : entry.alpn)
        json.text(name);
    json.close_array().key("metadata").open_object();
    for (const auto& [key, value] : entry.metadata)
        json.field(key, value);
    json.close_object().field("token", entry.token);
    json.field("first_seen", format_wall_time(entry.first_seen_ms));
    json.field("last_seen", format_wall_time(entry.last_seen_ms));
    json.field("expires_in_ms", to_ms(entry.expires_in)).flag("connected", entry.connected);
    json.flag("stale", !entry.connected).field("relay", entry.relay).close_object();
}

void put_refusal(JsonWriter& json, const discovery::UpdateResponse& told, Code code) {
    json.key("error").open_object().field("code", name_of(code)).field("message", message_of(code, told.message));
    json.close_object();
    if (told.retry_in > Duration::zero()) json.field("retry_in_ms", to_ms_up(told.retry_in));
}

Response answer_update(const discovery::UpdateResponse& told, discovery::Action action) {
    Response response{.status = action == discovery::Action::enter ? 201 : 200};
    JsonWriter json(response.body);
    json.open_object();
    if (told.refused) {
        response.code = answer_code(*told.refused);
        response.status = status_of(*response.code);
        if (told.retry_in > Duration::zero()) response.retry_in = told.retry_in;
        put_refusal(json, told, *response.code);
    }
    if (!told.name.empty()) json.field("name", told.name);
    if (told.token != 0) {
        json.field("token", told.token).field("ttl_ms", to_ms(told.ttl)).field("expires_in_ms", to_ms(told.expires_in));
        json.field("renew_in_ms", to_ms(told.renew_in));
    }
    json.field("relay", hex(told.relay)).field("time_ms", told.time_ms).close_object();
    return response;
}

Response answer_service(const discovery::directory::ServiceEntry& entry) {
    return answer_one("service", entry, put_entry);
}

Response answer_services(const discovery::directory::ServicePage& page) {
    return answer_page("services", page.services, page.next, put_entry);
}

Response answer_relay(const RelayView& view) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("relay", hex(view.relay)).field("time_ms", view.time_ms);
    json.field("address", view.address).close_object();
    return response;
}

std::string service_event(std::string_view event, const discovery::directory::ServiceEntry& entry) {
    std::string text = "event: ";
    text.append(event).append("\ndata: ");
    JsonWriter json(text);
    put_entry(json, entry);
    return text += "\n\n";
}

std::string listed_event() {
    return "event: listed\ndata: {}\n\n";
}

constexpr std::size_t services_per_piece = 100;

std::string_view name_of(discovery::directory::Directory::Change change) {
    switch (change) {
        case discovery::directory::Directory::Change::registered:
            return "registered";
        case discovery::directory::Directory::Change::updated:
            return "updated";
        case discovery::directory::Directory::Change::gone:
            break;
    }
    return "gone";
}

/// Returns the current services piece by piece, then the event that ends the list, then empty strings.
std::function<std::string()> pieces_of(discovery::directory::Directory& directory, std::string glob) {
    auto query = std::make_shared<discovery::directory::ServiceQuery>();
    query->name_glob = std::move(glob);
    query->limit = services_per_piece;
    return [&directory, query, done = false]() mutable {
        std::string piece;
        if (done) return piece;
        directory.list(*query, [&](const authority::Answer<discovery::directory::ServicePage>& answer) {
            const auto* page = std::get_if<discovery::directory::ServicePage>(&answer);
            if (page == nullptr) return;
            for (const discovery::directory::ServiceEntry& entry : page->services)
                piece += service_event("service", entry);
            query->after = page->next;
            done = page->next.empty();
        });
        if (done)
            piece += listed_event();
        else if (piece.empty())
            piece = ":\n\n";  // no match in this piece; an empty string would end the list
        return piece;
    };
}

void stream_services(Services& services, const std::string& glob, const Reply& reply) {
    reply.stream(Feed([&services, glob](const Tell& tell) -> Feeding {
        const auto watch =
            services.directory.watch([tell, glob](auto change, const discovery::directory::ServiceEntry& entry) {
                if (glob.empty() || glob_matches(glob, entry.name)) tell(service_event(name_of(change), entry), false);
            });
        if (watch == 0) tell("event: failed\ndata: {\"code\":\"too_many_connections\"}\n\n", true);
        return {[&services, watch] { services.directory.unwatch(watch); }, pieces_of(services.directory, glob)};
    }));
}

}  // namespace

void handle_update_service(Services& services, const Request& request, const std::string&, Reply reply) {
    const auto decoded = decode_service_update(request);
    if (!decoded) return reply(failure(decoded.error()));
    authority::Caller caller = caller_of(request);
    caller.connection = 0;  // an HTTP connection is not a relay connection (R8)
    services.directory.update(decoded->update, {request.body, decoded->public_key, decoded->signature}, caller,
                              [reply, action = decoded->update.action](const discovery::UpdateResponse& told) {
                                  reply(answer_update(told, action));
                              });
}

void handle_list_services(Services& services, const Request& request, const std::string&, Reply reply) {
    auto query = decode_service_query(request);
    if (!query) return reply(failure(query.error()));
    services.directory.list(std::move(*query),
                            [reply](const authority::Answer<discovery::directory::ServicePage>& answer) {
                                if (const auto* refused = std::get_if<authority::Refused>(&answer))
                                    return reply(failure(*refused));
                                reply(answer_services(std::get<discovery::directory::ServicePage>(answer)));
                            });
}

void handle_get_service(Services& services, const Request& request, const std::string& name, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    services.directory.find(name, [reply](const authority::Answer<discovery::directory::ServiceEntry>& answer) {
        if (const auto* refused = std::get_if<authority::Refused>(&answer)) return reply(failure(*refused));
        reply(answer_service(std::get<discovery::directory::ServiceEntry>(answer)));
    });
}

/// The stream starts once the directory knows all services from before this start. From then on list() replies
/// immediately.
void handle_service_events(Services& services, const Request& request, const std::string&, Reply reply) {
    auto glob = decode_service_glob(request);
    if (!glob) return reply(failure(glob.error()));
    discovery::directory::ServiceQuery one;
    one.limit = 1;
    services.directory.list(
        one, [&services, reply, glob = std::move(*glob)](const authority::Answer<discovery::directory::ServicePage>&) {
            if (reply.open()) stream_services(services, glob, reply);
        });
}

void handle_relay(Services& services, const Request& request, const std::string&, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    const discovery::directory::Directory& directory = services.directory;
    reply(answer_relay({directory.relay(), directory.relay_time_ms(), directory.relay_address()}));
}

}  // namespace holdfast::doors::http
