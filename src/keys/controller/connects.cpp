#include "keys/controller/connects.h"

#include <algorithm>

#include "base/assert.h"
#include "base/mutant.h"
#include "keys/controller/key_limits.h"

namespace holdfast::core {
namespace {

constexpr Duration retry_for_a_drone = 1s;

/// No need to wait for it any longer.
bool is_settled(const Backend& backend) {
    return backend.progress.state >= BackendState::ready;
}

}  // namespace

Connects::Ticket Connects::connect(ConnectRequest request, Callback<Answer<Connected>> reply) {
    const auto refuse = [&](Code code) -> Ticket {
        reply(refused(code));
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

/// To verify a lease that never was is to be told who holds its resource: tokens begin above zero.
void Connects::look(const std::string& resource) {
    book_.authority.verify(
        {{resource, 0}},
        book_.guarded([this, resource](const Answer<std::vector<VerifyAnswer>>& answer) { looked(resource, answer); }));
}

void Connects::looked(const std::string& resource, const Answer<std::vector<VerifyAnswer>>& answer) {
    if (const auto* failed = std::get_if<Refused>(&answer)) return fail(resource, *failed);
    // What has expired does not count here, swept or not, and is removed by whoever takes the key only if it still is
    // so then: both by the store's own clock (T2, K6).
    const std::vector<Lease>& current = std::get<std::vector<VerifyAnswer>>(answer).front().verified.current;
    if (current.empty()) return take(resource);
    if (current.front().session.empty()) return fail(resource, refused(Code::busy));  // somebody's plain lease
    const Lease& lease = current.front();
    const Backend* known = book_.backends.find(lease.session);
    const bool left_behind = known != nullptr && known->ended() && known->token == lease.token;
    if (left_behind) return book_.give_back(*known, [this, resource] { again(resource); });
    if (const auto silent = unheard(lease)) return fail(resource, *silent);
    settle_all(resource, lease, false);
}

/// Why the backend of a held key cannot be told of now, though its drone may say so soon: it was started before this
/// controller began, or too long ago to be `scheduled`, and its drone has not told this controller of it (K5); or the
/// drone may be dead, or has let the soft deadline pass.
std::optional<Refused> Connects::unheard(const Lease& lease) const {
    const Backend* known = book_.backends.find(lease.session);
    const bool is_known = known != nullptr && known->token == lease.token;
    const bool may_be_scheduled =
        lease.acquired_at >= book_.began_at && book_.now < lease.acquired_at + limits::drone_late;
    // Guardians end the backends of a drone that is dead at once: nobody is sent to one of those. A drone that is not
    // dead says so within a second.
    const Drone* drone = book_.drones.find(lease.holder);
    if (drone != nullptr && drone->hung_up)
        return Refused{Code::no_drone,
                       "the drone " + lease.holder +
                           " that has the backend of this key has closed its connection, and " +
                           "may be dead; connect again",
                       retry_for_a_drone};
    // Past its soft deadline a backend has been asked to stop (K4), though a drone that is stopped cannot say so.
    const bool said_so = is_known && known->progress.state > BackendState::ready;
    if (!said_so && book_.now >= key_timeline_of(lease).soft_terminate_at)
        return Refused{
            Code::no_drone,
            "the drone " + lease.holder + " has not renewed this key in time, so its backend ends; connect again",
            retry_for_a_drone};
    if (is_known || may_be_scheduled || mutant("unheard_is_scheduled")) return std::nullopt;
    return Refused{Code::no_drone,
                   "the drone " + lease.holder +
                       " has the backend of this key, and this server has not heard from it " +
                       "since it was started; connect again",
                   retry_for_a_drone};
}

void Connects::take(const std::string& resource) {
    const Asked& first = asking_.at(resource).front();
    if (!first.request.spawn) {
        // A server that has lost its memory knows no key until its drone re-asserts it (S1).
        const bool recovering = book_.authority.recovering_for() > Duration::zero();
        return fail(resource,
                    recovering ? Refused{Code::recovering, {}, retry_for_a_drone} : refused(Code::nothing_to_start));
    }
    const SpawnRequest& spawn = *first.request.spawn;
    const std::string id = spawn.id.empty() ? book_.fresh_name("b-") : spawn.id;
    if (const Backend* known = book_.backends.find(id)) {
        if (!known->key.same_key(first.request.key)) return fail(resource, refused(Code::backend_id_taken));
        Backend dead = *known;  // its key is free (K4), though its drone may not have told yet
        dead.progress.state = BackendState::terminated;
        return settle_first(resource, dead);
    }
    if (ids_being_taken_.contains(id)) return fail(resource, refused(Code::backend_id_taken));
    if (book_.backends.full()) return fail(resource, refused(Code::too_many_backends));
    Drone* drone = book_.drones.choose(
        spawn.pool, resource, [this](const Drone& each) { return book_.load_of(each); }, book_.now);
    if (drone == nullptr) return fail(resource, {Code::no_drone, {}, retry_for_a_drone});
    ++drone->taking;
    ids_being_taken_.insert(id);
    AcquireRequest request;
    request.caller = first.request.caller;
    request.caller.acts_for = Owner::keys;
    request.holder = drone->id;
    request.session = id;
    request.intents = {{resource, Predicate::mutates}};
    request.ttl = first.request.ttl;
    request.reason = "key";
    request.metadata = to_json({id, first.request.key.tag, drone->id, shown_life(drone->life), first.request.user});
    const Taking taking{resource, id, drone->id, drone->life};
    book_.authority.acquire(std::move(request),
                            book_.guarded([this, taking](const AcquireAnswer& answer) { taken(taking, answer); }));
}

void Connects::taken(const Taking& taking, const AcquireAnswer& answer) {
    ids_being_taken_.erase(taking.backend);
    if (Drone* drone = book_.drones.find(taking.drone); drone != nullptr && drone->taking > 0) --drone->taking;
    if (const auto* got = std::get_if<AcquireGranted>(&answer)) return granted(taking, got->leases.front().lease);
    if (const auto* failed = std::get_if<Refused>(&answer)) return fail(taking.resource, *failed);
    again(taking.resource);
}

void Connects::granted(const Taking& taking, const Lease& lease) {
    const ConnectRequest& request = asking_.at(taking.resource).front().request;
    Backend backend{taking.backend, request.key, lease.token, taking.drone, taking.life, request.user};
    backend.since = book_.now;
    Drone* drone = book_.drones.find(taking.drone);
    const bool id_is_free = book_.backends.find(taking.backend) == nullptr && !book_.backends.full();
    if (drone == nullptr || drone->life != taking.life || !id_is_free) {
        // Nobody was told of it (K2).
        return book_.give_back(backend, [this, resource = taking.resource] { again(resource); });
    }
    watch_.added(book_.backends.add(backend));
    watch_.expect(backend.id, lease.expires_at);
    drone->orders.start(
        book_.next_order(), backend.id,
        {request.key, lease.token, lease.ttl, lease.expires_at, key_timeline_of(lease), request.spawn->spawn});
    settle_all(taking.resource, lease, true);
    book_.on_order(taking.drone);
}

/// Somebody was faster, or the drone is gone: look who has it now.
void Connects::again(const std::string& resource) {
    if (++asking_.at(resource).front().tries >= limits::connect_tries)
        return fail(resource, refused(Code::key_race_lost));
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

/// The first in line is refused; the next one has its turn, which may go better.
void Connects::fail(const std::string& resource, const Refused& why) {
    Asked first = pop(resource);
    const bool more = asking_.contains(resource);
    first.reply(why);
    if (more) look(resource);
}

/// Only the first in line is answered: what it named by its id is nothing to the others.
void Connects::settle_first(const std::string& resource, const Backend& backend) {
    Asked first = pop(resource);
    const bool more = asking_.contains(resource);
    settle(std::move(first), backend, false);
    if (more) look(resource);
}

/// The answer for all who stand in line: whoever of them came later than the key was looked at finds it all the same,
/// for it is held at least as long as the first of its timeline.
void Connects::settle_all(const std::string& resource, const Lease& lease, bool spawned) {
    const Backend backend = backend_under(resource, lease);
    auto line = std::move(asking_.at(resource));
    asking_.erase(resource);
    asking_count_ -= line.size();
    for (Asked& asked : line) {
        settle(std::move(asked), backend, spawned);
        spawned = false;  // by the first of them
    }
}

void Connects::settle(Asked asked, const Backend& backend, bool spawned) {
    if (backend.key.tag != asked.request.key.tag) return asked.reply(refused(Code::key_tag_mismatch));
    if (asked.request.wait > Duration::zero() && !is_settled(backend) && book_.backends.find(backend.id) != nullptr)
        return wait_for(std::move(asked), backend, spawned);
    asked.reply(Connected{backend, spawned});
}

/// The backend that a lease belongs to. One that was started through another node, and of which its drone has not told
/// this one yet, is known from the store only.
Backend Connects::backend_under(const std::string& resource, const Lease& lease) {
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
    waiting.reply(refused(Code::cancelled));
}

void Connects::stop() {
    while (!waiting_.empty()) {
        Waiting waiting = stop_waiting(waiting_.begin());
        waiting.reply(refused(Code::stopping));
    }
}

void Connects::advance() {
    while (!timeouts_.empty() && timeouts_.begin()->first <= book_.now) {
        const Ticket ticket = timeouts_.begin()->second;
        const Backend* backend = book_.backends.find(waiting_.at(ticket).backend);
        HOLDFAST_ASSERT(backend != nullptr);  // one that has ended is answered before it is forgotten
        answer_waiting(ticket, Backend(*backend));
    }
}

Instant Connects::next_due() const {
    return timeouts_.empty() ? Instant::max() : timeouts_.begin()->first;
}

}  // namespace holdfast::core
