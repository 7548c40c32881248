#include "zookeeper_peer.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "ledger.h"
#include "zookeeper_client.h"

namespace holdfast::bench {
namespace {

/// How often sessions are looked after between orders: much less than a third of any timeout, when a ping is due.
constexpr Milliseconds look_every{10};
/// The transaction that ends a session names all its nodes, and must fit into a message of a megabyte.
constexpr std::uint32_t nodes_of_a_session = 10'000;
constexpr Milliseconds watcher_timeout{30'000};

struct Known {
    Session session;
    std::int64_t node = 0;  ///< its czxid
    bool held = false;      ///< not released, and not known to be lost
};

/// A session with leases that fill() took, from this number on.
struct Filled {
    Session session;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    Milliseconds ttl{0};
};

std::string path_of(const std::string& name) {
    return "/" + name;
}

class ZookeeperPeer final : public Peer {
 public:
    explicit ZookeeperPeer(PeerSetting setting)
        : setting_(std::move(setting)), client_(setting_.ports), keeper_([this] { look_after_sessions(); }) {}
    ~ZookeeperPeer() override;

    Promises promises() override;
    Granting acquire(const std::string& name, Milliseconds ttl) override;
    Granting await(const std::string& name, Milliseconds ttl, Milliseconds within) override;
    Doing renew(const std::string& name) override;
    Doing release(const std::string& name) override;
    bool held(const std::string& name) override;
    Showing owner(const std::string& name) override;
    void fill(Range range, Milliseconds ttl) override;
    Batching batching() override { return {.leases = 0, .under_way = 1}; }
    void begin_renewals(Range) override {}
    void finish_renewals(Range) override;
    std::string watch_ends() override;
    std::uint32_t ending_batch() override { return 50; }
    void acquire_ending(std::uint32_t first, std::span<Ending> leases) override;
    void see_ends(Moment until, std::vector<SeenEnd>& seen) override;
    std::uint64_t check_locally(std::uint64_t count) override;
    void drop() override;

 private:
    Session session_of(Milliseconds ttl);
    Session any_session();
    Filled& to_fill(std::uint32_t first, Milliseconds ttl);
    Granting try_to_create(const std::string& name, const Session& session);
    void look_after_sessions();
    static void on_event(zhandle_t*, int type, int state, const char* path, void* self);

    PeerSetting setting_;
    std::mutex mutex_;  ///< of all below: an order is carried out under it
    std::condition_variable stop_;
    bool stopping_ = false;
    std::vector<SeenEnd> ended_;
    std::uint64_t deletes_seen_ = 0;
    ZookeeperClient client_;
    std::map<Milliseconds, Session> by_ttl_;
    Ledger<Known> ledger_;
    std::vector<Filled> filled_;
    Session watcher_;
    std::thread keeper_;
};

ZookeeperPeer::~ZookeeperPeer() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    stop_.notify_one();
    keeper_.join();
}

void ZookeeperPeer::look_after_sessions() {
    std::unique_lock lock(mutex_);
    while (!stop_.wait_for(lock, look_every, [this] { return stopping_; }))
        client_.loop().serve(SteadyClock::now());
}

Promises ZookeeperPeer::promises() {
    return {.durable = true,
            .replicated = setting_.ports.size() > 1,
            .token = true,
            .local_deadline =
                "the state of the session, which the client takes for lost when nothing was heard of the "
                "server for two thirds of the TTL"};
}

Session ZookeeperPeer::session_of(Milliseconds ttl) {
    Session& session = by_ttl_[ttl];
    if (!session || session->over()) session = client_.connect(ttl);
    if (session->timeout() < ttl)
        throw std::runtime_error("ZooKeeper's sessions have " + std::to_string(session->timeout().count()) +
                                 " ms at most");
    return session;
}

Session ZookeeperPeer::any_session() {
    for (const Session& session : client_.loop().sessions())
        if (!session->over()) return session;
    return session_of(watcher_timeout);
}

Granting ZookeeperPeer::try_to_create(const std::string& name, const Session& session) {
    ZookeeperAnswer answer = client_.create(session, path_of(name), setting_.holder);
    if (answer.code == ZNODEEXISTS && answer.tries > 1) {  // perhaps by this very request, whose answer was lost
        const ZookeeperAnswer found = client_.stat_of(session, path_of(name));
        if (found.code == ZOK && found.stat.ephemeralOwner == session->id()) answer = found;
    }
    Granting granting;
    static_cast<Exchange&>(granting) = answer;
    granting.granted = answer.code == ZOK;
    if (granting.granted) {
        granting.token = static_cast<std::uint64_t>(answer.stat.czxid);
        ledger_.write(name, {session, answer.stat.czxid, true});
    } else {
        granting.why = zookeeper_error(answer.code);
    }
    return granting;
}

Granting ZookeeperPeer::acquire(const std::string& name, Milliseconds ttl) {
    const std::lock_guard lock(mutex_);
    return try_to_create(name, session_of(ttl));
}

Granting ZookeeperPeer::await(const std::string& name, Milliseconds ttl, Milliseconds within) {
    const std::lock_guard lock(mutex_);
    const Moment until = SteadyClock::now() + within;
    for (;;) {
        const Session session = session_of(ttl);
        Granting granting = try_to_create(name, session);
        if (granting.granted || SteadyClock::now() >= until) return granting;
        const std::uint64_t before = deletes_seen_;
        if (client_.watch(session, path_of(name), on_event, this).code != ZOK) continue;  // it has gone in between
        while (deletes_seen_ == before && !session->over()) {
            if (SteadyClock::now() >= until) return granting;
            client_.loop().serve(until);
        }
    }
}

/// A round trip in the session, which sets its time anew at the server, and shows whether the node is still ours.
Doing ZookeeperPeer::renew(const std::string& name) {
    const std::lock_guard lock(mutex_);
    Known& known = ledger_.expect(name);
    const ZookeeperAnswer answer = client_.stat_of(known.session, path_of(name));
    Doing doing;
    static_cast<Exchange&>(doing) = answer;
    doing.done = answer.code == ZOK && answer.stat.czxid == known.node;
    if (!doing.done) doing.why = answer.code == ZOK ? "it is another's" : zookeeper_error(answer.code);
    known.held = known.held && doing.done;
    return doing;
}

/// In the session of the grant: the server refuses it if that is over. Within a session nothing but a delete of its own
/// can end a node that is ephemeral, so that a node that is there now and of this session is the grant's.
Doing ZookeeperPeer::release(const std::string& name) {
    const std::lock_guard lock(mutex_);
    Known& known = ledger_.expect(name);
    Doing doing;
    if (!known.held && !known.session->over()) {  // it was released before: there may be another's node by now
        const ZookeeperAnswer found = client_.stat_of(known.session, path_of(name));
        static_cast<Exchange&>(doing) = found;
        doing.why = "released before";
        if (found.code != ZOK || found.stat.czxid != known.node) return doing;
    }
    const ZookeeperAnswer answer = client_.remove(known.session, path_of(name));
    static_cast<Exchange&>(doing) = answer;
    doing.done = answer.code == ZOK || (answer.code == ZNONODE && answer.tries > 1);
    if (!doing.done) doing.why = zookeeper_error(answer.code);
    known.held = false;
    return doing;
}

bool ZookeeperPeer::held(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const Known* known = ledger_.find(name);
    return known && known->held && known->session->connected();
}

Showing ZookeeperPeer::owner(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const Known* known = ledger_.find(name);
    const Session session = known && known->session && !known->session->over() ? known->session : any_session();
    const ZookeeperAnswer answer = client_.get(session, path_of(name));
    if (answer.code != ZOK && answer.code != ZNONODE)
        throw std::runtime_error("ZooKeeper: " + zookeeper_error(answer.code));
    Showing showing;
    static_cast<Exchange&>(showing) = answer;
    if (answer.code == ZOK) showing.holder = answer.value;
    return showing;
}

Filled& ZookeeperPeer::to_fill(std::uint32_t first, Milliseconds ttl) {
    const bool goes_on = !filled_.empty() && filled_.back().ttl == ttl && !filled_.back().session->over() &&
                         filled_.back().count < nodes_of_a_session;
    if (!goes_on) filled_.push_back({client_.connect(ttl), first, 0, ttl});
    return filled_.back();
}

void ZookeeperPeer::fill(Range range, Milliseconds ttl) {
    const std::lock_guard lock(mutex_);
    auto& known = ledger_.filled();
    const std::uint32_t end = range.first + range.count;
    for (std::uint32_t first = range.first; first < end;) {
        Filled& filled = to_fill(first, ttl);
        const std::uint32_t count = std::min(end - first, nodes_of_a_session - filled.count);
        known.resize(std::max<std::size_t>(known.size(), first + count));
        client_.create_all(
            filled.session, count, setting_.holder, [&](std::uint32_t i) { return path_of(fill_name(first + i)); },
            [&](std::uint32_t i, const Stat& stat) {
                known[first + i] = {filled.session, stat.czxid, true};
            });
        filled.count += count;
        first += count;
    }
}

/// One round trip in each session, all at once.
void ZookeeperPeer::finish_renewals(Range) {
    const std::lock_guard lock(mutex_);
    struct Progress {
        std::size_t answered = 0;
        std::string failed;
    };
    const auto progress = std::make_shared<Progress>();
    for (const Filled& filled : filled_) {
        const std::int64_t node = ledger_.filled()[filled.first].node;
        client_.send_stat(filled.session, path_of(fill_name(filled.first)),
                          [progress, node](int code, const Stat* stat, std::string_view) {
                              ++progress->answered;
                              if (code != ZOK || stat->czxid != node) progress->failed = zookeeper_error(code);
                          });
    }
    client_.wait_for([&] { return progress->answered == filled_.size(); }, "answer");
    if (!progress->failed.empty()) throw std::runtime_error("ZooKeeper: " + progress->failed);
}

std::string ZookeeperPeer::watch_ends() {
    const std::lock_guard lock(mutex_);
    if (!watcher_ || watcher_->over()) watcher_ = client_.connect(watcher_timeout);
    ended_.clear();
    return "an event for each node, which are in sessions of up to 50 that end as a whole";
}

void ZookeeperPeer::on_event(zhandle_t*, int type, int, const char* path, void* self) {
    if (type != ZOO_DELETED_EVENT) return;
    auto& peer = *static_cast<ZookeeperPeer*>(self);
    ++peer.deletes_seen_;
    constexpr std::string_view set = "/end-";
    if (const std::string_view text = path; text.starts_with(set))
        peer.ended_.push_back({static_cast<std::uint32_t>(std::stoul(path + set.size())), SteadyClock::now()});
}

/// They end together, with their session, which is not heard of any more after this: the longest TTL is that of all.
void ZookeeperPeer::acquire_ending(std::uint32_t first, std::span<Ending> leases) {
    const std::lock_guard lock(mutex_);
    const auto shorter = [](const Ending& a, const Ending& b) { return a.ttl < b.ttl; };
    const Session session = client_.connect(std::max_element(leases.begin(), leases.end(), shorter)->ttl);
    const auto count = static_cast<std::uint32_t>(leases.size());
    const Moment asked = SteadyClock::now();
    const auto path = [&](std::uint32_t i) { return path_of(end_name(first + i)); };
    client_.create_all(session, count, setting_.holder, path, [](std::uint32_t, const Stat&) {});
    for (Ending& lease : leases) {
        lease.asked = asked;
        lease.answered = SteadyClock::now();
        lease.ttl = session->timeout();
    }
    session->abandon();
    client_.loop().forget_those_over();
    for (std::uint32_t i = 0; i < count; ++i)
        client_.send_watch(watcher_, path(i), on_event, this, [this, number = first + i](int code, auto&&...) {
            if (code == ZNONODE) ended_.push_back({number, SteadyClock::now()});
        });
}

void ZookeeperPeer::see_ends(Moment until, std::vector<SeenEnd>& seen) {
    const std::lock_guard lock(mutex_);
    do
        client_.loop().serve(until);
    while (ended_.empty() && SteadyClock::now() < until);
    seen.insert(seen.end(), ended_.begin(), ended_.end());
    ended_.clear();
}

std::uint64_t ZookeeperPeer::check_locally(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    const Known& known = ledger_.expect(fill_name(0));
    std::uint64_t held = 0;
    for (std::uint64_t i = 0; i < count; ++i)
        held += known.held && known.session->connected() ? 1 : 0;
    return held;
}

void ZookeeperPeer::drop() {
    const std::lock_guard lock(mutex_);
    for (const Session& session : client_.loop().sessions())
        session->abandon();
    client_.loop().clear();
    by_ttl_.clear();
    ledger_.clear();
    filled_.clear();
    watcher_.reset();
    ended_.clear();
}

}  // namespace

std::unique_ptr<Peer> zookeeper_peer(PeerSetting setting) {
    return std::make_unique<ZookeeperPeer>(std::move(setting));
}

}  // namespace holdfast::bench
