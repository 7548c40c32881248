#include "authority/authority.h"

#include <gtest/gtest.h>

#include "authority/desk.h"
#include "store/quorum/quorum_store.h"

namespace holdfast::store::quorum {
namespace {

/// Three authorities on the three nodes of a quorum, as three servers would run them.
class Servers {
 public:
    Servers() {
        for (NodeIndex i = 0; i < 3; ++i)
            servers_.push_back(std::make_unique<Server>(i, *this));
        for (NodeIndex i = 0; i < 3; ++i)
            for (NodeIndex j = 0; j < 3; ++j)
                if (i != j) servers_[i]->store.set_peer(j, 1);
        pass(0s);
    }
    ~Servers() {
        for (const auto& server : servers_)
            server->store.stop();
    }

    authority::Authority& at(std::size_t server) { return servers_[server]->authority; }

    /// Milliseconds go by, with messages delivered in each.
    void pass(Duration time) {
        for (const Instant end = now_ + time; now_ <= end; now_ += 1ms) {
            turn();
            while (!flying_.empty()) {
                const Envelope envelope = std::move(flying_.front());
                flying_.pop_front();
                servers_[envelope.to]->store.receive(envelope);
                turn();
            }
        }
    }

    using Got = std::shared_ptr<std::optional<authority::AcquireAnswer>>;
    Got acquire(std::size_t server, const std::string& holder, std::vector<lease::Intent> intents, Duration wait = {}) {
        auto got = std::make_shared<std::optional<authority::AcquireAnswer>>();
        at(server).acquire(authority::Desk::request(holder, std::move(intents), wait),
                           [got](authority::AcquireAnswer answer) { *got = std::move(answer); });
        pass(20ms);
        return got;
    }
    static lease::Token token_in(const Got& got, std::size_t lease = 0) {
        if (!*got) return 0;
        const auto* granted = std::get_if<authority::AcquireGranted>(&**got);
        return granted == nullptr ? 0 : granted->leases.at(lease).lease.token;
    }
    bool release(std::size_t server, const std::string& holder, const lease::LeaseName& name) {
        const auto released = std::make_shared<bool>(false);
        at(server).release({{}, name, holder}, [released](authority::Answer<authority::ReleaseAnswer> answer) {
            const auto* told = std::get_if<authority::ReleaseAnswer>(&answer);
            *released = told != nullptr && told->released;
        });
        pass(20ms);
        return *released;
    }

 private:
    struct Server {
        Server(NodeIndex node, Servers& all)
            : authority({.durable = durable, .policy = {}, .tokens_issued = 0, .wall_ms = 1000}),
              store({.config = {.node = node},
                     .listener = authority.listener(),
                     .hash_key = {1, 2},
                     .seed = node,
                     .send = [&all](Envelope envelope) { all.flying_.push_back(std::move(envelope)); }}) {
            authority.use(store);
        }
        authority::TestDurable durable;
        authority::Authority authority;
        QuorumStore store;
    };

    void turn() {
        for (const auto& server : servers_) {
            while (server->store.advance(now_)) {
            }
            server->authority.advance(now_);
            if (const auto wanted = server->store.acceptor().wants_ceiling())
                server->store.acceptor().raise_token_ceiling(*wanted);
        }
    }

    std::vector<std::unique_ptr<Server>> servers_;
    std::deque<Envelope> flying_;
    Instant now_{1000s};
};

TEST(QuorumAuthority, grants_waits_and_releases_through_any_server) {
    Servers servers;
    const auto alice = servers.acquire(0, "alice", {{"r"}});
    const lease::Token token = Servers::token_in(alice);
    ASSERT_NE(token, 0U);
    const auto busy = servers.acquire(1, "bob", {{"r"}});
    ASSERT_TRUE(*busy);
    EXPECT_TRUE(std::holds_alternative<authority::AcquireBusy>(**busy));
    const auto waiting = servers.acquire(1, "bob", {{"r"}}, 30s);
    EXPECT_FALSE(*waiting);
    EXPECT_TRUE(servers.release(2, "alice", {"r", token}));
    servers.pass(100ms);
    EXPECT_GT(Servers::token_in(waiting), token);
}

TEST(QuorumAuthority, grants_a_manifest_whole_or_not_at_all) {  // G1
    Servers servers;
    const lease::Token b = Servers::token_in(servers.acquire(0, "alice", {{"b"}}));
    ASSERT_NE(b, 0U);
    const auto refused = servers.acquire(1, "bob", {{"a"}, {"b"}, {"FILE:/x/**"}});
    ASSERT_TRUE(*refused);
    EXPECT_TRUE(std::holds_alternative<authority::AcquireBusy>(**refused));
    EXPECT_NE(Servers::token_in(servers.acquire(2, "carol", {{"a"}})), 0U) << "nothing of it was kept";
    EXPECT_NE(Servers::token_in(servers.acquire(2, "carol", {{"FILE:/x/y"}})), 0U);
    EXPECT_TRUE(servers.release(2, "alice", {"b", b}));
    EXPECT_NE(Servers::token_in(servers.acquire(1, "bob", {{"b"}, {"c"}}), 1), 0U);
}

TEST(QuorumAuthority, serves_a_waiter_when_a_lease_runs_out) {
    Servers servers;
    authority::AcquireRequest brief = authority::Desk::request("alice", {{"r"}});
    brief.ttl = 2s;
    servers.at(0).acquire(std::move(brief), [](authority::AcquireAnswer) {});
    servers.pass(20ms);
    const auto waiting = servers.acquire(2, "bob", {{"r"}}, 30s);
    servers.pass(1900ms);
    EXPECT_FALSE(*waiting);
    servers.pass(1500ms);
    EXPECT_NE(Servers::token_in(waiting), 0U);
}

}  // namespace
}  // namespace holdfast::store::quorum
