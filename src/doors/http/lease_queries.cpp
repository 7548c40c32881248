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

namespace holdfast::http {
namespace {

namespace limits = core::limits;
using core::Code;
using core::Refused;
using VerifyAnswers = core::Answer<std::vector<core::VerifyAnswer>>;

/// Either leases or a holder, and the holder's epoch.
struct DecodedVerify {
    std::vector<core::LeaseName> leases;
    std::string holder;
    std::optional<std::uint64_t> epoch;
};

/// A page of leases to list. Owns the text that core::ListQuery refers to.
struct DecodedList {
    std::string name_space, prefix, holder;
    std::size_t limit = 100;
    std::string after;
};

Result<std::vector<core::LeaseName>> decode_names(const JsonValue& list) {
    std::vector<core::LeaseName> names;
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
    Fields fields(*body);
    DecodedVerify verify;
    const JsonValue* leases = fields.array("leases", limits::leases_per_request);
    if (fields.has("leases") == fields.has("holder")) fields.refuse("give either leases or holder");
    verify.holder = fields.text("holder").value_or("");
    verify.epoch = epoch_field(fields);
    if (fields.has("holder")) fields.check(core::check_holder(verify.holder));
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
    list.holder = query->text("holder", limits::holder_bytes).value_or("");
    list.prefix = query->text("prefix", limits::resource_bytes).value_or("");
    list.name_space = namespace_parameter(*query);
    list.limit = query->whole("limit", 1, 1000).value_or(100);
    list.after = query->text("after", core::limits::cursor_bytes).value_or("");
    if (auto error = query->error()) return *error;
    return list;
}

void put_verified(JsonWriter& json, const core::VerifyAnswer& answer) {
    const core::Verified& verified = answer.verified;
    json.open_object().field("id", core::to_string(answer.name)).field("state", core::to_string(verified.state));
    if (verified.lease) {
        json.field("holder", verified.lease->holder);
        json.field("expires_in_ms", to_ms(verified.lease->expires_at - answer.at));
    }
    put_grace(json, verified);
    json.key("current").open_array();
    for (const core::Lease& lease : verified.current) {
        json.open_object().field("holder", lease.holder).field("predicate", core::to_string(lease.predicate));
        json.field("token", lease.token).field("expires_in_ms", to_ms(lease.expires_at - answer.at)).close_object();
    }
    json.close_array().close_object();
}

Response answer_lease(const core::VerifyAnswer& answer) {
    const core::Verified& verified = answer.verified;
    if (verified.state == core::LeaseState::unknown) return failure(Code::unknown_lease);
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("lease");
    if (verified.lease) {
        const core::Timeline timeline = answer.timeline.value_or(core::timeline_of(*verified.lease, answer.at));
        put_lease(json, {answer.name.resource, *verified.lease, timeline});
    } else {
        json.open_object();
        put_names(json, answer.name.resource, answer.name.token);
        json.field("token", answer.name.token).field("state", core::to_string(verified.state));
        json.field("ended_ago_ms", to_ms(verified.ended_ago.value_or(Duration::zero())));
        put_grace(json, verified);
        json.close_object();
    }
    json.close_object();
    return response;
}

Response answer_list(const core::ListPage& page, Instant now) {
    return answer_page("leases", page.leases, page.next, [now](JsonWriter& json, const core::NamedLease& named) {
        put_lease(json, {named.resource, named.lease, core::timeline_of(named.lease, now)});
    });
}

Response answer_verify(const std::vector<core::VerifyAnswer>& answers) {
    Response response;
    JsonWriter json(response.body);
    json.open_object().key("results").open_array();
    for (const core::VerifyAnswer& answer : answers)
        put_verified(json, answer);
    json.close_array().close_object();
    return response;
}

Response answer_leader(const std::string& group, const core::VerifyAnswer& answer) {
    const core::Lease* leader = nullptr;
    for (const core::Lease& lease : answer.verified.current)
        if (lease.predicate == core::Predicate::mutates && (leader == nullptr || lease.token > leader->token))
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
    const std::string resource = core::leader_resource(group);
    if (auto checked = core::check_resource(resource); !checked) return checked.error();
    return core::normalised(resource);
}

}  // namespace

void handle_get(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    auto name = decode_lease_name(id);
    if (!name) return reply(failure(name.error()));
    std::vector<core::LeaseName> names{std::move(*name)};
    services.authority.verify(std::move(names), [reply](const VerifyAnswers& answer) {
        if (!reply.open()) return;
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        const auto& answers = std::get<std::vector<core::VerifyAnswer>>(answer);
        HOLDFAST_ASSERT(answers.size() == 1);
        reply(answer_lease(answers.front()));
    });
}

void handle_list(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_list(request);
    if (!decoded) return reply(failure(decoded.error()));
    const core::ListQuery query{decoded->name_space, decoded->prefix, decoded->holder, decoded->limit, decoded->after};
    services.authority.list(query, [reply, &services](const core::Answer<core::ListPage>& answer) {
        if (!reply.open()) return;
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_list(std::get<core::ListPage>(answer), services.authority.now()));
    });
}

void handle_verify(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_verify(request);
    if (!decoded) return reply(failure(decoded.error()));
    auto tell = [reply](const VerifyAnswers& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_verify(std::get<std::vector<core::VerifyAnswer>>(answer)));
    };
    if (decoded->holder.empty()) return services.authority.verify(std::move(decoded->leases), std::move(tell));
    services.authority.verify_all(std::move(decoded->holder), decoded->epoch, std::move(tell));
}

/// Verifying a lease that never existed returns the holder of its resource. Token 0 is never issued.
void handle_get_leader(Services& services, const Request& request, const std::string& group, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    auto resource = decode_group(group);
    if (!resource) return reply(failure(resource.error()));
    std::vector<core::LeaseName> names{{std::move(*resource), 0}};
    services.authority.verify(std::move(names), [reply, group](const VerifyAnswers& answer) {
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        const auto& answers = std::get<std::vector<core::VerifyAnswer>>(answer);
        HOLDFAST_ASSERT(answers.size() == 1);
        reply(answer_leader(group, answers.front()));
    });
}

}  // namespace holdfast::http
