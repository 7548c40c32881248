#include "keys/controller/connects.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/assert.h"
#include "keys/limits.h"

namespace holdfast::keys::controller {
namespace {

constexpr Duration retry_for_a_drone = 1s;

/// Ready or ending: there is nothing left to wait for.
bool is_settled(const Backend& backend) {
    return backend.progress.state >= BackendState::ready;
}

}  // namespace

Connects::Ticket Connects::connect(ConnectRequest request, Callback<authority::Answer<Connected>> reply) {
    const auto refuse = [&](Code code) -> Ticket {
        reply(authority::refused(code));
        return 0;
    };
    if (size() >= limits::connects) return refuse(Code::too_many_waiters);
    if (request.key.name.empty()) request.key.name = book_.fresh_name("k-");
    if (request.spawn && !request.spawn->id.empty()) {
        const Backend* known = book_.backends.find(request.spawn->id);
        if (known != nullptr && !known->key.same_key(request.key)) return refuse(Code::backend_id_taken);
    }
    const std::string resource = resource_of(request.key);
    auto& line = asking_[resource];
    const Ticket ticket = ++last_ticket_;
    line.push_back({ticket, std::move(request), std::move(reply)});
    ++asking_count_;
    if (line.size() == 1) look(resource);
    return ticket;
}

/// Verifying token 0 returns the current holder of the resource, since tokens start above zero.
void Connects::look(const std::string& resource) {
    book_.authority.verify(
        {{resource, 0}},
        book_.guarded([this, resource](const authority::Answer<std::vector<authority::VerifyAnswer>>& answer) {
            looked(resource, answer);
        }));
}

void Connects::looked(const std::string& resource,
                      const authority::Answer<std::vector<authority::VerifyAnswer>>& answer) {
    if (const auto* failed = std::get_if<authority::Refused>(&answer)) return fail(resource, *failed);
    // An expired lease is not listed here, swept or not. The later acquire removes it only if it is still expired then.
    // Both are judged by the store's own clock (T2, K6).
    const std::vector<lease::Lease>& current =
        std::get<std::vector<authority::VerifyAnswer>>(answer).front().verified.current;
    if (current.empty()) return take(resource);
    if (current.front().session.empty())
        return fail(resource, authority::refused(Code::busy));  // a plain lease, not a key's
    const lease::Lease& lease = current.front();
    const Backend* known = book_.backends.find(lease.session);
    const bool left_behind = known != nullptr && known->ended() && known->token == lease.token;
    if (left_behind) return book_.give_back(*known, [this, resource] { again(resource); });
    if (const auto silent = unheard(lease)) return fail(resource, *silent);
    settle_all(resource, lease, false);
}

/// The refusal, if the backend of a held key cannot be reported yet although its drone may do so soon. Either the drone
/// has not reported it to this controller, and it was started before this controller or too long ago to be `scheduled`
/// (K5); or the drone may be dead, or has missed the soft deadline.
std::optional<authority::Refused> Connects::unheard(const lease::Lease& lease) const {
    const Backend* known = book_.backends.find(lease.session);
    const bool is_known = known != nullptr && known->token == lease.token;
    const bool may_be_scheduled =
        lease.acquired_at >= book_.began_at && book_.now < lease.acquired_at + limits::drone_late;
    // Guardians end the backends of a dead drone at once, so clients are not sent to one of those. A drone that is
    // alive is heard from again within a second.
    const Drone* drone = book_.drones.find(lease.holder);
    if (drone != nullptr && drone->hung_up)
        return authority::Refused{
            Code::no_drone,
            fmt::format("the drone {} that has the backend of this key has closed its connection, and may be "
                        "dead; connect again",
                        lease.holder),
            retry_for_a_drone};
    // Past the soft deadline its drone terminates a backend (K4), but a suspended drone cannot report that.
    const bool said_so = is_known && known->progress.state > BackendState::ready;
    if (!said_so && book_.now >= key_timeline_of(lease).soft_terminate_at)
        return authority::Refused{
            Code::no_drone,
            fmt::format("the drone {} has not renewed this key in time, so its backend ends; connect again",
                        lease.holder),
            retry_for_a_drone};
    if (is_known || may_be_scheduled) return std::nullopt;
    return authority::Refused{
        Code::no_drone,
        fmt::format("the drone {} has the backend of this key, and this server has not heard from it "
                    "since it was started; connect again",
                    lease.holder),
        retry_for_a_drone};
}

void Connects::take(const std::string& resource) {
    const Asked& first = asking_.at(resource).front();
    if (!first.request.spawn) {
        // A server that has lost its memory knows no key until its drone re-asserts it (S1).
        const bool recovering = book_.authority.recovering_for() > Duration::zero();
        return fail(resource, recovering ? authority::Refused{Code::recovering, {}, retry_for_a_drone}
                                         : authority::refused(Code::nothing_to_start));
    }
    const SpawnRequest& spawn = *first.request.spawn;
    const std::string id = spawn.id.empty() ? book_.fresh_name("b-") : spawn.id;
    if (const Backend* known = book_.backends.find(id)) {
        if (!known->key.same_key(first.request.key)) return fail(resource, authority::refused(Code::backend_id_taken));
        Backend dead = *known;  // its key is free (K4), even if its drone has not reported the end yet
        dead.progress.state = BackendState::terminated;
        return settle_first(resource, dead);
    }
    if (ids_being_taken_.contains(id)) return fail(resource, authority::refused(Code::backend_id_taken));
    if (book_.backends.full()) return fail(resource, authority::refused(Code::too_many_backends));
    Drone* drone = book_.drones.choose(
        spawn.pool, resource, [this](const Drone& each) { return book_.load_of(each); }, book_.now);
    if (drone == nullptr) return fail(resource, {Code::no_drone, {}, retry_for_a_drone});
    ++drone->taking;
    ids_being_taken_.insert(id);
    authority::AcquireRequest request;
    request.caller = first.request.caller;
    request.caller.acts_for = lease::Owner::keys;
    request.holder = drone->id;
    request.session = id;
    request.intents = {{resource, lease::Predicate::mutates}};
    request.ttl = first.request.ttl;
    request.reason = "key";
    request.metadata = to_json({id, first.request.key.tag, drone->id, shown_life(drone->life), first.request.user});
    const Taking taking{resource, id, drone->id, drone->life};
    book_.authority.acquire(std::move(request), book_.guarded([this, taking](const authority::AcquireAnswer& answer) {
        taken(taking, answer);
    }));
}

void Connects::taken(const Taking& taking, const authority::AcquireAnswer& answer) {
    ids_being_taken_.erase(taking.backend);
    if (Drone* drone = book_.drones.find(taking.drone); drone != nullptr && drone->taking > 0) --drone->taking;
    if (const auto* got = std::get_if<authority::AcquireGranted>(&answer))
        return granted(taking, got->leases.front().lease);
    if (const auto* failed = std::get_if<authority::Refused>(&answer)) return fail(taking.resource, *failed);
    again(taking.resource);
}

void Connects::granted(const Taking& taking, const lease::Lease& lease) {
    const ConnectRequest& request = asking_.at(taking.resource).front().request;
    Backend backend{taking.backend, request.key, lease.token, taking.drone, taking.life, request.user};
    backend.since = book_.now;
    Drone* drone = book_.drones.find(taking.drone);
    const bool id_is_free = book_.backends.find(taking.backend) == nullptr && !book_.backends.full();
    if (drone == nullptr || drone->life != taking.life || !id_is_free) {
        // No drone was told of it (K2).
        return book_.give_back(backend, [this, resource = taking.resource] { again(resource); });
    }
    watch_.added(book_.backends.add(backend));
    watch_.expect(backend.id, lease.expires_at);
    drone->orders.start(book_.next_order(), {backend.id, request.key, lease.token, lease.ttl, {}, request.spawn->spawn},
                        lease);
    settle_all(taking.resource, lease, true);
    book_.on_order(taking.drone);
}

/// Lost the race for the key, or the drone is gone: read the key again.
void Connects::again(const std::string& resource) {
    if (++asking_.at(resource).front().tries >= limits::connect_tries)
        return fail(resource, authority::refused(Code::key_race_lost));
    look(resource);
}

Connects::Asked Connects::pop(const std::string& resource) {
    const auto line = asking_.find(resource);
    Asked first = std::move(line->second.front());
    line->second.pop_front();
    --asking_count_;
    if (line->second.empty()) asking_.erase(line);
    return first;
}

/// Refuses the first request in the queue. The next one then has its turn, and may succeed.
void Connects::fail(const std::string& resource, const authority::Refused& why) {
    Asked first = pop(resource);
    const bool more = asking_.contains(resource);
    first.reply(why);
    if (more) look(resource);
}

/// Answers only the first request in the queue: the backend id that it named does not concern the others.
void Connects::settle_first(const std::string& resource, const Backend& backend) {
    Asked first = pop(resource);
    const bool more = asking_.contains(resource);
    settle(std::move(first), backend, false);
    if (more) look(resource);
}

/// Answers all queued requests. Requests that were queued after the key was read get the same answer, since the key is
/// held at least until the first instant of its timeline.
void Connects::settle_all(const std::string& resource, const lease::Lease& lease, bool spawned) {
    const Backend backend = backend_under(resource, lease);
    auto line = std::move(asking_.at(resource));
    asking_.erase(resource);
    asking_count_ -= line.size();
    for (Asked& asked : line) {
        settle(std::move(asked), backend, spawned);
        spawned = false;  // only the first request started it
    }
}

void Connects::settle(Asked asked, const Backend& backend, bool spawned) {
    if (backend.key.tag != asked.request.key.tag) return asked.reply(authority::refused(Code::key_tag_mismatch));
    if (asked.request.wait > Duration::zero() && !is_settled(backend) && book_.backends.find(backend.id) != nullptr)
        return wait_for(std::move(asked), backend, spawned);
    asked.reply(Connected{backend, spawned});
}

/// The backend of a lease. A backend that was started through another node, and that its drone has not reported to this
/// one yet, is known from the store only.
Backend Connects::backend_under(const std::string& resource, const lease::Lease& lease) {
    const Backend* known = book_.backends.find(lease.session);
    if (known != nullptr && known->token == lease.token && known->drone == lease.holder) return *known;
    const KeyNote note = note_of(lease);
    Key key = key_of(resource).value();
    key.tag = note.tag;
    const Drone* drone = book_.drones.find(note.drone);
    const bool of_this_life = drone != nullptr && shown_life(drone->life) == note.life;
    Backend backend{note.backend, std::move(key), lease.token, note.drone, of_this_life ? drone->life : "", note.user};
    backend.since = book_.now;
    if (known != nullptr || book_.backends.full()) return backend;
    const Backend& added = book_.backends.add(std::move(backend));
    watch_.added(added);
    watch_.expect(added.id, lease.expires_at);
    return added;
}

void Connects::wait_for(Asked asked, const Backend& backend, bool spawned) {
    const Ticket ticket = asked.ticket;
    const Instant until = book_.now + std::min(asked.request.wait, limits::connect_wait);
    const auto watch = book_.backends.watch(backend.id, [this, ticket](const Backend& changed) {
        if (is_settled(changed)) answer_waiting(ticket, changed);
    });
    waiting_.emplace(ticket, Waiting{backend.id, watch, until, spawned, std::move(asked.reply)});
    timeouts_.emplace(until, ticket);
}

Connects::Waiting Connects::stop_waiting(std::map<Ticket, Waiting>::iterator which) {
    Waiting waiting = std::move(which->second);
    timeouts_.erase({waiting.until, which->first});
    waiting_.erase(which);
    book_.backends.unwatch(waiting.backend, waiting.watch);
    return waiting;
}

void Connects::answer_waiting(Ticket ticket, const Backend& backend) {
    const auto found = waiting_.find(ticket);
    if (found == waiting_.end()) return;
    Waiting waiting = stop_waiting(found);
    waiting.reply(Connected{backend, waiting.spawned});
}

void Connects::cancel(Ticket ticket) {
    const auto found = waiting_.find(ticket);
    if (found == waiting_.end()) return;
    Waiting waiting = stop_waiting(found);
    waiting.reply(authority::refused(Code::cancelled));
}

void Connects::stop() {
    while (!waiting_.empty()) {
        Waiting waiting = stop_waiting(waiting_.begin());
        waiting.reply(authority::refused(Code::stopping));
    }
}

void Connects::advance() {
    while (!timeouts_.empty() && timeouts_.begin()->first <= book_.now) {
        const Ticket ticket = timeouts_.begin()->second;
        const Backend* backend = book_.backends.find(waiting_.at(ticket).backend);
        HOLDFAST_ASSERT(backend != nullptr);  // requests for an ended backend are answered before it is forgotten
        answer_waiting(ticket, Backend(*backend));
    }
}

Instant Connects::next_due() const {
    return timeouts_.empty() ? Instant::max() : timeouts_.begin()->first;
}

}  // namespace holdfast::keys::controller
