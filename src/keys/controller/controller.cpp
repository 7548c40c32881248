#include "keys/controller/controller.h"

#include <algorithm>
#include <fmt/format.h>

#include "keys/limits.h"

namespace holdfast::keys::controller {

struct Controller::Impl {
    explicit Impl(Parts parts)
        : life(std::move(parts.life)),
          book(parts.authority, parts.seed),
          watch(book),
          desk(book, watch, life),
          connects(book, watch) {
        book.now = book.authority.now();
        book.on_order = [this](const std::string& drone) { desk.wake(drone); };
    }

    DroneView view(const Drone& drone) const {
        return {.id = drone.id,
                .life = drone.life,
                .pool = drone.pool,
                .address = drone.address,
                .capacity = drone.capacity,
                .backends = book.load_of(drone),
                .orders = drone.orders.size(),
                .draining = drone.draining || drone.drain,
                .healthy = drone.healthy(book.now) && !drone.hung_up,
                .heard_ago = book.now - drone.heard_at};
    }

    BackendView view(const Backend& backend) const {
        BackendView shown{backend, std::nullopt};
        shown.backend.progress.state = backend.shown_state();
        const Drone* drone = book.drones.find(backend.drone);
        if (drone == nullptr || shown.backend.ended()) return shown;
        if (!drone->healthy(book.now) || drone->hung_up) shown.drone_heard_ago = book.now - drone->heard_at;
        if (drone->hung_up) shown.backend.progress.address.clear();
        return shown;
    }

    HeldKey held(std::string_view resource, const lease::Lease& lease) const {
        const KeyNote note = note_of(lease);
        HeldKey key;
        key.key = key_of(resource).value_or(Key{});
        key.key.tag = note.tag;
        key.token = lease.token;
        key.backend = note.backend;
        key.drone = note.drone;
        key.renewable = lease.renewable;
        key.ttl = lease.ttl;
        key.expires_in = std::max<Duration>(lease.expires_at - book.now, Duration::zero());
        const Backend* known = book.backends.find(note.backend);
        if (known != nullptr && known->token == lease.token) key.state = known->progress.state;
        return key;
    }

    void bar_holder(const std::string& resource, const authority::Answer<std::vector<authority::VerifyAnswer>>& found,
                    Callback<authority::Answer<HeldKey>> reply, const authority::Caller& by) {
        if (const auto* failed = std::get_if<authority::Refused>(&found)) return reply(*failed);
        const auto& current = std::get<std::vector<authority::VerifyAnswer>>(found).front().verified.current;
        if (current.empty()) return reply(authority::refused(Code::unknown_key));
        book.authority.bar({resource, current.front().token},
                           book.guarded([this, reply = std::move(reply)](
                                            const authority::Answer<authority::HeldLease>& barred) mutable {
                               if (const auto* failed = std::get_if<authority::Refused>(&barred)) return reply(*failed);
                               const authority::HeldLease& lease = std::get<authority::HeldLease>(barred);
                               reply(held(lease.resource, lease.lease));
                           }),
                           by);
    }

    /// Ends the backend now rather than at its deadline. A drone that cannot be reached ends it on its timeline.
    void order_end(const lease::Lease& lease) {
        const std::string id = note_of(lease).backend;
        const Backend* backend = book.backends.find(id);
        const bool is_known = backend != nullptr && backend->token == lease.token;
        if (is_known && (backend->ended() || book.take_back(id, EndReason::terminated))) return;
        Drone* drone = book.drones.find(lease.holder);
        if (drone == nullptr) return;
        drone->orders.terminate(book.next_order(), id, Severity::soft);
        book.on_order(lease.holder);
    }

