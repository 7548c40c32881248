#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "base/random.h"
#include "keys/drone/drone_core.h"
#include "keys/drone/orders_for_tests.h"
#include "supervise/guardian_rules.h"
#include "support/seeds.h"

namespace holdfast::keys::drone {
namespace {

/// A drone, its guardians and a server, with messages that are late, lost and repeated, and a drone that is stopped now
/// and then. Guardians go on whatever the drone does, as they do in truth; their rules are the real ones.
class Chaos {
 public:
    explicit Chaos(std::uint64_t seed) : random_(seed), core_({.controllers = 2, .self = {.capacity = 8}}, now_) {}

    void run() {
        for (int i = 0; i < 6; ++i)
            later(seconds(20), [this, i] { grant("b-" + std::to_string(i)); });
        step();
        while (now_ < at(400s) && !HasFailure())
            advance();
        EXPECT_LE(launches_.size(), 6U);
    }

    static bool HasFailure() { return testing::Test::HasFailure(); }

    std::size_t launched() const { return launches_.size(); }
    std::size_t ended() const { return ended_; }
    std::size_t killed_by_guardians() const { return killed_; }
    std::size_t renewals() const { return renewals_; }

 private:
    struct Lease {
        HolderInstant expires;
        SpawnOrder order;
        bool released = false;
        bool wanted = true;  ///< the order is sent until it is done
    };
    struct Process {
        supervise::GuardianRules rules;
        bool alive = true;
        bool stubborn = false;
    };

    Duration seconds(std::uint64_t most) { return std::chrono::milliseconds{random_.below(most * 1000 + 1)}; }
    bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
    void later(Duration delay, std::function<void()> what) { events_.emplace(now_ + delay, std::move(what)); }
    /// Most answers come soon, some very late.
    Duration delay() { return one_in(10) ? seconds(40) : std::chrono::milliseconds{random_.below(300)}; }

    void grant(const std::string& id) {
        Lease lease{now_ + 60s, spawn_order(id, now_ - seconds(2))};
        if (one_in(2)) lease.order.deadlines.renew -= seconds(28);  // it may be told too early (K3)
        lease.order.spawn.ready = {one_in(2) ? Readiness::How::tcp : Readiness::How::started};
        if (one_in(4)) lease.order.spawn.lifetime = 90s;
        leases_.emplace(id, lease);
    }

    /// The next event, or the next turn of the drone; guardians in between.
    void advance() {
        if (one_in(100)) stalled_until_ = now_ + seconds(80);
        HolderInstant next = now_ + 1s;
        if (!events_.empty()) next = std::min(next, events_.begin()->first);
        guard_until(next);
        now_ = next;
        while (!events_.empty() && events_.begin()->first <= now_) {
            auto what = std::move(events_.begin()->second);
            events_.erase(events_.begin());
            if (now_ < stalled_until_)
                events_.emplace(stalled_until_, std::move(what));  // nothing is heard by a process that is stopped
            else
                what();
        }
        if (now_ >= stalled_until_) step();
    }

    void guard_until(HolderInstant end) {
        for (auto& [id, process] : processes_)
            while (process.alive && process.rules.wake_at() <= end)
                guard(id, process, std::max(process.rules.wake_at(), now_));
        for (const auto& [id, process] : processes_) {
            const Lease& lease = leases_.at(id);
            if (process.alive) {
                ASSERT_LT(end, lease.expires) << id << " outlives its key";
            }
        }
    }

    void guard(const std::string& id, Process& process, HolderInstant when) {
        const auto due = process.rules.step(when);
        if (due == supervise::GuardianRules::Step::none) return;
        if (due == supervise::GuardianRules::Step::terminate && process.stubborn) return;
        ASSERT_LT(when, leases_.at(id).expires) << id << " was still alive when its key had run out";
        if (due == supervise::GuardianRules::Step::kill) ++killed_;
        die(id, process, true);
    }

    void die(const std::string& id, Process& process, bool forced) {
        if (!process.alive) return;
        process.alive = false;
        later(delay(), [this, id, forced] { core_.on_ended(id, {.exit_code = 0, .forced = forced}); });
    }

    void step() {
        for (const Effect& effect : core_.step(now_))
            std::visit([this](const auto& what) { on(what); }, effect);
        for (const auto& [id, process] : processes_) {
            const Backend* backend = core_.find(id);
            const bool over = backend == nullptr || backend->is_terminated();
            ASSERT_FALSE(over && process.alive) << id << " runs, and was said to have ended";
        }
    }

    void on(const SendHeartbeat& what) {
        const bool lost = one_in(8);
        later(delay(), [this, ask = what.ask, lost] {
            if (lost) return core_.on_heartbeat(ask, Error{Code::unreachable, "lost"}, now_);
            HeartbeatAnswer answer{.controller = "c" + std::to_string(ask.controller), .send_all = one_in(10)};
            for (const auto& report : ask.message.backends)
                if (report.progress.state == BackendState::terminated) give_back(report.id);
            if (ask.message.reassert_to)
                for (const auto& report : ask.message.backends)
                    if (!one_in(4)) reassert(report, answer);
            core_.on_heartbeat(ask, answer, now_);
        });
    }

    void give_back(const std::string& id) {
        const auto process = processes_.find(id);
        ASSERT_TRUE(process == processes_.end() || !process->second.alive) << "a key is given back too early";
        Lease& lease = leases_.at(id);
        if (!lease.released) ++ended_;
        lease.released = true;
        lease.wanted = false;
    }

