#include "authority/authority_impl.h"

namespace holdfast::authority {

/// Calls `then` with nullopt if the agent neither holds nor waits for anything; otherwise with a refusal, `otherwise`
/// or a store failure.
void Authority::Impl::if_idle(const std::string& id, Code otherwise, Callback<std::optional<Refused>> then) {
    if (acquisitions.waits(id)) return then(refused(otherwise));
    store->leases_of(id, store::Store::Which::active_or_reserved, 1,
                     [otherwise, then = std::move(then)](const Result<std::vector<lease::LeaseName>>& held) mutable {
                         if (!held) return then(storage_failure(held.error()));
                         if (!held->empty()) return then(refused(otherwise));
                         then(std::nullopt);
                     });
}

void Authority::Impl::tell_agent(const std::string& id, bool created, Callback<Answer<AgentAnswer>> reply) {
    const Agent* agent = agents.find(id);
    if (agent == nullptr) return reply(refused(Code::unknown_agent));
    auto answer = std::make_shared<AgentAnswer>(AgentAnswer{*agent, 0, {}, created});
    store->leases_of(
        id, store::Store::Which::active, SIZE_MAX,
        [this, answer, reply = std::move(reply)](const Result<std::vector<lease::LeaseName>>& held) mutable {
            if (!held) return reply(storage_failure(held.error()));
            answer->leases = held->size();
            acquisitions.survey(answer->agent.id,
                                [answer, reply = std::move(reply)](Answer<std::vector<WaitingRequest>> found) mutable {
                                    if (auto* failed = std::get_if<Refused>(&found)) return reply(std::move(*failed));
                                    answer->waiting = std::get<std::vector<WaitingRequest>>(std::move(found));
                                    reply(std::move(*answer));
                                });
        });
}

void Authority::put_agent(AgentRequest request, Callback<Answer<AgentAnswer>> reply) {
    if (const auto barred = lease::bar_to(impl_->policy(), request.id, {}); barred == Code::banned)
        return reply(refused_under(impl_->policy(), Code::banned, request.id));
    const Agent* known = impl_->agents.find(request.id);
    const bool changes_priority = known != nullptr && request.priority && *request.priority != known->priority;
    if (changes_priority && known->deaths > 0) return reply(refused(Code::priority_fixed));
    auto asked = std::make_shared<const AgentRequest>(std::move(request));
    auto put = [this, asked, reply = std::move(reply)](std::optional<Refused> refusal) mutable {
        if (refusal) return reply(std::move(*refusal));
        const Duration kept = std::max(lease::limits::agent_kept, impl_->policy().longest_ttl());
        impl_->agents.put(*asked, {impl_->timestamp(), kept}, impl_->now,
                          [this, asked, reply = std::move(reply)](Answer<bool> created) mutable {
                              if (auto* failed = std::get_if<Refused>(&created)) return reply(std::move(*failed));
                              impl_->tell_agent(asked->id, std::get<bool>(created), std::move(reply));
                          });
    };
    if (changes_priority)
        impl_->if_idle(asked->id, Code::priority_fixed, std::move(put));
    else
        put(std::nullopt);
    impl_->settle_accounts();
}

void Authority::get_agent(const std::string& id, Callback<Answer<AgentAnswer>> reply) {
    impl_->tell_agent(id, false, std::move(reply));
}

AgentPage Authority::agents(std::string_view after, std::size_t limit) const {
    return impl_->agents.page(after, limit);
}

void Authority::declare_restart(AgentRequest request, Callback<Answer<RestartAnswer>> reply) {
    if (impl_->agents.find(request.id) == nullptr) return reply(refused(Code::unknown_agent));
    if (const auto stale = impl_->agents.see(request.id, request.epoch, impl_->now)) return reply(refused(*stale));
    impl_->agents.declare_restart(request.id);
    const auto id = std::make_shared<const std::string>(std::move(request.id));
    impl_->store->leases_of(*id, store::Store::Which::active, SIZE_MAX,
                            [this, id, reply = std::move(reply)](Result<std::vector<lease::LeaseName>> held) mutable {
                                if (!held) return reply(storage_failure(held.error()));
                                impl_->reserve_all(id, std::move(*held), std::move(reply));
                            });
    impl_->settle_accounts();
}

void Authority::Impl::reserve_all(const std::shared_ptr<const std::string>& id, std::vector<lease::LeaseName> held,
                                  Callback<Answer<RestartAnswer>> reply) {
    struct Reserving {
        RestartAnswer answer;
        std::size_t missing = 0;
        Callback<Answer<RestartAnswer>> reply;
    };
    const auto reserving = std::make_shared<Reserving>();
    reserving->answer.agent = *agents.find(*id);
    reserving->reply = std::move(reply);
    // An agent must not mark the leases of a service, even if it uses the same holder name.
    std::erase_if(held,
                  [](const lease::LeaseName& name) { return lease::owner_of(name.resource) != lease::Owner::nobody; });
    // Several leases of one record are marked together.
    std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.resource < b.resource; });
    held.erase(
        std::unique(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.resource == b.resource; }),
        held.end());
    reserving->missing = held.size() + 1;
    const auto arrived = [reserving](std::size_t marked) {
        reserving->answer.reserved += marked;
        if (--reserving->missing == 0) reserving->reply(std::move(reserving->answer));
    };
    for (const lease::LeaseName& name : held)
        apply_rule(
            *store, name.resource,
            [id](lease::Record& record, Instant at) {
                return Ruling{lease::declare_restart(record, *id, at), store::Effect::changed};
            },
            [arrived](const Result<std::size_t>& marked) { arrived(marked ? *marked : 0); });
    arrived(0);
}

void Authority::forget_agent(const std::string& id, Callback<Answer<bool>> reply, const Caller& by) {
    auto audit = impl_->audited(by, "forget agent " + id);
    impl_->if_idle(
        id, Code::agent_busy,
        [this, id, audit = std::move(audit), reply = std::move(reply)](std::optional<Refused> refusal) mutable {
            if (refusal && impl_->agents.find(id) != nullptr) return reply(std::move(*refusal));
            impl_->agents.forget(id, audit, std::move(reply));
        });
}

void Authority::take_agent(const store::SavedAgent& agent) {
    impl_->agents.take(agent, impl_->now);
    impl_->settle_accounts();
}

void Authority::take_forgotten_agent(const std::string& id) {
    impl_->agents.take_forgotten(id);
}

void Authority::take_agents(const std::map<std::string, store::SavedAgent, std::less<>>& all) {
    impl_->agents.take_all(all, impl_->now);
    impl_->settle_accounts();
}

}  // namespace holdfast::authority
