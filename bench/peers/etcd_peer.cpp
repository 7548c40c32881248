#include "etcd_peer.h"

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "etcd_client.h"
#include "ledger.h"

namespace holdfast::bench {
namespace {

constexpr std::uint32_t renewals_of_a_batch = 1000;
constexpr std::string_view end_prefix = "end-";

/// An etcd lease, as this client knows it.
struct Hold {
    std::int64_t lease = 0;
    Milliseconds ttl{0};
    Moment deadline;  ///< over, or released, by then
};

struct Known {
    std::shared_ptr<Hold> hold;
    std::int64_t revision = 0;
};

bool is_held(const Known& known) {
    return SteadyClock::now() < known.hold->deadline;
}

std::shared_ptr<Hold> hold_of(const EtcdClient::Lease& lease) {
    return std::make_shared<Hold>(Hold{lease.id, lease.ttl, lease.asked + lease.ttl});
}

/// Keep-alives that were sent together.
struct Renewals {
    std::uint32_t missing = 0;
    std::uint32_t lost = 0;
};

class EtcdPeer final : public Peer {
 public:
    EtcdPeer(PeerSetting setting, bool shared) : setting_(std::move(setting)), shared_(shared) {}

    Promises promises() override;
    Granting acquire(const std::string& name, Milliseconds ttl) override;
    Granting await(const std::string& name, Milliseconds ttl, Milliseconds within) override;
    Doing renew(const std::string& name) override;
    Doing release(const std::string& name) override;
    bool held(const std::string& name) override;
    Showing owner(const std::string& name) override { return client().get(name); }
    void fill(Range range, Milliseconds ttl) override;
    Batching batching() override {
        return {.leases = shared_ ? 0 : renewals_of_a_batch, .under_way = shared_ ? 1U : 4U};
    }
    void begin_renewals(Range range) override;
    void finish_renewals(Range range) override;
    std::string watch_ends() override;
    std::uint32_t ending_batch() override { return 500; }
    void acquire_ending(std::uint32_t first, std::span<Ending> leases) override;
    void see_ends(Moment until, std::vector<SeenEnd>& seen) override;
    std::uint64_t check_locally(std::uint64_t count) override;
    void drop() override;

 private:
    EtcdClient& client();
    Granting grant_if_free(const std::string& name, const std::shared_ptr<Hold>& hold);
    Doing keep(Hold& hold);
    void wait_for_delete(const std::string& name, std::int64_t after_revision, Hold& hold, Moment until);

