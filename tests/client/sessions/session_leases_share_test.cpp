#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <vector>

#include "base/rendezvous.h"
#include "client/sessions/lease_commands.h"
#include "client/sessions/membership.h"
#include "client/sessions/session_leases.h"

namespace holdfast::client::sessions {
namespace {

constexpr Duration ttl = 30s;
constexpr Duration tick = 20ms;
constexpr int sessions = 1000;

/// Instances with their heartbeats and lists of the living, on a store that answers at once. Times are exact here.
class Shares {
 public:
    Shares() {
        for (int i = 0; i < sessions; ++i)
            names_.push_back("session-" + std::to_string(i));
    }

    void add(const std::string& name) {
        auto& one = instances_[name];
        one = std::make_unique<Instance>(Instance{SessionLeases({.instance = name}, now_), Membership({name}, now_)});
        for (const auto& session : names_)
            one->leases.want(session, now_);
    }
    void kill(const std::string& name) { instances_.erase(name); }

    void run_for(Duration time) {
        for (const HolderInstant end = now_ + time; now_ < end; now_ += tick) {
            const int before = round_trips;
            for (auto& [name, one] : instances_)
                while (one->leases.next() <= now_ || one->roll.next() <= now_)
                    round_trip(name, *one);
            if (round_trips != before) look();
        }
    }

    /// Who owns each session and believes so; nothing if nobody does.
    std::map<std::string, std::string> owners() const {
        std::map<std::string, std::string> owners;
        for (const auto& [name, one] : instances_)
            for (const auto& session : one->leases.owned())
                EXPECT_TRUE(owners.emplace(session, name).second) << session << " has two";
        return owners;
    }
    std::map<std::string, std::string> preferred() const {
        std::set<std::string> live;
        for (const auto& [name, one] : instances_)
            live.insert(name);
        std::map<std::string, std::string> all;
        for (const auto& session : names_)
            all[session] = preferred_owner(live, session);
        return all;
    }

    /// Whose each session was, in turn.
    std::map<std::string, std::vector<std::string>> hands;
    int round_trips = 0;

 private:
    struct Instance {
        SessionLeases leases;
        Membership roll;
    };
    struct Held {
        std::string owner;
        HolderInstant end;
    };

    void look() {
        for (const auto& [session, owner] : owners())
            if (auto& had = hands[session]; had.empty() || had.back() != owner) had.push_back(owner);
    }

    void round_trip(const std::string& name, Instance& one) {
        ++round_trips;
        for (const auto& request : one.roll.take_due(now_))
            one.roll.answer(request, serve(request, name), now_);
        if (one.roll.take_news()) one.leases.set_live(one.roll.live(), now_);
        for (const auto& request : one.leases.take_due(now_, sessions))
            one.leases.answer(request, serve(request, name), now_);
    }

    codec::resp::Value serve(const Membership::Request& request, const std::string& name) {
        using Type = codec::resp::Value::Type;
        if (request.ask == Membership::Ask::heartbeat) nodes_[name] = now_ + ttl;
        if (request.ask == Membership::Ask::ttl)
            return {.type = Type::integer, .number = to_ms(nodes_[request.argument] - now_)};
        codec::resp::Value keys{.type = Type::array};
        for (const auto& [node, end] : nodes_)
            if (now_ < end) keys.items.push_back({.type = Type::text, .text = std::string(node_key_prefix) + node});
        return {.type = Type::array, .items = {{.type = Type::text, .text = std::string(1, '0')}, keys}};
    }

    LeaseAnswer serve(const LeaseRequest& request, const std::string& name) {
        if (const auto found = store_.find(request.session); found != store_.end() && now_ >= found->second.end)
            store_.erase(found);
        const auto found = store_.find(request.session);
        const bool is_free = found == store_.end();
        if (request.ask == Ask::read) return {LeaseAnswer::Kind::owner, is_free ? "" : found->second.owner};
        const bool yes = request.ask == Ask::acquire ? is_free : !is_free && found->second.owner == name;
        if (yes && request.ask == Ask::release)
            store_.erase(found);
        else if (yes)
            store_[request.session] = {name, now_ + ttl};
        return {yes ? LeaseAnswer::Kind::yes : LeaseAnswer::Kind::no};
    }

    HolderInstant now_{1000s};
    std::vector<std::string> names_;
    std::map<std::string, std::unique_ptr<Instance>> instances_;
    std::map<std::string, HolderInstant> nodes_;
    std::map<std::string, Held> store_;
};

class SharesTest : public testing::Test {
 protected:
    Shares world;

    SharesTest() {
        for (const char* name : {"a-1-00000001", "b-2-00000002", "c-3-00000003"}) {
            world.add(name);
            world.run_for(3s);
        }
        world.run_for(60s);
        world.hands.clear();
        world.round_trips = 0;
    }
};

TEST_F(SharesTest, each_of_three_has_within_ten_percent_of_a_third_and_nothing_moves) {
    world.run_for(5min);
    EXPECT_EQ(world.owners(), world.preferred());
    std::map<std::string, int> shares;
    for (const auto& [session, owner] : world.owners())
        ++shares[owner];
    for (const auto& [owner, share] : shares)
        EXPECT_NEAR(share, sessions / 3.0, sessions / 30.0) << owner;
    for (const auto& [session, had] : world.hands)
        EXPECT_EQ(had.size(), 1U) << session;
    EXPECT_LE(world.round_trips, 3 * 30 * 8) << "in five minutes, and not one for each session";
}

/// At any phase of its renewals.
class KilledTest : public SharesTest, public testing::WithParamInterface<Duration> {};

TEST_P(KilledTest, what_it_owned_is_taken_by_its_new_preferred_owners_within_the_ttl_and_nothing_else_moves) {
    world.run_for(GetParam());
    const auto before = world.owners();
    world.kill("b-2-00000002");
    world.hands.clear();
    world.run_for(ttl + 1s);
    EXPECT_EQ(world.owners(), world.preferred());
    for (const auto& [session, had] : world.hands) {
        EXPECT_EQ(had.size(), 1U) << session;
        if (before.at(session) != "b-2-00000002") {
            EXPECT_EQ(had.front(), before.at(session));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Shares, KilledTest, testing::Values(0s, 3s, 6s, 9900ms));

TEST_F(SharesTest, one_that_comes_is_handed_what_it_should_own_and_nobody_jumps_in) {
    const auto before = world.owners();
    world.add("d-4-00000004");
    world.run_for(30s);
    const auto after = world.preferred();
    EXPECT_EQ(world.owners(), after);
    int moved = 0;
    for (const auto& [session, had] : world.hands) {
        const auto way = before.at(session) == after.at(session) ? std::vector{before.at(session)}
                                                                 : std::vector{before.at(session), after.at(session)};
        EXPECT_EQ(had, way) << session;
        moved += static_cast<int>(way.size()) - 1;
    }
    EXPECT_NEAR(moved, sessions / 4.0, sessions / 25.0);
}

}  // namespace
}  // namespace holdfast::client::sessions