    void reassert(const BackendReport& report, HeartbeatAnswer& answer) {
        Lease& lease = leases_.at(report.id);
        if (lease.released || now_ >= lease.expires || !report.holds_for) return;
        lease.expires = std::max(lease.expires, now_ + 60s);
        answer.reasserted.push_back(report.id);
    }

    void on(const SendOrders& what) {
        later(delay(), [this, ask = what.ask] {
            if (one_in(8)) return core_.on_orders(ask, Error{Code::unreachable, "lost"}, now_);
            OrdersAnswer answer{"c" + std::to_string(ask.controller), {}};
            for (auto& [id, lease] : leases_) {
                const std::uint64_t number = std::hash<std::string>{}(id) % 1000;
                if (now_ >= lease.expires) lease.wanted = false;
                if (lease.wanted || one_in(5)) answer.orders.push_back({number, lease.order});
                if (one_in(60))
                    answer.orders.push_back(
                        {number + 1000, TerminateOrder{id, one_in(2) ? Severity::hard : Severity::soft}});
            }
            core_.on_orders(ask, answer, now_);
        });
    }

    /// The server renews at some instant between question and answer.
    void on(const SendRenewal& what) {
        const HolderInstant served = now_ + std::chrono::milliseconds{random_.below(200)};
        auto replies = std::make_shared<std::vector<client::RenewReply>>();
        const bool never_came = one_in(6);
        for (const std::string& id : what.ask.backends)
            replies->push_back(never_came ? client::RenewReply{Error{Code::unavailable, "lost"}} : renew(id, served));
        later(delay() + 200ms, [this, ask = what.ask, replies, lost = never_came || one_in(8)] {
            if (lost)
                core_.on_renewal(ask, {random_.below(2), Error{Code::unreachable, "lost"}}, now_);
            else
                core_.on_renewal(ask, {random_.below(2), *replies}, now_);
        });
    }

    client::RenewReply renew(const std::string& id, HolderInstant served) {
        Lease& lease = leases_.at(id);
        if (lease.released) return Error{Code::lease_released, "released"};
        if (served >= lease.expires) return Error{Code::lease_expired, "expired"};
        if (one_in(20)) return Error{Code::unknown_lease, "forgotten"};
        if (one_in(20)) return Error{Code::renewal_barred, "barred"};
        lease.expires = served + 60s;
        ++renewals_;
        return client::Renewed{{{20s, 40s, 50s, 60s}, 60s}};
    }

    void on(const Launch& what) {
        const std::string id = what.order.backend;
        ASSERT_TRUE(launches_.insert(id).second) << id << " was started twice";
        later(delay(), [this, id, deadlines = what.deadlines] {
            core_.on_starting(id, 4000);
            const auto moved = moved_.find(id);
            const supervise::WorkDeadlines known = moved == moved_.end() ? deadlines : moved->second;
            if (now_ >= known.soft || stops_.contains(id))
                return core_.on_ended(id, {.exit_code = 143, .forced = true});
            processes_.emplace(id, Process{supervise::GuardianRules{known}, true, one_in(3)});
            core_.on_running(id, now_);
            if (one_in(4)) later(seconds(200), [this, id] { die(id, processes_.at(id), false); });
        });
    }
    void on(const MoveDeadlines& what) {
        moved_.insert_or_assign(what.backend, what.deadlines);
        const auto found = processes_.find(what.backend);
        if (found != processes_.end()) found->second.rules.renewed(what.deadlines);
    }
    void on(const StopBackend& what) {
        stops_.insert(what.backend);
        const auto found = processes_.find(what.backend);
        if (found == processes_.end() || !found->second.alive) return;
        found->second.rules.stop(what.kill_at);
        guard(what.backend, found->second, now_);
    }
    void on(const Probe& what) {
        later(delay(), [this, id = what.backend] { core_.on_probe(id, one_in(2), now_); });
    }
    void on(const Note&) {}

    HolderInstant now_ = at(0s);
    HolderInstant stalled_until_ = at(0s);
    Random random_;
    DroneCore core_;
    std::multimap<HolderInstant, std::function<void()>> events_;
    std::map<std::string, Lease> leases_;
    std::map<std::string, Process> processes_;
    std::map<std::string, supervise::WorkDeadlines> moved_;
    std::set<std::string> stops_;
    std::set<std::string> launches_;
    std::size_t ended_ = 0;
    std::size_t killed_ = 0;
    std::size_t renewals_ = 0;
};

TEST(DroneProperty, no_backend_outlives_its_key_or_runs_twice_whatever_is_late_lost_or_repeated) {
    std::size_t launched = 0, ended = 0, killed = 0, renewals = 0;
    for (std::uint64_t seed = first_seed(), end = seed + 2000; seed < end; ++seed) {
        Chaos chaos{seed};
        chaos.run();
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
        launched += chaos.launched();
        ended += chaos.ended();
        killed += chaos.killed_by_guardians();
        renewals += chaos.renewals();
    }
    EXPECT_GT(launched, 5'000U) << "too little happened to prove anything";
    EXPECT_GT(ended, 4'000U);
    EXPECT_GT(killed, 500U);
    EXPECT_GT(renewals, 4'000U);
}

}  // namespace
}  // namespace holdfast::keys::drone
