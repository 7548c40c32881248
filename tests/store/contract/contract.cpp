#include "store/contract/contract.h"

#include <algorithm>

namespace holdfast::store::contract {

std::string contract_name(const testing::TestParamInfo<ContractStore>& info) {
    return info.param.name;
}

bool StoreContract::set_up(std::initializer_list<Ordeal> ordeals, ContractShape shape) {
    const bool several = std::find(ordeals.begin(), ordeals.end(), Ordeal::several_fronts) != ordeals.end();
    if (!several) shape.fronts = 1;
    const auto is_hard = [](Ordeal ordeal) {
        return ordeal != Ordeal::several_fronts && ordeal != Ordeal::tells_changes;
    };
    if (std::ranges::any_of(ordeals, is_hard)) shape.patience = 2s;  // as fronts have it that people run
    tested = GetParam().make(shape);
    for (const Ordeal ordeal : ordeals) {
        skipped = tested->why_not(ordeal);
        if (!skipped.empty()) return false;
    }
    return true;
}

void StoreContract::pass(Duration time) {
    const Duration end = tested->elapsed() + time;
    tested->run_until([&] { return tested->elapsed() >= end; }, time + 60s);
}

auto StoreContract::ask(std::size_t front, const std::string& resource, const Ask& ask) -> Promised<lease::Token> {
    Ask asked = ask;
    if (asked.token == 0) asked.token = ++next_token;
    return apply(front, resource,
                 [asked](lease::Record& record, const lease::Neighbours& neighbours,
                         Instant now) -> authority::Ruling<lease::Token> {
                     lease::Claim claim;
                     claim.holder = asked.holder;
                     claim.session = asked.session;
                     claim.metadata = asked.metadata;
                     claim.predicate = asked.predicate;
                     claim.ttl = asked.ttl;
                     claim.token = asked.token;
                     claim.request = asked.request;
                     claim.queued = asked.request != 0;
                     claim.priority = static_cast<lease::Priority>(asked.request);
                     const auto verdict = lease::acquire(record, neighbours, claim, now);
                     if (const auto* granted = std::get_if<lease::Granted>(&verdict))
                         return {granted->lease->token, Effect::changed};
                     return {lease::Token{0}, Effect::none};
                 });
}

auto StoreContract::ask_renew(std::size_t front, const lease::LeaseName& name, const std::string& holder)
    -> Promised<bool> {
    return apply(front, name.resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        lease::Renewal renewal;
        renewal.token = name.token;
        renewal.holder = holder;
        renewal.resource = name.resource;
        const bool renewed =
            std::holds_alternative<lease::Renewed>(lease::renew(record, renewal, lease::Policy{}, now));
        return {renewed, renewed ? Effect::changed : Effect::none};
    });
}

auto StoreContract::ask_release(std::size_t front, const lease::LeaseName& name, const std::string& holder)
    -> Promised<bool> {
    return apply(front, name.resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        const bool released = std::holds_alternative<lease::Released>(lease::release(record, name.token, holder, now));
        return {released, released ? Effect::freed : Effect::none};
    });
}

auto StoreContract::ask_wait(std::size_t front, const std::string& resource, std::uint64_t request,
                             const std::string& holder, Duration how_long) -> Promised<bool> {
    return apply(front, resource, [=](lease::Record& record, Instant now) -> authority::Ruling<bool> {
        lease::Claim claim;
        claim.holder = holder;
        claim.request = request;
        claim.priority = static_cast<lease::Priority>(request);
        return {!lease::enqueue(record, claim, now + how_long), Effect::changed};
    });
}

auto StoreContract::ask_state(std::size_t front, const lease::LeaseName& name) -> Promised<lease::Verified> {
    return apply(front, name.resource, [=](lease::Record& record, Instant now) -> authority::Ruling<lease::Verified> {
        return {lease::verify(record, name.token, now), Effect::none};
    });
}

auto StoreContract::ask_leases_of(std::size_t front, const std::string& holder)
    -> Promised<std::vector<lease::LeaseName>> {
    auto later = std::make_shared<Later<std::vector<lease::LeaseName>>>();
    tested->store(front).leases_of(
        holder, Store::Which::active, 100'000,
        [later](const Result<std::vector<lease::LeaseName>>& names) { settle_later(*later, names); });
    return later;
}

lease::Token StoreContract::acquire(std::size_t front, const std::string& resource, const Ask& asked) {
    return answer(ask(front, resource, asked)).value_or(0);
}

bool StoreContract::renew(std::size_t front, const lease::LeaseName& name, const std::string& holder) {
    return answer(ask_renew(front, name, holder)).value_or(false);
}

bool StoreContract::release(std::size_t front, const lease::LeaseName& name, const std::string& holder) {
    return answer(ask_release(front, name, holder)).value_or(false);
}

lease::LeaseState StoreContract::state(std::size_t front, const lease::LeaseName& name) {
    const auto verified = answer(ask_state(front, name));
    return verified ? verified->state : lease::LeaseState::unknown;
}

bool StoreContract::ask_answered(std::size_t front, const lease::LeaseName& name) {
    const auto later = ask_state(front, name);
    EXPECT_TRUE(tested->run_until([&] { return later->done; }, 60s)) << "no answer";
    return later->value.has_value();
}

std::vector<std::string> StoreContract::leases_of(std::size_t front, const std::string& holder) {
    std::vector<std::string> lines;
    const auto names = answer(ask_leases_of(front, holder));
    if (names)
        for (const lease::LeaseName& name : *names)
            lines.push_back(to_string(name));
    std::sort(lines.begin(), lines.end());
    return lines;
}

std::vector<std::string> StoreContract::list_all(std::size_t front, const Listing& listing) {
    std::vector<std::string> lines;
    ListQuery query{listing.name_space, listing.prefix, listing.holder, listing.limit, {}};
    std::string after;
    for (int pages = 0; pages < 10'000; ++pages) {
        query.after = after;
        auto later = std::make_shared<Later<ListPage>>();
        tested->store(front).list(query, [later](const Result<ListPage>& page) { settle_later(*later, page); });
        const auto page = answer(later);
        if (!page) break;
        for (const NamedLease& named : page->leases)
            lines.push_back(to_string(lease::LeaseName{named.resource, named.lease.token}));
        after = page->next;
        if (after.empty()) break;
    }
    EXPECT_EQ(after, "") << "a listing without an end";
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

}  // namespace holdfast::store::contract
