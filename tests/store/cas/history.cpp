#include "store/cas/history.h"

#include <algorithm>
#include <map>
#include <set>

#include "lease/resource.h"
#include "store/cas/asking.h"
#include "store/cas/request_number.h"
#include "store/cas/stored_record.h"

namespace holdfast::store::cas {
namespace {

constexpr Duration longest_ttl = 4s;

/// A holder's belief that it has a lease.
struct Belief {
    lease::LeaseName name;
    std::string holder;
    std::string session;
    lease::Predicate predicate = lease::Predicate::mutates;
    Duration ttl{};
    Duration usable_until{};  ///< true time
    bool given_back = false;
};

struct Request {
    enum class Kind : std::uint8_t { acquire, renew, release } kind;
    lease::LeaseName name;
    Ask ask;
    Duration sent{};
    Promised<lease::Token> acquired;
    Promised<bool> answered;
    lease::Token highest_told = 0;  ///< of the resource, when this was asked

    bool done() const { return acquired ? acquired->done : answered->done; }
};

/// One who waits, until its turn comes.
struct Waits {
    std::string resource;
    std::size_t front;
    std::uint64_t life;
    std::uint64_t request;
    Promised<bool> enqueued;
};

class History {
 public:
    explicit History(const HistoryShape& shape)
        : shape_(shape),
          random_(shape.seed),
          fronts_({.fronts = shape.fronts,
                   .seed = shape.seed,
                   .clocks = clocks(),
                   .engine_clock = {Duration{1s} * static_cast<int>(random_.below(100'000)), rate()},
                   .give_up_after = 1s,
                   .max_records = 1 + random_.below(4)}),
          recovering_until_(shape.fronts),
          steps_known_(shape.fronts) {
        fronts_.server.jitter = 2ms;
    }

    HistoryReport run() {
        for (std::size_t step = 0; step < shape_.steps && !report_.violation; ++step)
            one_step();
        if (!report_.violation) check_that_waiters_are_served();
        requests_.clear();
        return report_;
    }

 private:
    std::vector<SimClock> clocks() {
        std::vector<SimClock> clocks;
        for (std::size_t i = 0; i < shape_.fronts; ++i)
            clocks.push_back({Duration{1s} * static_cast<int>(random_.below(100'000)), rate()});
        return clocks;
    }
    double rate() { return 0.9998 + 0.0004 * random_.unit(); }
    bool chance(unsigned percent) { return random_.below(100) < percent; }

    std::string resource() {
        static const std::vector<std::string> plain{"a", "b", "c"};
        static const std::vector<std::string> paths{"FILE:/a/**", "FILE:/a/b", "FILE:/a/c/**", "FILE:/a/c/d"};
        const auto& names = shape_.paths ? paths : plain;
        return names[random_.below(names.size())];
    }

    void one_step() {
        const unsigned what = static_cast<unsigned>(random_.below(100));
        if (what < 50)
            ask();
        else if (what < 65)
            ask_near_an_end();
        else if (what < 95)
            pass();
        else
            misfortune();
        hear();
        check();
    }

    void pass() {
        const Duration times[] = {200us, 1ms, 3ms, 50ms, 500ms, 2s};
        fronts_.pass(times[random_.below(std::size(times))]);
    }

    /// Somebody else asks when a holder is about to stop.
    void ask_near_an_end() {
        if (beliefs_.empty()) return pass();
        const Belief belief = beliefs_[random_.below(beliefs_.size())];
        const Duration before{static_cast<Duration::rep>(random_.below(80'000'000))};
        const Duration left = belief.usable_until - fronts_.time.now();
        if (left <= before) return pass();
        fronts_.pass(left - before);
        hear();
        const std::size_t front = random_.below(fronts_.size());
        if (!fronts_.up(front) || recovers(front)) return;
        Request request;
        request.sent = fronts_.time.now();
        request_lease(front, request, belief.name.resource);
        requests_.push_back(std::move(request));
        fronts_.pass(before / 2);
    }

    void misfortune() {
        SimServer& server = fronts_.server;
        const unsigned bad = chance(50) ? 0 : 15;
        server.loses_requests = server.loses_answers = server.late_swaps = bad;
        server.loses_notices = server.doubles_notices = bad * 2;
        server.latency = chance(20) ? Duration{60ms} : Duration{300us};
        if (chance(25) || !server.reachable()) return server.set_reachable(chance(75));
        if (chance(15)) return server.restart(true);
        if (shape_.clock_steps && chance(30)) return step_clock();
        const std::size_t front = random_.below(fronts_.size());
        if (fronts_.up(front) && chance(60)) {
            fronts_.kill(front);
            ++report_.crashes;
        } else if (!fronts_.up(front) && fronts_.time.now() > no_start_until_) {
            fronts_.start(front);
        }
    }

    /// A front that has just started cannot notice; what it does about that is not this store's part. So all have heard
    /// what time it is before.
    void step_clock() {
        SimServer& server = fronts_.server;
        server.loses_requests = server.loses_answers = 0;
        if (!server.reachable()) server.set_reachable(true);
        fronts_.pass(4s);
        const Duration by[] = {30s, 1h, -5s, -1h};
        server.clock.ahead += by[random_.below(std::size(by))];
        no_start_until_ = fronts_.time.now() + 2 * longest_ttl;
    }

    /// As an authority does: nothing is granted for the longest lease after the clock stepped (S1).
    bool recovers(std::size_t front) {
        if (fronts_.clock_steps(front) > steps_known_[front]) {
            report_.steps_noticed += fronts_.clock_steps(front) - steps_known_[front];
            steps_known_[front] = fronts_.clock_steps(front);
            recovering_until_[front] = fronts_.time.now() + longest_ttl + 100ms;
        }
        return fronts_.time.now() < recovering_until_[front];
    }

    void ask() {
        const std::size_t front = random_.below(fronts_.size());
        if (!fronts_.up(front)) return;
        Request request;
        request.sent = fronts_.time.now();
        const unsigned what = static_cast<unsigned>(random_.below(100));
        if (what < 10) return ask_for_turn(front);
        if (what < 50 || beliefs_.empty()) {
            if (recovers(front)) return;
            request_lease(front, request, resource());
        } else {
            request_about(front, request, beliefs_[random_.below(beliefs_.size())], what < 80);
        }
        requests_.push_back(std::move(request));
    }

    void request_lease(std::size_t front, Request& request, const std::string& resource) {
        request.kind = Request::Kind::acquire;
        request.name.resource = resource;
        request.ask.holder = "h" + std::to_string(random_.below(3));
        request.ask.ttl = chance(50) ? Duration{1s} : longest_ttl;
        request.ask.predicate = chance(30) ? lease::Predicate::consumes : lease::Predicate::mutates;
        request.ask.session = chance(50) ? "one" : "";
        if (chance(30)) request.ask.session = std::to_string(++sessions_);
        request.highest_told = highest_told_[request.name.resource];
        request.acquired = ask_acquire(fronts_, front, request.name.resource, request.ask);
    }

    void request_about(std::size_t front, Request& request, Belief& belief, bool renewal) {
        request.name = belief.name;
        request.ask.holder = belief.holder;
        if (renewal && !belief.given_back) {
            request.kind = Request::Kind::renew;
            request.answered = ask_renew(fronts_, front, belief.name, belief.holder);
            return;
        }
        request.kind = Request::Kind::release;
        belief.given_back = true;  // whoever asks to release has stopped
        belief.usable_until = std::min(belief.usable_until, fronts_.time.now());
        request.answered = ask_release(fronts_, front, belief.name, belief.holder);
    }

    void ask_for_turn(std::size_t front) {
        const std::uint64_t request = first_request_of(fronts_.number(front)) + requests_made_++;
        Waits waits{resource(), front, fronts_.number(front), request, {}};
        waits.enqueued = ask_wait(fronts_, front, waits.resource, request, "w" + std::to_string(request));
        waiting_.push_back(std::move(waits));
    }

    void hear() {
        for (const Request& request : requests_)
            if (request.done()) take_in(request);
        std::erase_if(requests_, [](const Request& request) { return request.done(); });
        serve_waiters();
    }

    bool is_told(const Waits& waits) {
        return contract::Told::has(fronts_.told(waits.front).due, waits.resource + ' ' + std::to_string(waits.request));
    }
    bool is_gone(const Waits& waits) {
        return !fronts_.up(waits.front) || fronts_.number(waits.front) != waits.life ||
               (waits.enqueued->done && !waits.enqueued->value);
    }

    /// Whoever hears that it is its turn leaves the queue, as if it had been granted and had released at once.
    void serve_waiters() {
        std::erase_if(waiting_, [&](const Waits& waits) {
            if (is_gone(waits)) return true;
            if (!is_told(waits)) return false;
            ++report_.served;
            apply_at(fronts_, waits.front, waits.resource, [id = waits.request](lease::Record& record, Instant) {
                lease::dequeue(record, id);
                return authority::Ruling<bool>{true, Effect::freed};
            });
            return true;
        });
    }

    /// T3: from its own send, less a little for what clocks differ in rate.
    static Duration usable_until(Duration sent, Duration ttl) { return sent + ttl - ttl / 500; }

    void take_in(const Request& request) {
        if (request.kind == Request::Kind::acquire) return take_in_acquired(request);
        if (!request.answered->value) ++report_.unknown;
        if (!request.answered->value.value_or(false)) return;
        const bool renewal = request.kind == Request::Kind::renew;
        ++(renewal ? report_.renewals : report_.releases);
        if (!renewal) return;
        for (Belief& belief : beliefs_)
            if (belief.name == request.name && !belief.given_back)
                belief.usable_until = std::max(belief.usable_until, usable_until(request.sent, belief.ttl));
    }

    void take_in_acquired(const Request& request) {
        if (!request.acquired->value) {
            ++report_.unknown;
            return;
        }
        const lease::Token token = *request.acquired->value;
        if (token == 0) return;
        ++report_.grants;
        const lease::LeaseName name{request.name.resource, token};
        if (token <= request.highest_told) report_.violation = "not above those told before: " + lease::to_string(name);
        lease::Token& highest = highest_told_[name.resource];
        highest = std::max(highest, token);
        beliefs_.push_back({name, request.ask.holder, request.ask.session, request.ask.predicate, request.ask.ttl,
                            usable_until(request.sent, request.ask.ttl)});
        if (beliefs_.size() > 24) beliefs_.erase(beliefs_.begin());
    }

    static bool meet(const std::string& a, const std::string& b) {
        if (a == b) return true;
        const auto path = lease::file_path(a);
        const auto other = lease::file_path(b);
        return path && other && overlap(*path, *other);
    }

    void check() {
        for (std::size_t i = 0; i < beliefs_.size(); ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const Belief& a = beliefs_[i];
                const Belief& b = beliefs_[j];
                const bool both = fronts_.time.now() < std::min(a.usable_until, b.usable_until);
                const bool one_party = a.holder == b.holder && a.session == b.session && !a.session.empty();
                if (!both || one_party || !meet(a.name.resource, b.name.resource) ||
                    lease::compatible(a.predicate, b.predicate))
                    continue;
                report_.violation = "two at once: " + lease::to_string(a.name) + " and " + lease::to_string(b.name);
            }
        for (const auto& [name, stored] : fronts_.server.things[Kind::record])
            check_record(name, stored.value);
    }

    /// By the engine's own time no two leases of one record exclude each other.
    void check_record(const std::string& name, const StoredValue& stored) {
        const auto kept = decode_stored(stored);
        if (!kept) {
            report_.violation = "no record: " + name;
            return;
        }
        const Instant now{fronts_.server.now() - kept->written_at};
        const auto& leases = kept->relative.record.leases;
        for (const lease::Lease& a : leases)
            for (const lease::Lease& b : leases) {
                const bool one_session = a.holder == b.holder && a.session == b.session && !a.session.empty();
                const bool one_party = &a == &b || one_session;
                if (one_party || !a.active(now) || !b.active(now) || lease::compatible(a.predicate, b.predicate))
                    continue;
                report_.violation = "two in one record: " + lease::to_string(lease::LeaseName{name, a.token}) +
                                    " and " + lease::to_string(lease::LeaseName{name, b.token});
            }
    }

    /// When nothing goes wrong any more, and all leases have run out, each of them must have had its turn.
    void check_that_waiters_are_served() {
        SimServer& server = fronts_.server;
        server.loses_requests = server.loses_answers = server.late_swaps = 0;
        server.loses_notices = server.doubles_notices = 0;
        server.latency = 300us;
        if (!server.reachable()) server.set_reachable(true);
        for (int i = 0; i < 300 && !report_.violation; ++i) {
            fronts_.pass(100ms);
            hear();
            check();
        }
        if (shape_.clock_steps) return;  // a lease may be longer by as much as the clock went back
        for (const Waits& waits : waiting_)
            report_.violation = "nobody told " + waits.resource + " " + std::to_string(waits.request);
        if (!requests_.empty()) report_.violation = "a request was not answered";
        if (!fronts_.vanished().empty()) report_.violation = "taken for deleted: " + fronts_.vanished()[0];
    }

    HistoryShape shape_;
    Random random_;
    SimFronts fronts_;
    std::vector<Duration> recovering_until_;
    std::vector<std::size_t> steps_known_;
    Duration no_start_until_{};
    std::uint64_t sessions_ = 0;
    std::uint64_t requests_made_ = 0;
    std::vector<Request> requests_;
    std::vector<Belief> beliefs_;
    std::vector<Waits> waiting_;
    std::map<std::string, lease::Token> highest_told_;
    HistoryReport report_;
};

}  // namespace

HistoryReport run_history(const HistoryShape& shape) {
    return History(shape).run();
}

}  // namespace holdfast::store::cas
