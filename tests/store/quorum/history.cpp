#include "store/quorum/history.h"

#include <algorithm>
#include <set>

#include "base/random.h"
#include "lease/resource.h"

namespace holdfast::store::quorum {
namespace {

/// A holder's belief that it has a lease. Each has a clock of its own, which runs at a rate of its own.
struct Belief {
    std::string resource;
    std::string holder;
    std::string session;
    lease::Token token = 0;
    lease::Predicate predicate = lease::Predicate::mutates;
    Duration usable_until{};  ///< true time
    bool released = false;
};

struct Request {
    enum class Kind : std::uint8_t { acquire, renew, release, state } kind;
    std::string resource;
    std::string holder;
    std::string session;
    lease::Predicate predicate = lease::Predicate::mutates;
    Duration ttl{};
    lease::Token token = 0;
    Duration sent{};
    Promised<lease::Token> acquired;
    Promised<bool> answered;
    Promised<lease::LeaseState> state;
    lease::Token highest_told = 0;  ///< of all grants told when this was asked

    bool done() const { return acquired ? acquired->done : answered ? answered->done : state->done; }
};

class History {
 public:
    explicit History(const HistoryShape& shape)
        : shape_(shape),
          random_(shape.seed),
          cluster_({.members = shape.members,
                    .longest_ttl = 4s,
                    .rho = rho,
                    .clocks = clocks(),
                    .tune = [](QuorumConfig& config) {
                        config.attempt_time = 200ms;
                        config.give_up_after = 1s;
                    }}) {
        cluster_.fate = [this](const Envelope&) { return fate(); };
    }

    HistoryReport run() {
        for (std::size_t step = 0; step < shape_.steps && !report_.violation; ++step)
            one_step();
        requests_.clear();
        return report_;
    }

 private:
    static constexpr double rho = 0.05;

    std::vector<Cluster::Clock> clocks() {
        std::vector<Cluster::Clock> clocks;
        for (std::size_t i = 0; i < shape_.members; ++i)
            clocks.push_back({Duration{1s} * static_cast<int>(random_.below(1000)), rate()});
        return clocks;
    }
    double rate() { return random_.below(2) == 0 ? 1 - rho : 1 + rho; }
    bool chance(unsigned percent) { return random_.below(100) < percent; }

    Cluster::Fate fate() {
        if (chance(loss_)) return Cluster::Fate::lose;
        if (chance(10)) return Cluster::Fate::hold;
        return chance(10) ? Cluster::Fate::twice : Cluster::Fate::deliver;
    }

    std::string resource() {
        static const std::vector<std::string> plain{"a", "b"};
        static const std::vector<std::string> paths{"FILE:/a/**", "FILE:/a/b", "FILE:/a/c/**", "FILE:/a/c/d"};
        const auto& names = shape_.paths ? paths : plain;
        return names[random_.below(names.size())];
    }

    std::optional<std::size_t> some_node() {
        const std::size_t node = random_.below(cluster_.size());
        return cluster_.up(node) ? std::optional(node) : std::nullopt;
    }

    void one_step() {
        const unsigned what = static_cast<unsigned>(random_.below(100));
        if (what < 35)
            ask();
        else if (what < 60)
            deliver_some();
        else if (what < 68)
            cluster_.let_go();
        else if (what < 76)
            reorder();
        else if (what < 95)
            pass();
        else
            misfortune();
        hear();
        check();
    }

    void pass() {
        const Duration times[] = {1ms, 50ms, 250ms, 1s, 3s};
        cluster_.pass(times[random_.below(std::size(times))]);
    }

    void deliver_some() {
        for (std::uint64_t i = random_.below(12); i > 0; --i)
            cluster_.deliver_one();
    }

    void reorder() {
        auto& flying = cluster_.flying;
        for (std::size_t i = flying.size(); i > 1; --i)
            std::swap(flying[i - 1], flying[random_.below(i)]);
    }

    void misfortune() {
        loss_ = chance(50) ? 0 : 20;
        const std::size_t node = random_.below(cluster_.size());
        if (chance(40)) {
            cluster_.cut_off(node, chance(40));
            return;
        }
        if (!shape_.crashes) return;
        const bool others_up = down_ == 0;
        if (cluster_.up(node) && others_up) {
            cluster_.crash(node);
            ++down_;
            ++report_.crashes;
        } else if (!cluster_.up(node)) {
            cluster_.start_again(node);
            --down_;
        }
    }

    void ask() {
        const auto node = some_node();
        if (!node) return;
        Request request;
        request.sent = cluster_.elapsed();
        request.highest_told = highest_told_;
        const unsigned what = static_cast<unsigned>(random_.below(100));
        if (what < 45 || beliefs_.empty()) {
            ask_acquire(*node, request);
        } else {
            const Belief& belief = beliefs_[random_.below(beliefs_.size())];
            request.resource = belief.resource;
            request.holder = belief.holder;
            request.token = belief.token;
            ask_about(*node, request, what, belief.released);
        }
        requests_.push_back(std::move(request));
    }