    const std::string life;
    KeyState book;
    KeyWatch watch;
    DroneEndpoint desk;
    Connects connects;
};

Controller::Controller(Parts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
Controller::~Controller() = default;

const std::string& Controller::life() const {
    return impl_->life;
}

void Controller::advance(Instant now) {
    impl_->book.now = now;
    if (!impl_->book.began_at) impl_->book.began_at = now;
    impl_->watch.advance();
    impl_->desk.advance();
    impl_->connects.advance();
    impl_->book.backends.tidy(now);
}

Instant Controller::next_due() const {
    return std::min({impl_->watch.next_due(), impl_->desk.next_due(), impl_->connects.next_due(),
                     impl_->book.backends.next_tidy()});
}

void Controller::stop() {
    impl_->desk.stop();
    impl_->connects.stop();
}

Connects& Controller::connects() {
    return impl_->connects;
}

DroneEndpoint& Controller::endpoint() {
    return impl_->desk;
}

std::optional<DroneView> Controller::drone(const std::string& id) const {
    const Drone* drone = impl_->book.drones.find(id);
    if (drone == nullptr) return std::nullopt;
    return impl_->view(*drone);
}

DronePage Controller::drones(const std::string& after, std::size_t limit) const {
    DronePage page;
    const auto& all = impl_->book.drones.all();
    for (auto place = all.upper_bound(after); place != all.end(); ++place) {
        page.more = page.drones.size() == limit;
        if (page.more) break;
        page.drones.push_back(impl_->view(place->second));
    }
    return page;
}

authority::Answer<DroneView> Controller::drain(const std::string& id, bool draining) {
    Drone* drone = impl_->book.drones.find(id);
    if (drone == nullptr) return authority::refused(Code::unknown_drone);
    drone->drain = draining;
    if (!draining) drone->draining = false;  // its next heartbeat sets this again if it is still draining
    return impl_->view(*drone);
}

authority::Answer<DroneView> Controller::forget_drone(const std::string& id) {
    Drone* drone = impl_->book.drones.find(id);
    if (drone == nullptr) return authority::refused(Code::unknown_drone);
    if (drone->healthy(impl_->book.now)) return authority::refused(Code::drone_alive);
    const DroneView last = impl_->view(*drone);
    impl_->watch.lost(*drone);
    impl_->desk.dismiss(id);
    impl_->book.drones.remove(id);
    return last;
}

std::optional<BackendView> Controller::backend(const std::string& id) const {
    const Backend* backend = impl_->book.backends.find(id);
    if (backend == nullptr) return std::nullopt;
    return impl_->view(*backend);
}

void Controller::why_unknown(const std::string& id, Callback<authority::Refused> reply) const {
    constexpr std::size_t max_keys = 1000;
    const authority::Refused not_told{
        Code::recovering, fmt::format("this server was just started, and the drone has not reported {} to it yet", id),
        Duration{1s}};
    const KeyState& book = impl_->book;
    if (book.began_at && book.now >= *book.began_at + limits::drone_late)
        return reply(authority::refused(Code::unknown_backend));
    if (book.authority.recovering_for() > Duration::zero()) return reply(not_told);  // the keys were lost as well (S1)
    store::ListQuery query;
    query.prefix = key_prefix;
    query.limit = max_keys;
    impl_->book.authority.list(
        query, [id, not_told, reply = std::move(reply)](const authority::Answer<store::ListPage>& found) mutable {
            const auto* page = std::get_if<store::ListPage>(&found);
            const bool is_there =
                page != nullptr && (!page->next.empty() || std::any_of(page->leases.begin(), page->leases.end(),
                                                                       [&](const store::NamedLease& named) {
                                                                           return named.lease.session == id;
                                                                       }));
            reply(is_there ? not_told : authority::refused(Code::unknown_backend));
        });
}

BackendPage Controller::backends(const Backends::Filter& filter, const std::string& after, std::size_t limit) const {
    BackendPage page;
    Backends::Page found = impl_->book.backends.list(filter, after, limit);
    for (const Backend* backend : found.backends)
        page.backends.push_back(impl_->view(*backend));
    page.next = std::move(found.next);
    return page;
}

void Controller::unreported(const Backends::Filter& filter, Callback<UnreportedBackends> reply) const {
    store::ListQuery query;
    query.prefix = key_prefix;
    query.name_space = filter.name_space;
    query.limit = limits::unreported_looked_at;
    impl_->book.authority.list(query, impl_->book.guarded([this, filter, reply = std::move(reply)](
                                                              const authority::Answer<store::ListPage>& found) mutable {
        const KeyState& book = impl_->book;
        const auto* page = std::get_if<store::ListPage>(&found);
        UnreportedBackends unreported;
        if (page == nullptr) return reply(std::move(unreported));
        for (const store::NamedLease& named : page->leases) {
            const lease::Lease& lease = named.lease;
            if (lease.session.empty() || book.backends.find(lease.session) != nullptr) continue;
            HeldKey key = impl_->held(named.resource, lease);
            const bool fits = (filter.name.empty() || key.key.name == filter.name) &&
                              (filter.drone.empty() || key.drone == filter.drone);
            if (fits) unreported.keys.push_back(std::move(key));
        }
        unreported.complete = page->next.empty() && book.began_at && book.now >= *book.began_at + limits::drone_late;
        reply(std::move(unreported));
    }));
}

authority::Answer<BackendView> Controller::terminate(const std::string& id, Severity how) {
    KeyState& book = impl_->book;
    const Backend* backend = book.backends.find(id);
    if (backend == nullptr) return authority::refused(Code::unknown_backend);
    if (backend->ended() || book.take_back(id, EndReason::terminated)) return impl_->view(*backend);
    const std::string of = backend->drone;
    Drone* drone = book.drones.find(of);
    if (drone == nullptr) return authority::refused(Code::unknown_drone);
    drone->orders.terminate(book.next_order(), id, how);
    book.on_order(of);
    return impl_->view(*backend);
}

std::uint64_t Controller::watch(const std::string& id, std::function<void(const BackendView&)> watcher) {
    return impl_->book.backends.watch(
        id, [this, watcher = std::move(watcher)](const Backend& backend) { watcher(impl_->view(backend)); });
}

void Controller::unwatch(const std::string& id, std::uint64_t watch) {
    impl_->book.backends.unwatch(id, watch);
}

void Controller::keys(store::ListQuery query, Callback<authority::Answer<KeyPage>> reply) const {
    query.prefix = key_prefix;
    impl_->book.authority.list(
        query,
        impl_->book.guarded([this, reply = std::move(reply)](const authority::Answer<store::ListPage>& found) mutable {
            if (const auto* failed = std::get_if<authority::Refused>(&found)) return reply(*failed);
            const store::ListPage& leases = std::get<store::ListPage>(found);
            KeyPage page;
            page.next = leases.next;
            for (const store::NamedLease& named : leases.leases)
                page.keys.push_back(impl_->held(named.resource, named.lease));
            reply(std::move(page));
        }));
}

void Controller::bar(const Key& key, Callback<authority::Answer<HeldKey>> reply, const authority::Caller& by) {
    const std::string resource = resource_of(key);
    impl_->book.authority.verify(
        {{resource, 0}},
        impl_->book.guarded([this, resource, by, reply = std::move(reply)](
                                const authority::Answer<std::vector<authority::VerifyAnswer>>& found) mutable {
            impl_->bar_holder(resource, found, std::move(reply), by);
        }));
}

void Controller::revoke(const lease::LeaseName& name, Callback<authority::Answer<authority::HeldLease>> reply,
                        const authority::Caller& by) {
    impl_->book.authority.bar(name,
                              impl_->book.guarded([this, reply = std::move(reply)](
                                                      const authority::Answer<authority::HeldLease>& barred) mutable {
                                  if (const auto* held = std::get_if<authority::HeldLease>(&barred))
                                      impl_->order_end(held->lease);
                                  reply(barred);
                              }),
                              by);
}

Controller::Counts Controller::counts() const {
    return {impl_->book.drones.all().size(), impl_->book.backends.counts(), impl_->connects.size(),
            impl_->desk.listeners()};
}

}  // namespace holdfast::keys::controller
