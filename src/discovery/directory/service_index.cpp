#include "discovery/directory/service_index.h"

#include <algorithm>
#include <utility>

#include "discovery/directory/service_limits.h"

namespace holdfast::discovery::directory {

using Change = Directory::Change;

namespace {

Duration renewal_of(Duration ttl) {
    return std::min<Duration>(limits::service_renew_every, ttl / 6);
}

}  // namespace

const Service* ServiceIndex::find(std::string_view name) const {
    const auto found = services_.find(name);
    return found == services_.end() ? nullptr : &found->second;
}

std::size_t ServiceIndex::count_of(std::string_view identity) const {
    const auto found = identities_.find(identity);
    return found == identities_.end() ? 0 : found->second;
}

// ---- changes ----

Service ServiceIndex::made_of(std::string_view name, const lease::Lease& lease) const {
    Service service;
    service.identity = lease.holder;
    service.token = lease.token;
    service.ttl = lease.ttl;
    service.expires_at = lease.expires_at;
    service.renewed_at = lease.expires_at - lease.ttl;
    service.advert = advert_of(lease);
    service.from = lease::parse_caller_address(service.advert.from);
    if (service.advert.life == life_) service.connection = service.advert.connection;
    if (hidden_as_) service.hidden = hidden_as_(name, service);
    return service;
}

void ServiceIndex::seen(std::string_view name, const lease::Lease& lease, Instant heard_at) {
    const auto known = services_.find(name);
    if (known != services_.end() && known->second.token == lease.token) return renewed(name, lease, heard_at);
    if (known != services_.end() && known->second.token > lease.token) return;  // already replaced
    Service service = made_of(name, lease);
    service.heard_at = heard_at;
    if (service.connection != 0 && !is_open(service.connection)) {
        // Its connection closed before the store answered (R8).
        releases_.push_back({std::string(name), service.identity, service.token});
        service.connection = 0;
    }
    const bool updates = known != services_.end() && known->second.identity == service.identity;
    const bool was_shown = updates && !known->second.hidden;
    if (known != services_.end()) {
        // Another identity can only get the name after the old lease has ended.
        const Code why = updates ? Code::superseded : known->second.ended.value_or(Code::lease_expired);
        if (!updates || known->second.connection != service.connection) withdraw(known->first, known->second, why);
        if (!updates) tell(known->first, known->second, Change::gone);
        remove(known);
    }
    const auto place = services_.emplace(std::string(name), std::move(service)).first;
    ++identities_[place->second.identity];
    attach(place->first, place->second);
    if (place->second.advert.connection != 0) check_later(place->first, place->second);
    tell(place->first, place->second, was_shown ? Change::updated : Change::registered);
}

void ServiceIndex::renewed(std::string_view name, const lease::Lease& lease, Instant heard_at) {
    const auto known = services_.find(name);
    if (known == services_.end() || known->second.token != lease.token) return;
    Service& service = known->second;
    const Instant renewed_at = lease.expires_at - lease.ttl;
    if (renewed_at <= service.expires_at - service.ttl) return;
    service.expires_at = lease.expires_at;
    service.ttl = lease.ttl;
    // A store with other clocks reports a slightly later expiry with every read (Q6). That is not a renewal.
    if (renewed_at - service.renewed_at < renewal_of(lease.ttl) / 2) return;
    service.renewed_at = renewed_at;
    heard(name, lease.token, heard_at);
}

// ---- silence (D4) ----

Duration silence_of(Duration ttl) {
    return std::max<Duration>(renewal_of(ttl) * 5 / 2, limits::silence_least);
}

bool ServiceIndex::is_stale(const Service& service) const {
    const bool elsewhere = service.connection == 0;
    return service.advert.connection == 0 || service.silent ||
           (elsewhere && unreachable_.contains(service.advert.node));
}

void ServiceIndex::check_later(const std::string& name, Service& service) {
    if (std::exchange(service.is_watched, true)) return;
    checks_.emplace(service.heard_at + silence_of(service.ttl), SilenceCheck{name, service.token});
}

void ServiceIndex::set_silent(Place place, bool silent) {
    Service& service = place->second;
    if (service.silent == silent || service.ended) return;
    const bool was_stale = is_stale(service);
    service.silent = silent;
    if (!silent) check_later(place->first, service);
    if (is_stale(service) != was_stale) tell(place->first, service, Change::updated);
}

void ServiceIndex::heard(std::string_view name, lease::Token token, Instant heard_at) {
    const auto known = services_.find(name);
    if (known == services_.end() || known->second.token != token) return;
    if (heard_at <= known->second.heard_at) return;
    known->second.heard_at = heard_at;
    set_silent(known, false);
}

void ServiceIndex::not_served(std::string_view name, lease::Token token) {
    const auto known = services_.find(name);
    if (known != services_.end() && known->second.token == token) set_silent(known, true);
}

void ServiceIndex::node_is(std::uint32_t node, bool reachable) {
    if (reachable != unreachable_.contains(node)) return;
    std::vector<Place> affected;
    for (auto place = services_.begin(); place != services_.end(); ++place)
        if (place->second.advert.node == node && !place->second.ended) affected.push_back(place);
    std::vector<bool> were_stale;
    for (const Place& place : affected)
        were_stale.push_back(is_stale(place->second));
    if (reachable)
        unreachable_.erase(node);
    else
        unreachable_.insert(node);
    for (std::size_t i = 0; i < affected.size(); ++i)
        if (is_stale(affected[i]->second) != were_stale[i])
            tell(affected[i]->first, affected[i]->second, Change::updated);
}

void ServiceIndex::advance(Instant now) {
    while (!checks_.empty() && checks_.begin()->first <= now) {
        const SilenceCheck check = std::move(checks_.extract(checks_.begin()).mapped());
        const auto known = services_.find(check.name);
        const bool is_current = known != services_.end() && known->second.token == check.token;
        if (!is_current) continue;
        known->second.is_watched = false;
        if (known->second.silent || known->second.ended) continue;
        if (now >= known->second.heard_at + silence_of(known->second.ttl))
            set_silent(known, true);
        else
            check_later(known->first, known->second);
    }
}

void ServiceIndex::ended(std::string_view name, lease::Token token, Code why) {
    const auto known = services_.find(name);
    if (known == services_.end() || known->second.token != token || known->second.ended) return;
    known->second.ended = why;
    endings_.insert(known->first);
}

void ServiceIndex::expire(Instant now) {
    for (const auto& [name, service] : services_)
        if (now >= service.expires_at) ended(name, service.token, Code::lease_expired);
}

void ServiceIndex::leaves(std::string_view name, lease::Token token) {
    const auto known = services_.find(name);
    if (known != services_.end() && known->second.token == token) known->second.leaving = true;
}

void ServiceIndex::hide_and_show(const HiddenAs& hidden_as) {
    hidden_as_ = hidden_as;
    for (auto& [name, service] : services_) {
        const auto hidden = hidden_as(name, service);
        if (hidden == service.hidden || service.ended) continue;
        if (hidden && !service.hidden) {
            tell(name, service, Change::gone);
            withdraw(name, service, *hidden);
        }
        service.hidden = hidden;
        if (!hidden) tell(name, service, Change::registered);
    }
}

void ServiceIndex::remove(Place place) {
    detach(place->first, place->second);
    endings_.erase(place->first);
    const auto owner = identities_.find(place->second.identity);
    if (--owner->second == 0) identities_.erase(owner);
    services_.erase(place);
}

// ---- connections ----

std::size_t ServiceIndex::served_over(std::uint64_t connection) const {
    const auto found = connections_.find(connection);
    return found == connections_.end() ? 0 : found->second.size();
}

void ServiceIndex::attach(const std::string& name, Service& service) {
    if (service.connection == 0) return;
    connections_.at(service.connection).insert(name);
    ++connected_;
}

void ServiceIndex::detach(const std::string& name, Service& service) {
    if (service.connection == 0) return;
    connections_.at(service.connection).erase(name);
    service.connection = 0;
    --connected_;
}

void ServiceIndex::move(std::string_view name, lease::Token token, std::uint64_t connection) {
    const auto known = services_.find(name);
    const bool here = known != services_.end() && known->second.token == token && known->second.connection != 0;
    if (!here || known->second.connection == connection || !is_open(connection)) return;
    detach(known->first, known->second);
    known->second.connection = connection;
    attach(known->first, known->second);
}

void ServiceIndex::close(std::uint64_t connection) {
    const auto closed = connections_.find(connection);
    if (closed == connections_.end()) return;
    const auto names = std::move(closed->second);
    connections_.erase(closed);
    for (const std::string& name : names) {
        Service& service = services_.find(name)->second;
        service.connection = 0;
        --connected_;
        releases_.push_back({name, service.identity, service.token});
    }
}

// ---- notices ----

void ServiceIndex::tell(const std::string& name, const Service& service, Change change) {
    if (!service.hidden) notices_.push_back({change, std::nullopt, name, service});
}

void ServiceIndex::withdraw(const std::string& name, const Service& service, Code why) {
    const bool told_already = service.hidden.has_value();  // notified when it was hidden
    if (service.connection == 0 || service.leaving || told_already) return;
    notices_.push_back({std::nullopt, why, name, service});
}

std::deque<Notice> ServiceIndex::take_notices() {
    for (const std::string& name : std::exchange(endings_, {})) {
        const auto place = services_.find(name);
        withdraw(name, place->second, *place->second.ended);
        tell(name, place->second, Change::gone);
        freed_.push_back({name, place->second.identity});
        remove(place);
    }
    return std::exchange(notices_, {});
}

}  // namespace holdfast::discovery::directory