    void ask_acquire(std::size_t node, Request& request) {
        request.kind = Request::Kind::acquire;
        request.resource = resource();
        request.holder = "h" + std::to_string(random_.below(3));
        request.ttl = chance(50) ? Duration{1s} : Duration{4s};
        request.predicate = chance(30) ? lease::Predicate::consumes : lease::Predicate::mutates;
        request.session = session();
        request.acquired =
            cluster_.acquire(node, request.resource, {request.holder, request.ttl, request.predicate, request.session});
    }
    /// Some acquisitions name a session of their own and some name none, which is the same (G2); the others are their
    /// holder's one session, in which it is not in its own way.
    std::string session() {
        if (chance(50)) return "one";
        return chance(50) ? std::to_string(++sessions_) : std::string{};
    }

    void ask_about(std::size_t node, Request& request, unsigned what, bool released) {
        if (what < 70 && !released) {
            request.kind = Request::Kind::renew;
            request.answered = cluster_.renew(node, request.resource, request.token, request.holder);
        } else if (what < 85) {
            request.kind = Request::Kind::release;
            for (Belief& belief : beliefs_)  // whoever asks to release has stopped
                if (belief.token == request.token && belief.resource == request.resource)
                    belief.usable_until = std::min(belief.usable_until, cluster_.elapsed());
            given_back_.insert({request.resource, request.token});
            request.answered = cluster_.release(node, request.resource, request.token, request.holder);
        } else {
            request.kind = Request::Kind::state;
            request.state = cluster_.state(node, request.resource, request.token);
            request.predicate = released ? lease::Predicate::deletes : lease::Predicate::mutates;
        }
    }

    void hear() {
        for (Request& request : requests_)
            if (request.done()) take_in(request);
        std::erase_if(requests_, [](const Request& request) { return request.done(); });
    }

    /// T3, Q7: from its own send, on a clock that may be as slow as is allowed.
    Duration usable_until(Duration sent, Duration ttl) const {
        return sent + Duration{static_cast<Duration::rep>(static_cast<double>(ttl.count()) / (1 - rho)) - 1};
    }

    void take_in(Request& request) {
        switch (request.kind) {
            case Request::Kind::acquire:
                return take_in_acquired(request);
            case Request::Kind::renew:
                if (!request.answered->value) ++report_.unknown;
                if (!request.answered->value.value_or(false)) return;
                ++report_.renewals;
                for (Belief& belief : beliefs_)
                    if (belief.token == request.token && belief.resource == request.resource) renewed(belief, request);
                return;
            case Request::Kind::release:
                if (!request.answered->value.value_or(false)) return;
                ++report_.releases;
                for (Belief& belief : beliefs_)
                    if (belief.token == request.token && belief.resource == request.resource) belief.released = true;
                return;
            case Request::Kind::state:
                if (request.predicate == lease::Predicate::deletes && request.state->value == lease::LeaseState::active)
                    report_.violation = "released and active again: " + name(request.resource, request.token);
        }
    }

    void renewed(Belief& belief, const Request& request) {
        if (given_back_.contains({belief.resource, belief.token})) return;  // it has stopped
        const Duration until = usable_until(request.sent, ttls_[{belief.resource, belief.token}]);
        belief.usable_until = std::max(belief.usable_until, until);
    }

    void take_in_acquired(const Request& request) {
        if (!request.acquired->value) {
            ++report_.unknown;
            return;
        }
        const lease::Token token = *request.acquired->value;
        if (token == 0) return;
        ++report_.grants;
        if (token <= request.highest_told)
            report_.violation = "token not above those told before: " + name(request.resource, token);
        highest_told_ = std::max(highest_told_, token);
        ttls_[{request.resource, token}] = request.ttl;
        beliefs_.push_back({request.resource, request.holder, request.session, token, request.predicate,
                            usable_until(request.sent, request.ttl)});
        if (beliefs_.size() > 24) beliefs_.erase(beliefs_.begin());
    }

    static std::string name(const std::string& resource, lease::Token token) {
        return lease::to_string(lease::LeaseName{resource, token});
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
                const bool both = cluster_.elapsed() < std::min(a.usable_until, b.usable_until);
                const bool one_party = a.holder == b.holder && a.session == b.session && !a.session.empty();
                if (!both || one_party || !meet(a.resource, b.resource) || lease::compatible(a.predicate, b.predicate))
                    continue;
                report_.violation = "two at once: " + name(a.resource, a.token) + " and " + name(b.resource, b.token);
            }
    }

    HistoryShape shape_;
    Random random_;
    Cluster cluster_;
    unsigned loss_ = 0;
    std::size_t down_ = 0;
    std::uint64_t sessions_ = 0;
    lease::Token highest_told_ = 0;
    std::vector<Request> requests_;
    std::vector<Belief> beliefs_;
    std::map<std::pair<std::string, lease::Token>, Duration> ttls_;
    std::set<std::pair<std::string, lease::Token>> given_back_;
    HistoryReport report_;
};

}  // namespace

HistoryReport run_history(const HistoryShape& shape) {
    return History(shape).run();
}

}  // namespace holdfast::store::quorum
