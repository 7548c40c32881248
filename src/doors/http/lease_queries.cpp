#include <optional>
#include <string>
#include <vector>

#include "authority/authority.h"
#include "base/assert.h"
#include "base/code.h"
#include "base/result.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "doors/http/lease_json.h"
#include "election/candidate.h"
#include "lease/limits.h"
#include "lease/manifest.h"
#include "lease/resource.h"

namespace holdfast::doors::http {
namespace {

namespace limits = lease::limits;
using authority::Refused;
using VerifyAnswers = authority::Answer<std::vector<authority::VerifyAnswer>>;

/// Either leases or a holder, and the holder's epoch.
struct DecodedVerify {
    std::vector<lease::LeaseName> leases;
    std::string holder;
    std::optional<std::uint64_t> epoch;
};

/// A page of leases to list. Owns the text that store::ListQuery refers to.
struct DecodedList {
    std::string name_space, prefix, holder;
    std::size_t limit = 100;
    std::string after;
};

Result<std::vector<lease::LeaseName>> decode_names(const JsonValue& list) {
    std::vector<lease::LeaseName> names;
    names.reserve(list.items.size());
    for (std::size_t i = 0; i < list.items.size(); ++i) {
        auto name = decode_listed(list.items[i], lease_path(i));
        if (!name) return name.error();
        names.push_back(std::move(*name));
    }
    return names;
}

Result<DecodedVerify> decode_verify(const Request& request) {
    auto body = body_only(request);
    if (!body) return body.error();
    JsonFields fields(*body);
    DecodedVerify verify;
    const JsonValue* leases = fields.array("leases", lease::limits::leases_per_request);
    if (fields.has("leases") == fields.has("holder")) fields.refuse("give either leases or holder");
    verify.holder = fields.text("holder").value_or("");
    verify.epoch = epoch_field(fields);
    if (fields.has("holder")) fields.check(lease::check_holder(verify.holder));
    if (fields.has("epoch") && !fields.has("holder")) fields.refuse("epoch requires holder");
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
    list.holder = query->text("holder", lease::limits::holder_bytes).value_or("");
    list.prefix = query->text("prefix", lease::limits::resource_bytes).value_or("");
    list.name_space = namespace_parameter(*query);
    list.limit = query->whole("limit", 1, 1000).value_or(100);
    list.after = query->text("after", lease::limits::cursor_bytes).value_or("");
    if (auto error = query->error()) return *error;
    return list;
}

void put_verified(JsonWriter& json, const authority::VerifyAnswer& answer) {
    const lease::Verified& verified = answer.verified;
    json.open_object().field("id", to_string(answer.name)).field("state", to_string(verified.state));
    if (verified.lease) {
        json.field("holder", verified.lease->holder);
        json.field("expires_in_ms", to_ms(verified.lease->expires_at - answer.at));
    }
    put_grace(json, verified);
    json.key("current").open_array();
    for (const lease::Lease& lease : verified.current) {
        json.open_object().field("holder", lease.holder).field("predicate", to_string(lease.predicate));
        json.field("token", lease.token).field("expires_in_ms", to_ms(lease.expires_at - answer.at)).close_object();
    }
    json.close_array().close_object();
}

Response answer_lease(const authority::VerifyAnswer& answer) {
    const lease::Verified& verified = answer.verified;
    if (verified.state == lease::LeaseState::unknown) return failure(Code::unknown_lease);
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("lease");
    if (verified.lease) {
        const lease::Timeline timeline = answer.timeline.value_or(lease::timeline_of(*verified.lease, answer.at));
        put_lease(json, {answer.name.resource, *verified.lease, timeline});
    } else {
        json.open_object();
        put_names(json, answer.name.resource, answer.name.token);
        json.field("token", answer.name.token).field("state", to_string(verified.state));
        json.field("ended_ago_ms", to_ms(verified.ended_ago.value_or(Duration::zero())));
        put_grace(json, verified);
        json.close_object();
    }
    json.close_object();
    return response;
}

Response answer_list(const store::ListPage& page, Instant now) {
    return answer_page("leases", page.leases, page.next, [now](JsonWriter& json, const store::NamedLease& named) {
        put_lease(json, {named.resource, named.lease, lease::timeline_of(named.lease, now)});
    });
}

Response answer_verify(const std::vector<authority::VerifyAnswer>& answers) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("results").open_array();
    for (const authority::VerifyAnswer& answer : answers)
        put_verified(json, answer);
    json.close_array().close_object();
    return response;
}

Response answer_leader(const std::string& group, const authority::VerifyAnswer& answer) {
    const lease::Lease* leader = nullptr;
    for (const lease::Lease& lease : answer.verified.current)
        if (lease.predicate == lease::Predicate::mutates && (leader == nullptr || lease.token > leader->token))
            leader = &lease;
    Response response;
    JsonWriter json(response.body);
    json.open_object().field("group", group).field("resource", answer.name.resource);
    if (leader != nullptr) {
        json.field("leader", leader->holder).field("token", leader->token);
        json.field("expires_in_ms", to_ms(leader->expires_at - answer.at));
    } else {
        json.key("leader").null().key("token").null().key("expires_in_ms").null();
    }
    json.close_object();
    return response;
}

Result<std::string> decode_group(const std::string& group) {
    const std::string resource = election::leader_resource(group);
    if (auto checked = lease::check_resource(resource); !checked) return checked.error();
    return lease::normalised(resource);
}

}  // namespace

void handle_get(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    auto name = decode_lease_name(id);
    if (!name) return reply(failure(name.error()));
    std::vector<lease::LeaseName> names{std::move(*name)};
    services.authority.verify(std::move(names), [reply](const VerifyAnswers& answer) {
        if (!reply.open()) return;
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        const auto& answers = std::get<std::vector<authority::VerifyAnswer>>(answer);
        HOLDFAST_ASSERT(answers.size() == 1);
        reply(answer_lease(answers.front()));
    });
}

void handle_list(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_list(request);
    if (!decoded) return reply(failure(decoded.error()));
    const store::ListQuery query{decoded->name_space, decoded->prefix, decoded->holder, decoded->limit, decoded->after};
    services.authority.list(query, [reply, &services](const authority::Answer<store::ListPage>& answer) {
        if (!reply.open()) return;
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_list(std::get<store::ListPage>(answer), services.authority.now()));
    });
}

void handle_verify(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_verify(request);
    if (!decoded) return reply(failure(decoded.error()));
    auto tell = [reply](const VerifyAnswers& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_verify(std::get<std::vector<authority::VerifyAnswer>>(answer)));
    };
    if (decoded->holder.empty()) return services.authority.verify(std::move(decoded->leases), std::move(tell));
    services.authority.verify_all(std::move(decoded->holder), decoded->epoch, std::move(tell));
}

/// Verifying a lease that never existed returns the holder of its resource. Token 0 is never issued.
void handle_get_leader(Services& services, const Request& request, const std::string& group, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    auto resource = decode_group(group);
    if (!resource) return reply(failure(resource.error()));
    std::vector<lease::LeaseName> names{{std::move(*resource), 0}};
    services.authority.verify(std::move(names), [reply, group](const VerifyAnswers& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        const auto& answers = std::get<std::vector<authority::VerifyAnswer>>(answer);
        HOLDFAST_ASSERT(answers.size() == 1);
        reply(answer_leader(group, answers.front()));
    });
}

}  // namespace holdfast::doors::http
