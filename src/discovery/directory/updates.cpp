#include <algorithm>

#include "discovery/directory/directory_impl.h"
#include "discovery/directory/service_name.h"

namespace holdfast::discovery::directory {

namespace {

Code code_of(const authority::SingleRecordAnswer& answer) {
    return *answer.refused == Code::over_quota ? Code::too_many_services : *answer.refused;
}

}  // namespace

UpdateResponse Directory::Impl::refusal(const authority::Refused& why) const {
    UpdateResponse response;
    response.refused = why.code;
    response.message = why.detail.empty() ? std::string(advice_of(why.code)) : why.detail;
    response.time_ms = time_ms();
    response.relay = life;
    return response;
}

UpdateResponse Directory::Impl::response(const authority::SingleRecordAnswer& answer, std::string name) const {
    UpdateResponse response;
    if (answer.refused) {
        response = refusal({code_of(answer), answer.detail, {}});
        response.retry_in = answer.retry_in.value_or(Duration::zero());
    } else {
        response.time_ms = time_ms();
        response.relay = life;
    }
    response.name = std::move(name);
    if (answer.refused || !answer.has_lease || answer.state == lease::LeaseState::released) return response;
    response.token = answer.lease.token;
    response.ttl = answer.lease.ttl;
    response.expires_in = answer.lease.expires_at - answer.at;
    response.renew_in = std::min(limits::service_renew_every, answer.lease.ttl / 6);
    return response;
}

authority::Answer<Update> Directory::Impl::well_formed(Update update) {
    if (update.relay != life) return authority::refused(Code::other_relay);
    const std::int64_t window = to_ms(limits::clock_window);
    if (update.time_ms > time_ms() + window || update.time_ms < time_ms() - window)
        return authority::refused(Code::clock_apart);
    const bool enters = update.action == Action::enter;
    if (enters && update.name.empty()) {
        update.name = given_service_name(random.next());
    } else {
        auto name = normalised_service_name(update.name);
        if (name && enters && !update.returning && is_given_service_name(*name))
            name = Error{Code::invalid_name, "a service's name does not begin with '~', unless it returns"};
        if (!name) return authority::Refused{Code::invalid_name, name.error().message, {}};
        update.name = std::move(*name);
    }
    if (!enters) return update;
    if (auto fault = fault_in(update)) return *fault;
    return update;
}

authority::Answer<std::string> Directory::Impl::signer_of(const Update& update, const Signed& by) {
    const identity::Verifier* verifier = verifiers.find(by.public_key);
    if (verifier == nullptr) return authority::refused(Code::invalid_identity);
    if (!verifier->verify(identity::update_purpose, by.text, by.signature))
        return authority::refused(Code::bad_signature);
    const auto seen = nonces.see(verifier->id(), update.nonce);
    if (seen == ReplayGuard::Seen::before) return authority::refused(Code::replayed);
    if (seen == ReplayGuard::Seen::full) return authority::refused(Code::unavailable);
    return verifier->id();
}

void Directory::Impl::update(Update given, const Signed& by, const authority::Caller& caller,
                             Callback<UpdateResponse> reply) {
    ++updates;
    const auto refuse = [&](const authority::Refused& why) {
        ++refused;
        reply(refusal(why));
    };
    auto update = well_formed(std::move(given));
    if (const auto* why = std::get_if<authority::Refused>(&update)) return refuse(*why);
    auto signer = signer_of(std::get<Update>(update), by);
    if (const auto* why = std::get_if<authority::Refused>(&signer)) return refuse(*why);
    auto call = std::make_shared<Call>();
    call->identity = std::move(std::get<std::string>(signer));
    call->directory = weak_from_this();
    call->update = std::move(std::get<Update>(update));
    call->caller = caller;
    call->from = lease::parse_caller_address(caller.address);
    call->reply = std::move(reply);
    if (caller.connection != 0) book.open(caller.connection);
    if (call->update.action == Action::renew) {
        const Service* known = book.find(call->update.name);
        if (known != nullptr && known->identity == call->identity && known->connection == caller.connection)
            book.heard(call->update.name, call->update.token, authority.now());
    }
    start(call);
    settle();
}

std::optional<Code> Directory::Impl::over_limit(const Call& call) const {
    const Service* known = book.find(call.update.name);
    const bool one_more = known == nullptr || known->identity != call.identity;
    if (one_more && book.all().size() + entering_all >= limits::services) return Code::too_many_services;
    const std::size_t most = policy().leases_per_holder_max();
    if (one_more && most != 0 && book.count_of(call.identity) >= most) return Code::too_many_services;
    const std::uint64_t connection = call.caller.connection;
    if (connection == 0 || (known != nullptr && known->connection == connection)) return std::nullopt;
    const auto found = entering.find(connection);
    const std::size_t coming = found == entering.end() ? 0 : found->second;
    if (book.served_over(connection) + coming >= limits::services_per_connection) return Code::too_many_services;
    return std::nullopt;
}

EnterTerms Directory::Impl::enter_terms(const Call& call) const {
    const Update& update = call.update;
    EnterTerms terms;
    if (update.returning) terms.returning = update.token;
    terms.ttl = update.ttl > Duration::zero()
                    ? update.ttl
                    : std::clamp<Duration>(limits::service_ttl, policy().ttl_min(), policy().ttl_max());
    terms.advert = {.address = update.address,
                    .alpn = update.alpn,
                    .metadata = update.metadata,
                    .from = call.from ? to_string(*call.from) : std::string(),
                    .first_seen_ms = time_ms(),
                    .life = life,
                    .relay = call.caller.connection != 0 ? relay_address : std::string(),
                    .connection = call.caller.connection,
                    .node = call.caller.connection != 0 ? node : 0};
    return terms;
}

/// A renewal over a connection is refused unless the lease is served here, since consumers could not be led to it. A
/// new connection of the same publisher may renew a lease of its old one, which this relay may not yet know to be gone.
RenewTerms Directory::Impl::renew_terms(const Call& call) const {
    const Service* known = book.find(call.update.name);
    const bool served_here = known != nullptr && known->token == call.update.token && known->connection != 0;
    RenewTerms terms;
    terms.token = call.update.token;
    if (call.update.ttl > Duration::zero()) terms.ttl = call.update.ttl;
    terms.unreachable = call.caller.connection != 0 && !served_here;
    return terms;
}

void Directory::Impl::start(const std::shared_ptr<Call>& call) {
    const Action action = call->update.action;
    if (action == Action::enter) {
        if (const auto code = over_limit(*call)) {
            ++refused;
            if (book.is_open(call->caller.connection))
                stand_bys.refused({call->caller.connection, call->update.name, call->identity, call->from, *code});
            return call->reply(refusal(authority::refused(*code)));
        }
        call->terms = enter_terms(*call);
        ++entering_all;
        if (call->caller.connection != 0) ++entering[call->caller.connection];
    } else if (action == Action::renew) {
        call->terms = renew_terms(*call);
    } else {
        call->terms = lease::Token{call->update.token};
        const Service* known = book.find(call->update.name);
        if (known != nullptr && known->identity == call->identity && known->connection == call->caller.connection)
            book.leaves(call->update.name, call->update.token);
    }
    const std::string resource = service_resource(call->update.name);
    authority.single_record().update(
        {.resource = resource, .holder = call->identity, .acts_for = lease::Owner::directory},
        [call](authority::RecordTransaction& desk) {
            if (const auto directory = call->directory.lock()) return directory->decide(desk, *call);
            desk.answer().refused = Code::stopping;
        },
        [call](const authority::SingleRecordAnswer& answer) {
            if (const auto directory = call->directory.lock()) directory->decided(*call, answer);
        });
}

/// Runs on the record, at the store's time, under the policy in force at that time (R7).
void Directory::Impl::decide(authority::RecordTransaction& desk, const Call& call) const {
    if (const auto* token = std::get_if<lease::Token>(&call.terms)) return leave_service(desk, *token);
    if (call.from && address_bans.covers(*call.from)) {
        desk.answer().refused = Code::banned;
        desk.answer().retry_in = limits::stand_by;
        return;
    }
    if (const auto* terms = std::get_if<EnterTerms>(&call.terms)) return enter_service(desk, *terms);
    renew_service(desk, std::get<RenewTerms>(call.terms));
}

void Directory::Impl::note_applicant(const Call& call) {
    applicants.refused({call.identity, call.update.name, call.from ? to_string(*call.from) : std::string(), time_ms()},
                       authority.now());
}

void Directory::Impl::decided(Call& call, const authority::SingleRecordAnswer& answer) {
    const Update& update = call.update;
    if (update.action == Action::enter) {
        --entering_all;
        const auto coming = entering.find(call.caller.connection);
        if (coming != entering.end() && --coming->second == 0) entering.erase(coming);
    }
    UpdateResponse told = response(answer, update.name);
    if (answer.refused) {
        ++refused;
        if (auto reason = reason_of(*answer.refused, update.name, call.identity, call.from); !reason.empty())
            told.message = std::move(reason);
        if (*answer.refused == Code::awaiting_approval) note_applicant(call);
        if (book.is_open(call.caller.connection))
            stand_bys.refused({call.caller.connection, update.name, call.identity, call.from, code_of(answer)});
    } else if (update.action == Action::enter) {
        book.seen(update.name, answer.lease, authority.now());
        stand_bys.settled(call.caller.connection, update.name);
    } else if (update.action == Action::renew) {
        book.renewed(update.name, answer.lease, authority.now());
        stand_bys.settled(call.caller.connection, update.name);
        if (call.caller.connection != 0) book.move(update.name, update.token, call.caller.connection);
    } else {
        book.ended(update.name, update.token, Code::lease_released);
        stand_bys.settled(call.caller.connection, update.name);
    }
    call.reply(std::move(told));
    settle();
}

}  // namespace holdfast::discovery::directory
