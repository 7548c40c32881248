#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>

#include "base/random.h"
#include "client/sessions/session_leases.h"
#include "support/seeds.h"

namespace holdfast::client::sessions {
namespace {

constexpr Duration ttl = 30s;
constexpr Duration timeout = 3s;

/// Several instances, a store as plain as can be, and a network and processes that do what they like: requests and
/// answers are slow or lost, processes stand still for longer than a lease lasts, the store forgets everything, and
/// each instance has an idea of its own of who lives.
class World {
 public:
    World(int instances, int sessions, std::uint64_t seed) : random_(seed) {
        for (int i = 0; i < instances; ++i) {
            const std::string name = "instance-" + std::to_string(i);
            names_.push_back(name);
            processes_.push_back(std::make_unique<Process>(Process{name, SessionLeases({.instance = name}, now_)}));
        }
        for (int i = 0; i < sessions; ++i)
            sessions_.push_back("session-" + std::to_string(i));
        for (auto& process : processes_) {
            for (const auto& session : sessions_)
                process->leases.want(session, now_);
            look_around(*process);
            run(*process);
        }
        at(now_ + between(100s, 200s), [this] { lose_everything(); });
    }

    void run_until(HolderInstant end) {
        while (violation_.empty() && !events_.empty() && events_.top().at < end) {
            const Event next = events_.top();
            events_.pop();
            now_ = next.at;
            next.what();
            check();
        }
    }

    const std::string& violation() const { return violation_; }
    int grants() const { return grants_; }
    int moves() const { return moves_; }

 private:
    struct Process {
        std::string name;
        SessionLeases leases;
        bool talking = false;
        int connection = 0;  ///< the life of the store it last talked to
    };
    struct Event {
        HolderInstant at;
        std::uint64_t number;
        std::function<void()> what;
        bool operator<(const Event& that) const { return std::tie(that.at, that.number) < std::tie(at, number); }
    };
    struct Held {
        std::string owner;
        HolderInstant end;
    };

    Duration between(Duration low, Duration high) {
        return low +
               Duration{static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>((high - low).count())))};
    }
    bool chance(int percent) { return random_.below(100) < static_cast<std::uint64_t>(percent); }
    void at(HolderInstant when, std::function<void()> what) { events_.push({when, ++events_made_, std::move(what)}); }

    void run(Process& process) {
        const HolderInstant due = std::max(process.leases.next(), now_ + 1ms);
        const Duration overslept = chance(2) ? between(1s, 60s) : between(0ms, 20ms);
        at(std::min(due, now_ + 5s) + overslept, [this, &process] {
            step(process);
            run(process);
        });
    }

    void step(Process& process) {
        if (chance(5)) look_around(process);
        poll(process);
        if (process.talking) return;
        if (process.connection != life_) {  // as the greeting of a new connection tells
            process.connection = life_;
            process.leases.take_nothing_until(lost_at_ + ttl);
        }
        auto requests = process.leases.take_due(now_, 1000);
        if (!requests.empty()) send(process, std::move(requests));
    }

    void look_around(Process& process) {
        std::set<std::string> live{process.name};
        for (const auto& name : names_)
            if (chance(90)) live.insert(name);
        process.leases.set_live(live, now_);
    }

    void poll(Process& process) {
        for (const auto& session : sessions_) {
            if (!chance(10) || !process.leases.begin_poll(session, now_)) continue;
            at(now_ + between(10ms, 5s), [this, &process, session] { process.leases.end_poll(session, now_); });
        }
    }

    void send(Process& process, std::vector<LeaseRequest> requests) {
        process.talking = true;
        const HolderInstant sent = now_;
        const bool lost = chance(4);
        const bool answer_lost = chance(4);
        const HolderInstant there = now_ + (chance(3) ? between(1s, 10s) : between(0ms, 50ms));
        const HolderInstant back = there + (chance(3) ? between(1s, 10s) : between(0ms, 50ms));
        const bool in_time = back < sent + timeout;
        const int life = life_;
        const auto answers = std::make_shared<std::vector<LeaseAnswer>>();
        if (!lost)
            at(there, [this, requests, answers, life, who = process.name] {
                if (life == life_)
                    for (const auto& request : requests)
                        answers->push_back(serve(request, who));
            });
        const HolderInstant heard = in_time ? back : sent + timeout;
        at(heard, [this, &process, requests, answers, good = !lost && !answer_lost && in_time] {
            process.talking = false;
            for (std::size_t i = 0; i < requests.size(); ++i)
                process.leases.answer(requests[i], good && i < answers->size() ? (*answers)[i] : LeaseAnswer{}, now_);
        });
    }

    LeaseAnswer serve(const LeaseRequest& request, const std::string& who) {
        auto found = store_.find(request.session);
        if (found != store_.end() && now_ >= found->second.end) {
            store_.erase(found);
            found = store_.end();
        }
        const bool ours = found != store_.end() && found->second.owner == who;
        const auto yes_if = [](bool yes) { return yes ? LeaseAnswer::Kind::yes : LeaseAnswer::Kind::no; };
        switch (request.ask) {
            case Ask::acquire:
                if (found != store_.end()) return {LeaseAnswer::Kind::no};
                store_[request.session] = {who, now_ + ttl};
                ++grants_;
                return {LeaseAnswer::Kind::yes};
            case Ask::renew:
                if (ours) found->second.end = now_ + ttl;
                return {yes_if(ours)};
            case Ask::release:
                if (ours) store_.erase(found);
                return {yes_if(ours)};
            case Ask::read:
                break;
        }
        return {LeaseAnswer::Kind::owner, found == store_.end() ? "" : found->second.owner};
    }

    void lose_everything() {
        store_.clear();
        ++life_;
        lost_at_ = now_;
        at(now_ + between(100s, 300s), [this] { lose_everything(); });
    }

    /// O2: whoever looks at this moment finds at most one who owns it.
    void check() {
        for (const auto& session : sessions_) {
            std::string owner;
            for (const auto& process : processes_) {
                const auto* one = process->leases.find(session);
                if (one == nullptr || !one->held() || !one->deadlines.held(now_)) continue;
                if (!owner.empty()) violation_ = session + " is owned by " + owner + " and " + process->name;
                owner = process->name;
            }
            if (owner.empty()) continue;
            if (last_owner_[session] != owner) ++moves_;
            last_owner_[session] = owner;
        }
    }

    Random random_;
    HolderInstant now_{1000s};
    std::priority_queue<Event> events_;
    std::uint64_t events_made_ = 0;
    std::vector<std::string> names_;
    std::vector<std::string> sessions_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::map<std::string, Held> store_;
    std::map<std::string, std::string> last_owner_;
    int life_ = 0;
    HolderInstant lost_at_{HolderInstant{1000s} - ttl};
    std::string violation_;
    int grants_ = 0;
    int moves_ = 0;
};

TEST(SessionLeasesWorld, never_lets_two_own_a_session_at_once) {
    int grants = 0;
    int moves = 0;
    for (std::uint64_t seed = first_seed(), end = seed + 150; seed < end; ++seed) {
        World world{4, 3, seed};
        world.run_until(HolderInstant{1000s + 15min});
        ASSERT_EQ(world.violation(), "") << "replay with seed " << seed;
        grants += world.grants();
        moves += world.moves();
    }
    EXPECT_GT(grants, 5'000) << "too little happened to prove anything";
    EXPECT_GT(moves, 2'000);
}

}  // namespace
}  // namespace holdfast::client::sessions
