#include <holdfast/agent.h>
#include <holdfast/discovery.h>
#include <holdfast/lease_manager.h>
#include <holdfast/local.h>

#include <gtest/gtest.h>
#include <type_traits>
#include <utility>

#include "base/time.h"

namespace holdfast::client {
namespace {

/// What an accessor gives for an object that is about to go must not refer into it.
#define GIVES_A_VALUE(type, accessor)                                               \
    static_assert(!std::is_reference_v<decltype(std::declval<type>().accessor())>); \
    static_assert(std::is_reference_v<decltype(std::declval<type&>().accessor())>)

GIVES_A_VALUE(Acquired, lease);
GIVES_A_VALUE(Acquired, failure);
GIVES_A_VALUE(Published, publisher);
GIVES_A_VALUE(Published, failure);
GIVES_A_VALUE(Lease, grants);
GIVES_A_VALUE(Client, holder);
GIVES_A_VALUE(Agent, id);
GIVES_A_VALUE(Publisher, identity);
GIVES_A_VALUE(LeaseManager, instance_id);
GIVES_A_VALUE(PredicateName, text);

template <class T>
concept gives_a_lease = requires(T acquired) {
    std::forward<T>(acquired).lease();
};
static_assert(gives_a_lease<const Acquired&>);
static_assert(!gives_a_lease<const Acquired&&>, "there is nothing to move out of, and a reference would dangle");

TEST(Acquired, that_is_a_temporary_gives_the_lease_itself) {
    Local local;
    Client client = local.client("alice");
    const Lease lease = client.acquire("db").lease();
    EXPECT_TRUE(lease.held());
    EXPECT_EQ(client.acquire("db").failure().code, "busy");
    std::string who;
    for (const Conflict& conflict : client.acquire("db").failure().conflicts)
        who += conflict.holder;
    EXPECT_EQ(who, "alice");
    EXPECT_EQ(local.client("bob").holder(), "bob");
}

TEST(Acquired, that_is_constant_shows_its_lease) {
    Local local;
    const Acquired acquired = local.client().acquire("db");
    EXPECT_TRUE(acquired.lease().held());
    EXPECT_EQ(acquired.lease().grants().size(), 1U);
}

TEST(Lease, that_is_moved_to_itself_is_still_held) {
    Local local;
    Lease lease = local.client().acquire("db").lease();
    Lease& same = lease;
    lease = std::move(same);
    EXPECT_TRUE(lease.held());
}

TEST(Client, that_was_moved_from_is_refused_everything) {
    Local local;
    Client client = local.client("alice");
    Client moved = std::move(client);
    EXPECT_EQ(client.holder(), "");
    const Acquired refused = client.acquire("db");
    EXPECT_EQ(refused.outcome(), Outcome::refused);
    EXPECT_NE(refused.failure().message.find("moved from"), std::string::npos);
    EXPECT_TRUE(moved.acquire("db"));
    client = moved;
    EXPECT_TRUE(client.acquire("db"));
}

TEST(Local, that_was_moved_from_gives_clients_that_are_refused_everything) {
    Local local;
    const Local moved = std::move(local);
    EXPECT_EQ(local.client("alice").acquire("db").outcome(), Outcome::refused);
    EXPECT_TRUE(moved.client("alice").acquire("db"));
}

TEST(AgentThatWasMovedFrom, is_refused_everything) {
    Local local;
    Agent agent(local.client("alice"));
    Agent moved = std::move(agent);
    const auto why = agent.start();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->outcome, Outcome::refused);
    EXPECT_TRUE(agent.save("x"));
    EXPECT_TRUE(agent.declare_restart());
    EXPECT_EQ(agent.id() + agent.checkpoint(), "");
    EXPECT_EQ(agent.epoch(), 0U);
    EXPECT_EQ(agent.priority(), 0);
    EXPECT_TRUE(agent.pending().empty() && agent.left_behind().empty());
    agent.stop();
    EXPECT_EQ(agent.perform({{"a"}}, [](Work&) { return true; }).state, IntentState::aborted);
    EXPECT_FALSE(moved.start());
    Client client = local.client("bob");
    const Client elsewhere = std::move(client);
    EXPECT_TRUE(Agent(std::move(client)).start()) << "made of a client that was moved from";
}

TEST(Predicate, has_the_names_that_the_server_knows) {
    for (const Predicate one : {Predicate::provides, Predicate::consumes, Predicate::mutates, Predicate::deletes,
                                Predicate::depends_on, Predicate::renames})
        EXPECT_EQ(predicate_of(to_string(one)), one);
    EXPECT_STREQ(to_string(Predicate::depends_on), "DEPENDS_ON");
    EXPECT_EQ(predicate_of("EATS"), std::nullopt);
}

TEST(Predicate, is_given_to_an_intent_as_the_enum_or_as_its_name) {
    EXPECT_EQ(Intent{"a"}.predicate, Predicate::mutates);
    EXPECT_EQ((Intent{"a", Predicate::consumes}.predicate), (Intent{"a", "CONSUMES"}.predicate));
    Local local;
    auto alice = local.client("alice").acquire({{"a", Predicate::consumes}, {"b", Predicate::mutates}});
    ASSERT_TRUE(alice) << alice.failure().message;
    EXPECT_EQ(predicate_of(alice.lease().grants()[0].predicate), Predicate::consumes);
    EXPECT_TRUE(local.client("bob").acquire({{"a", Predicate::depends_on}}));
    const auto refused = local.client("bob").acquire({{"a", Predicate::mutates}});
    ASSERT_EQ(refused.outcome(), Outcome::busy);
    EXPECT_EQ(predicate_of(refused.failure().conflicts.at(0).predicate), Predicate::consumes);
    EXPECT_EQ(local.client("bob").acquire({{"a", "EATS"}}).failure().code, "invalid_argument");
    EXPECT_EQ(local.client("bob").acquire({{"a", static_cast<Predicate>(99)}}).outcome(), Outcome::refused);
}

}  // namespace
}  // namespace holdfast::client
