#include "discovery/directory/directory.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "base/glob.h"
#include "discovery/directory/directory_impl.h"
#include "discovery/directory/service_name.h"
#include "lease/manifest.h"

namespace holdfast::discovery::directory {
namespace {

constexpr std::size_t leases_per_look = 1000;
constexpr Duration look_every = 10s;
/// The work limit of a page, in pattern bytes compared; each service costs a fixed amount in addition.
constexpr std::uint64_t page_steps = 1'000'000;
constexpr std::uint64_t steps_per_service = 100;

/// Subtracts the work from `steps`, down to zero. A match is never cut short: the limits on pattern and name keep it
/// small.
bool matches(std::string_view glob, std::string_view name, std::uint64_t& steps) {
    if (glob.empty()) return true;
    std::uint64_t of_one = std::numeric_limits<std::uint64_t>::max();
    const bool found = glob_matches(glob, name, of_one);
    steps -= std::min(steps, std::numeric_limits<std::uint64_t>::max() - of_one);
    return found;
}

std::size_t bytes_of(const ServiceEntry& entry) {
    std::size_t bytes = sizeof entry + entry.name.size() + entry.address.size();
    for (const std::string& name : entry.alpn)
        bytes += name.size();
    for (const auto& [key, value] : entry.metadata)
        bytes += key.size() + value.size();
    return bytes;
}

}  // namespace

Directory::Impl::Impl(Parts given)
    : authority(given.authority),
      life(given.relay),
      wall_ms(given.wall_ms),
      started_at(given.started_at),
      withdraw(std::move(given.withdraw)),
      may_retry(std::move(given.may_retry)),
      node(given.node),
      random(given.seed),
      book(life),
      nonces({{random.next(), random.next()}, 2 * limits::clock_window + 1s, limits::nonces_per_generation}) {}

void Directory::Impl::begin() {
    following = authority.events().follow(std::string(lease::services_prefix),
                                          [this](authority::EventKind kind, std::string_view resource,
                                                 const lease::Lease& lease) { on_lease(kind, resource, lease); });
    authority.on_policy_changed([this] { on_policy(); });
    on_policy();
}

void Directory::Impl::end() {
    authority.events().unfollow(following);
    authority.on_policy_changed({});
}

// ---- external events ----

void Directory::Impl::on_lease(authority::EventKind kind, std::string_view resource, const lease::Lease& lease) {
    const std::string_view name = service_name_of(resource);
    switch (kind) {
        case authority::EventKind::granted:
            return book.seen(name, lease, authority.now());
        case authority::EventKind::renewed:
            return book.renewed(name, lease, authority.now());
        case authority::EventKind::released:
            return book.ended(name, lease.token, Code::lease_released);
        case authority::EventKind::expired:
            return book.ended(name, lease.token, Code::lease_expired);
        case authority::EventKind::revoked:
            return book.ended(name, lease.token, Code::lease_revoked);
    }
}

std::optional<Code> Directory::Impl::hidden_as(std::string_view name, const Service& service) const {
    const lease::Policy& policy = authority.policy();
    const bool banned = policy.bans.contains(service.identity) || (service.from && address_bans.covers(*service.from));
    if (banned) return Code::banned;
    if (lease::name_denial(policy, service.identity, name) != nullptr) return Code::name_denied;
    return std::nullopt;
}

std::string Directory::Impl::reason_of(Code code, std::string_view name, std::string_view identity,
                                       const std::optional<lease::IpPrefix>& from) const {
    const lease::Policy& policy = authority.policy();
    std::string reason;
    if (code == Code::banned) {
        const auto ban = policy.bans.find(identity);
        if (ban != policy.bans.end())
            reason = ban->second.reason;
        else if (const lease::Ban* of_address = from ? address_bans.find(*from, policy) : nullptr)
            reason = of_address->reason;
    } else if (code == Code::name_denied) {
        if (const lease::NameRule* rule = lease::name_denial(policy, identity, name)) reason = rule->reason;
    }
    if (reason.empty()) return {};
    return fmt::format("{} (the admin's reason: {})", advice_of(code), reason);
}

void Directory::Impl::on_policy() {
    address_bans = lease::AddressBans(authority.policy());
    applicants.reconsider(authority.policy());
    book.hide_and_show([this](std::string_view name, const Service& service) { return hidden_as(name, service); });
    stand_bys.policy_changed([this](const StandBys::Refusal& refusal) { return may_have(refusal); });
    settle();
}

bool Directory::Impl::may_have(const StandBys::Refusal& refusal) const {
    if (refusal.from && address_bans.covers(*refusal.from)) return false;
    const std::size_t most = policy().leases_per_holder_max();
    if (refusal.code == Code::too_many_services && most != 0 && book.count_of(refusal.identity) >= most) return false;
    return !lease::bar_to(authority.policy(), refusal.identity, service_resource(refusal.name));
}

void Directory::Impl::settle() {
    if (settling) return;  // a settle() further up the stack will pick this up
    const auto alive = shared_from_this();
    settling = true;
    while (anything_to_do()) {
        for (const auto& what : book.take_releases())
            release(what);
        for (const Notice& notice : book.take_notices())
            tell(notice);
        for (const auto& freed : book.take_freed()) {
            stand_bys.freed(freed.name);
            stand_bys.gained_room(freed.identity, book.all().size() + 1 >= limits::services);
        }
        tell_who_may_retry();
    }
    settling = false;
}

void Directory::Impl::tell(const Notice& notice) {
    const Service& service = notice.service;
    if (notice.withdrawn) {
        // A publisher whose service was hidden is notified when it is shown again.
        const bool is_hidden = *notice.withdrawn == Code::banned || *notice.withdrawn == Code::name_denied;
        if (is_hidden && book.is_open(service.connection))
            stand_bys.refused({service.connection, notice.name, service.identity, service.from, *notice.withdrawn});
        std::string why = reason_of(*notice.withdrawn, notice.name, service.identity, service.from);
        if (is_hidden && why.empty()) why = advice_of(*notice.withdrawn);
        if (withdraw) withdraw({service.connection, notice.name, service.token, *notice.withdrawn, std::move(why)});
    }
    if (!notice.change || watchers.empty()) return;
    ServiceEntry told = entry(notice.name, service);
    if (*notice.change == Change::gone) told.connected = false;
    const auto listening = watchers;
    for (const auto& [number, watcher] : listening)
        if (watchers.contains(number)) watcher(*notice.change, told);
}

void Directory::Impl::tell_who_may_retry() {
    const auto ready = stand_bys.take_ready();
    const Duration within = std::min<Duration>(
        limits::retry_spread_each * static_cast<Duration::rep>(ready.size() - (ready.empty() ? 0 : 1)),
        limits::max_retry_spread);
    for (const StandBys::Ready& one : ready)
        if (may_retry) may_retry({one.connection, one.name, within});
}

void Directory::Impl::release(const ServiceIndex::ToRelease& what) {
    authority.single_record().update(
        {.resource = service_resource(what.name), .holder = what.identity, .acts_for = lease::Owner::directory},
        [token = what.token](authority::RecordTransaction& desk) { leave_service(desk, token); },
        [directory = weak_from_this(), name = what.name,
         token = what.token](const authority::SingleRecordAnswer& answer) {
            const auto self = directory.lock();
            if (!self || answer.refused) return;  // the lease expires
            self->book.ended(name, token, Code::lease_released);
            self->settle();
        });
}

// ---- reads ----

ServiceEntry Directory::Impl::entry(std::string_view name, const Service& service) const {
    const Advert& advert = service.advert;
    const bool elsewhere = advert.life != life && advert.connection != 0 && advert.relay != relay_address;
    ServiceEntry shown;
    shown.name = name;
    shown.identity = service.identity;
    shown.token = service.token;
    shown.address = advert.address;
    shown.alpn = advert.alpn;
    shown.metadata = advert.metadata;
    shown.first_seen_ms = advert.first_seen_ms;
    const Instant seen_at = std::min(authority.now(), service.renewed_at);
    shown.last_seen_ms = std::max(advert.first_seen_ms, wall_ms + to_ms(seen_at - started_at));
    shown.expires_in = std::max<Duration>(service.expires_at - authority.now(), Duration::zero());
    const bool has_connection = service.connection != 0 || elsewhere;
    shown.connected = has_connection && !book.is_stale(service);
    // A silent service keeps its relay, since that relay knows best. A service on an unreachable node has none.
    if (has_connection && (shown.connected || service.silent)) shown.relay = elsewhere ? advert.relay : relay_address;
    return shown;
}

ServicePage Directory::Impl::page(const ServiceQuery& query) const {
    ServicePage page;
    std::size_t bytes = 0;
    const std::string_view prefix = glob_prefix(query.name_glob);
    const auto& all = book.all();
    auto place = query.after < prefix ? all.lower_bound(prefix) : all.upper_bound(query.after);
    std::uint64_t steps = page_steps;
    std::string_view last = query.after;
    for (; place != all.end() && place->first.starts_with(prefix); ++place) {
        if (page.services.size() == query.limit || bytes >= lease::limits::page_bytes || steps < steps_per_service) {
            page.next = last;
            break;
        }
        last = place->first;
        steps -= steps_per_service;
        if (!is_shown(place->second) || !matches(query.name_glob, place->first, steps)) continue;
        page.services.push_back(entry(place->first, place->second));
        bytes += bytes_of(page.services.back());
    }
    return page;
}

void Directory::Impl::load_page() {
    loading = true;
    store::ListQuery query;
    query.name_space = lease::services_prefix.substr(1, lease::services_prefix.size() - 2);
    query.limit = leases_per_look;
    query.after = load_after;
    authority.list(query, [directory = weak_from_this()](const authority::Answer<store::ListPage>& answer) {
        if (const auto self = directory.lock()) self->loaded(answer);
    });
}

void Directory::Impl::loaded(const authority::Answer<store::ListPage>& answer) {
    loading = false;
    const auto* found = std::get_if<store::ListPage>(&answer);
    if (found != nullptr)
        for (const store::NamedLease& named : found->leases)
            book.seen(service_name_of(named.resource), named.lease, renewed_at(named.lease));
    load_after = found != nullptr ? found->next : std::string();
    if (!load_after.empty()) return;  // the next advance() reads the next page
    known_all = true;
    const bool others_write = authority.events().teller() == authority::Events::Teller::store;
    load_at = others_write ? authority.now() + look_every : Instant::max();
    for (Waiter& waiter : std::exchange(waiting_for_all, {}))
        waiter.reply(page(waiter.query));
}

// ---- the directory ----

Directory::Directory(Parts parts) : impl_(std::make_shared<Impl>(std::move(parts))) {
    impl_->begin();
}

Directory::~Directory() {
    impl_->end();
}

void Directory::relay_address(std::string address) {
    impl_->relay_address = std::move(address);
}
const std::string& Directory::relay_address() const {
    return impl_->relay_address;
}
std::uint64_t Directory::relay() const {
    return impl_->life;
}
std::int64_t Directory::relay_time_ms() const {
    return impl_->time_ms();
}

void Directory::update(const SignedUpdate& update, const authority::Caller& caller, Callback<UpdateResponse> reply) {
    auto decoded = decode_update(update.request);
    if (!decoded) {
        ++impl_->updates;
        ++impl_->refused;
        return reply(impl_->refusal({Code::invalid_argument, decoded.error().message, {}}));
    }
    impl_->update(std::move(*decoded), {update.request, update.public_key, update.signature}, caller, std::move(reply));
}

void Directory::update(const Update& update, const SignedText& signed_by, const authority::Caller& caller,
                       Callback<UpdateResponse> reply) {
    impl_->update(update, {signed_by.text, signed_by.public_key, signed_by.signature}, caller, std::move(reply));
}

void Directory::connection_closed(std::uint64_t connection) {
    impl_->book.close(connection);
    impl_->stand_bys.closed(connection);
    impl_->settle();
}

void Directory::not_served(std::string_view name, std::uint64_t connection) {
    const Service* service = impl_->book.find(name);
    if (service == nullptr || service->connection != connection) return;
    impl_->book.not_served(name, service->token);
    impl_->settle();
}

void Directory::node_is(std::uint32_t node, bool reachable) {
    impl_->book.node_is(node, reachable);
    impl_->settle();
}

void Directory::find(std::string name, Callback<authority::Answer<ServiceEntry>> reply) {
    auto normal = normalised_service_name(name);
    if (!normal) return reply(authority::Refused{Code::invalid_name, normal.error().message, {}});
    impl_->authority.single_record().update(
        {.resource = service_resource(*normal)},
        [](authority::RecordTransaction& desk) {
            if (desk.record().leases.empty()) return;
            desk.answer().lease = desk.record().leases.front();
            desk.answer().has_lease = true;
        },
        [directory = std::weak_ptr(impl_), name = *normal,
         reply = std::move(reply)](const authority::SingleRecordAnswer& answer) mutable {
            const auto self = directory.lock();
            if (!self) return reply(authority::Refused{Code::stopping, {}, {}});
            if (answer.refused) return reply(authority::Refused{*answer.refused, answer.detail, answer.retry_in});
            if (answer.has_lease) self->book.seen(name, answer.lease, self->renewed_at(answer.lease));
            self->settle();
            const Service* known = answer.has_lease ? self->book.find(name) : nullptr;
            if (known == nullptr || known->token != answer.lease.token || !self->is_shown(*known))
                return reply(authority::Refused{Code::unknown_service, {}, {}});
            reply(self->entry(name, *known));
        });
}

void Directory::list(ServiceQuery query, Callback<authority::Answer<ServicePage>> reply) {
    if (!impl_->known_all) return impl_->waiting_for_all.push_back({std::move(query), std::move(reply)});
    impl_->settle();
    reply(impl_->page(query));
}

std::optional<Directory::Served> Directory::served(std::string_view name) const {
    const Service* service = impl_->book.find(name);
    if (service == nullptr) {
        const auto normal = normalised_service_name(name);
        service = normal ? impl_->book.find(*normal) : nullptr;
        if (service != nullptr) return served(*normal);
    }
    if (service == nullptr || service->connection == 0 || service->silent || !impl_->is_shown(*service))
        return std::nullopt;
    return Served{service->connection, std::string(name), service->identity, service->token};
}

bool Directory::address_banned(std::string_view address) const {
    const auto parsed = lease::parse_caller_address(address);
    return parsed && impl_->address_bans.covers(*parsed);
}

std::string Directory::reason_of_address_ban(std::string_view address) const {
    return impl_->reason_of(Code::banned, {}, {}, lease::parse_caller_address(address));
}

std::vector<Directory::Waiting> Directory::awaiting_approval() const {
    return impl_->applicants.all();
}

std::uint64_t Directory::watch(Watcher watcher) {
    impl_->settle();
    if (impl_->watchers.size() >= limits::service_watchers) return 0;
    impl_->watchers.emplace(++impl_->last_watch, std::move(watcher));
    return impl_->last_watch;
}

void Directory::unwatch(std::uint64_t watch) {
    impl_->watchers.erase(watch);
}

void Directory::advance(Instant now) {
    impl_->nonces.advance(now);
    impl_->applicants.advance(now);
    impl_->book.advance(now);
    if (now >= impl_->load_at && !impl_->loading) {
        if (impl_->known_all && impl_->load_after.empty()) impl_->book.expire(now);
        impl_->load_page();
    }
    impl_->settle();
}

Instant Directory::next_due() const {
    if (impl_->anything_to_do()) return impl_->authority.now();
    const Instant load = impl_->loading ? Instant::max() : impl_->load_at;
    return std::min({load, impl_->nonces.next_due(), impl_->applicants.next_due(), impl_->book.next_due()});
}

Directory::Counts Directory::counts() const {
    return {impl_->book.connected(), impl_->applicants.size(), impl_->updates, impl_->refused};
}

}  // namespace holdfast::discovery::directory
