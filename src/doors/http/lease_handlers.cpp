#include <algorithm>

#include "base/random.h"
#include "doors/http/answers.h"
#include "doors/http/decode.h"
#include "doors/http/handlers.h"
#include "lease/owner.h"

namespace holdfast::http {
namespace {

using core::Refused;
using VerifyAnswers = core::Answer<std::vector<core::VerifyAnswer>>;

Moment moment_of(const Services& services) {
    return {services.authority.now()};
}

}  // namespace

namespace {

/// If it cannot be now, and it is known for how long, that is what the answer says.
core::AcquireAnswer with_known_wait(const core::AcquireAnswer& answer, const Services& services) {
    const auto* refused = std::get_if<core::Refused>(&answer);
    if (refused == nullptr || refused->code != core::Code::unavailable || !services.own_trouble) return answer;
    const std::optional<Trouble> trouble = services.own_trouble();
    if (!trouble || !trouble->left) return answer;
    core::Refused told = *refused;
    told.retry_in = trouble->left;
    return told;
}

/// Only the session proves the leader, so nobody leads without one (R2): it could not step down.
void name_session_of_leader(core::AcquireRequest& request) {
    const auto leads = [](const core::Intent& intent) {
        return core::owner_of(intent.resource) == core::Owner::leaders;
    };
    if (!request.session.empty() || !std::any_of(request.intents.begin(), request.intents.end(), leads)) return;
    request.session = request.idempotency_key.empty() ? random_hex(16) : request.idempotency_key;
}

}  // namespace

void handle_acquire(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_acquire(request);
    if (!decoded) return reply(failure(decoded.error()));
    name_session_of_leader(decoded->request);
    const ClientTime client_time = decoded->client_time_ms;
    if (decoded->request.wait > Duration::zero()) decoded->request.reachable = [reply] { return reply.reachable(); };
    const auto ticket = services.authority.acquire(
        std::move(decoded->request), [reply, client_time, &services](const core::AcquireAnswer& answer) {
            if (reply.open())
                reply(answer_acquire(with_known_wait(answer, services), client_time, moment_of(services)));
        });
    if (ticket != 0) reply.wait([&services, ticket] { services.authority.cancel(ticket); });
}

void handle_renew(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_single_renewal(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    const ClientTime client_time = decoded->client_time_ms;
    services.authority.renew(std::move(decoded->request),
                             [reply, client_time, &services](const std::vector<core::RenewAnswer>& answers) {
                                 if (!reply.open()) return;
                                 HOLDFAST_ASSERT(answers.size() == 1);
                                 reply(answer_renewal(answers.front(), client_time, moment_of(services)));
                             });
}

void handle_renew_many(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_renewal(request);
    if (!decoded) return reply(failure(decoded.error()));
    const ClientTime client_time = decoded->client_time_ms;
    const auto tell = [reply, client_time, &services](const core::RenewAllAnswer& all) {
        if (reply.open()) reply(answer_renewals(all, client_time, moment_of(services)));
    };
    if (!decoded->all)
        return services.authority.renew(std::move(decoded->request),
                                        [tell](std::vector<core::RenewAnswer> answers) { tell({std::move(answers)}); });
    services.authority.renew_all(std::move(decoded->request),
                                 [reply, tell](const core::Answer<core::RenewAllAnswer>& answer) {
                                     if (const auto* refused = std::get_if<Refused>(&answer))
                                         return reply(failure(*refused));
                                     tell(std::get<core::RenewAllAnswer>(answer));
                                 });
}

void handle_release(Services& services, const Request& request, const std::string& id, Reply reply) {
    auto decoded = decode_release(request, id);
    if (!decoded) return reply(failure(decoded.error()));
    core::LeaseName name = decoded->name;
    services.authority.release(std::move(*decoded),
                               [reply, name = std::move(name)](const core::Answer<core::ReleaseAnswer>& answer) {
                                   if (const auto* refused = std::get_if<Refused>(&answer))
                                       return reply(failure(*refused));
                                   reply(answer_release(name, std::get<core::ReleaseAnswer>(answer)));
                               });
}

void handle_get(Services& services, const Request& request, const std::string& id, Reply reply) {
    if (auto nothing = decode_nothing(request); !nothing) return reply(failure(nothing.error()));
    auto name = decode_lease_name(id);
    if (!name) return reply(failure(name.error()));
    std::vector<core::LeaseName> names{std::move(*name)};
    services.authority.verify(std::move(names), [reply, &services](const VerifyAnswers& answer) {
        if (!reply.open()) return;
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        const auto& answers = std::get<std::vector<core::VerifyAnswer>>(answer);
        HOLDFAST_ASSERT(answers.size() == 1);
        reply(answer_lease(answers.front(), moment_of(services)));
    });
}

void handle_list(Services& services, const Request& request, const std::string&, Reply reply) {
    auto decoded = decode_list(request);
    if (!decoded) return reply(failure(decoded.error()));
    const core::ListQuery query{decoded->name_space, decoded->prefix, decoded->holder, decoded->limit, decoded->after};
    services.authority.list(query, [reply, &services](const core::Answer<core::ListPage>& answer) {
        if (!reply.open()) return;
        if (const auto* refused = std::get_if<Refused>(&answer)) return reply(failure(*refused));
        reply(answer_list(std::get<core::ListPage>(answer), moment_of(services)));
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

}  // namespace holdfast::http