    PeerSetting setting_;
    bool shared_;
    std::unique_ptr<EtcdClient> client_;
    Ledger<Known> ledger_;
    std::deque<std::shared_ptr<Renewals>> under_way_;
    std::vector<SeenEnd> ended_;
};

EtcdClient& EtcdPeer::client() {
    if (!client_) client_ = std::make_unique<EtcdClient>(setting_.ports);
    return *client_;
}

Promises EtcdPeer::promises() {
    return {.durable = true,
            .replicated = setting_.ports.size() > 1,
            .token = true,
            .local_deadline = "the TTL that the last keep-alive was answered with, from when it was asked"};
}

Granting EtcdPeer::grant_if_free(const std::string& name, const std::shared_ptr<Hold>& hold) {
    const EtcdClient::Put put = client().put_if_free({name, hold->lease}, setting_.holder);
    Granting granting;
    static_cast<Exchange&>(granting) = put;
    granting.granted = put.done;
    if (put.done)
        ledger_.write(name, {hold, put.revision});
    else
        granting.why = "the key is there";
    granting.token = static_cast<std::uint64_t>(put.revision);
    return granting;
}

Granting EtcdPeer::acquire(const std::string& name, Milliseconds ttl) {
    const EtcdClient::Lease lease = client().grant(ttl);
    Granting granting = grant_if_free(name, hold_of(lease));
    granting.asked = lease.asked;
    if (granting.granted) return granting;
    granting.token.reset();
    client().revoke(lease.id);
    return granting;
}

/// Of all that is under way to wait for a lock: the key's end, or that the lease must be kept alive.
void EtcdPeer::wait_for_delete(const std::string& name, std::int64_t after_revision, Hold& hold, Moment until) {
    bool deleted = false;
    client().watch({name, false, after_revision}, [&](const std::string&) { deleted = true; });
    Moment keep_at = hold.deadline - hold.ttl * 2 / 3;
    while (!deleted && !client().watch_is_broken() && SteadyClock::now() < until) {
        if (SteadyClock::now() >= keep_at) {
            if (!keep(hold).done) break;
            keep_at = hold.deadline - hold.ttl * 2 / 3;
        }
        client().serve(std::min(until, keep_at));
    }
    client().stop_watching();
}

Granting EtcdPeer::await(const std::string& name, Milliseconds ttl, Milliseconds within) {
    const Moment until = SteadyClock::now() + within;
    auto hold = hold_of(client().grant(ttl));
    for (;;) {
        Granting granting = grant_if_free(name, hold);
        if (granting.granted) {
            keep(*hold);  // so that all of its TTL is ahead
            return granting;
        }
        if (SteadyClock::now() >= until) {
            granting.token.reset();
            client().revoke(hold->lease);
            return granting;
        }
        wait_for_delete(name, static_cast<std::int64_t>(*granting.token), *hold, until);
        if (SteadyClock::now() >= hold->deadline) hold = hold_of(client().grant(ttl));
    }
}

/// Asks again if the stream breaks, which says nothing about the lease.
Doing EtcdPeer::keep(Hold& hold) {
    struct Answer : Exchange {
        bool came = false;
        std::optional<std::chrono::seconds> ttl;
    };
    const Moment limit = SteadyClock::now() + answer_limit;
    for (;;) {
        const auto answer = std::make_shared<Answer>();
        answer->asked = SteadyClock::now();
        client().keep_alive(hold.lease, [answer](auto ttl) {
            answer->answered = SteadyClock::now();
            answer->came = true;
            answer->ttl = ttl;
        });
        client().wait_for([&] { return answer->came; });
        if (!answer->ttl && SteadyClock::now() < limit) continue;
        Doing doing;
        static_cast<Exchange&>(doing) = *answer;
        doing.done = answer->ttl && answer->ttl->count() > 0;
        hold.deadline = doing.done ? answer->asked + *answer->ttl : Moment();
        if (!doing.done) doing.why = answer->ttl ? "there is no such lease" : "no node answers";
        return doing;
    }
}

Doing EtcdPeer::renew(const std::string& name) {
    return keep(*ledger_.expect(name).hold);
}

Doing EtcdPeer::release(const std::string& name) {
    Hold& hold = *ledger_.expect(name).hold;
    hold.deadline = {};
    return client().revoke(hold.lease);
}

bool EtcdPeer::held(const std::string& name) {
    const Known* known = ledger_.find(name);
    return known && is_held(*known);
}

void EtcdPeer::fill(Range range, Milliseconds ttl) {
    auto& filled = ledger_.filled();
    const auto leases = client().grant_all(std::vector<Milliseconds>(shared_ ? filled.empty() : range.count, ttl));
    std::vector<Known> known;
    std::vector<EtcdClient::Wanted> wanted;
    for (std::uint32_t i = 0; i < range.count; ++i) {
        const bool has_one = shared_ && (i > 0 || !filled.empty());
        const auto& one = i > 0 ? known.front().hold : filled.empty() ? nullptr : filled.front().hold;
        known.push_back({has_one ? one : hold_of(leases[i]), 0});
        wanted.push_back({fill_name(range.first + i), known.back().hold->lease});
    }
    const auto revisions = client().put_all(wanted, setting_.holder);
    filled.resize(std::max<std::size_t>(filled.size(), range.first + range.count));
    for (std::uint32_t i = 0; i < range.count; ++i)
        filled[range.first + i] = {known[i].hold, revisions[i]};
}

void EtcdPeer::begin_renewals(Range range) {
    auto& filled = ledger_.filled();
    const auto renewals = std::make_shared<Renewals>();
    renewals->missing = shared_ ? 1 : range.count;
    under_way_.push_back(renewals);
    const Moment asked = SteadyClock::now();
    for (std::uint32_t i = 0; i < renewals->missing; ++i) {
        const auto& hold = filled.at(range.first + i).hold;
        client().keep_alive(hold->lease, [renewals, hold, asked](auto ttl) {
            --renewals->missing;
            const bool kept = ttl && ttl->count() > 0;
            if (kept)
                hold->deadline = asked + *ttl;
            else
                ++renewals->lost;
        });
    }
}

void EtcdPeer::finish_renewals(Range) {
    const auto renewals = under_way_.front();
    under_way_.pop_front();
    try {
        client().wait_for([&] { return renewals->missing == 0; });
        if (renewals->lost > 0) throw std::runtime_error("etcd: leases were lost");
    } catch (const std::exception&) {
        under_way_.clear();
        throw;
    }
}

std::string EtcdPeer::watch_ends() {
    ended_.clear();
    client().watch({std::string(end_prefix), true, 0}, [this](const std::string& key) {
        ended_.push_back({static_cast<std::uint32_t>(std::stoul(key.substr(end_prefix.size()))), SteadyClock::now()});
    });
    return "events of a watch on all keys, each of which has an etcd lease of its own";
}

void EtcdPeer::acquire_ending(std::uint32_t first, std::span<Ending> leases) {
    std::vector<Milliseconds> ttls;
    for (const Ending& lease : leases)
        ttls.push_back(lease.ttl);
    const auto granted = client().grant_all(ttls);
    std::vector<EtcdClient::Wanted> wanted;
    for (std::uint32_t i = 0; i < leases.size(); ++i) {
        static_cast<Exchange&>(leases[i]) = granted[i];
        leases[i].ttl = granted[i].ttl;
        wanted.push_back({end_name(first + i), granted[i].id});
    }
    client().put_all(wanted, setting_.holder);
}

void EtcdPeer::see_ends(Moment until, std::vector<SeenEnd>& seen) {
    do {
        client().serve(until);
        if (ended_.empty() && client().watch_is_broken()) throw std::runtime_error("etcd: the watch broke");
    } while (ended_.empty() && SteadyClock::now() < until);
    seen.insert(seen.end(), ended_.begin(), ended_.end());
    ended_.clear();
}

std::uint64_t EtcdPeer::check_locally(std::uint64_t count) {
    const Known& known = ledger_.expect(fill_name(0));
    std::uint64_t held = 0;
    for (std::uint64_t i = 0; i < count; ++i)
        held += is_held(known) ? 1 : 0;
    return held;
}

void EtcdPeer::drop() {
    client_.reset();
    ledger_.clear();
    under_way_.clear();
    ended_.clear();
}

}  // namespace

std::unique_ptr<Peer> etcd_peer(PeerSetting setting) {
    return std::make_unique<EtcdPeer>(std::move(setting), false);
}

std::unique_ptr<Peer> etcd_shared_peer(PeerSetting setting) {
    return std::make_unique<EtcdPeer>(std::move(setting), true);
}

}  // namespace holdfast::bench
