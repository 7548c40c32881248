#include <gtest/gtest.h>

#include "authority/desk.h"
#include "authority/single_record.h"
#include "lease/owner.h"

namespace holdfast::authority {
namespace {

TEST(Owner, is_known_by_the_name_alone) {
    EXPECT_EQ(lease::owner_of("KEY:room"), lease::Owner::keys);
    EXPECT_EQ(lease::owner_of("@team/KEY:room"), lease::Owner::keys);
    EXPECT_EQ(lease::owner_of("leader:billing"), lease::Owner::leaders);
    EXPECT_EQ(lease::owner_of("@team/leader:billing"), lease::Owner::leaders);
    EXPECT_EQ(lease::owner_of("leader:log"), lease::Owner::log);
    EXPECT_EQ(lease::owner_of("@team/leader:log"), lease::Owner::leaders);
    EXPECT_EQ(lease::owner_of("@~services/web"), lease::Owner::directory);
    for (const char* plain : {"", "key:room", "KEYS", "my/KEY:room", "leaders:x", "FILE:/a", "@team", "@team/x", "db"})
        EXPECT_EQ(lease::owner_of(plain), lease::Owner::nobody) << plain;
}

TEST(Owner, of_whatever_a_client_of_redis_names_is_nobody) {
    for (const char* name : {"@redis/KEY:room", "@redis-15/KEY:room", "@redis/leader:x"})
        EXPECT_EQ(lease::owner_of(name), lease::Owner::nobody) << name;
    for (const char* name : {"@redis-/KEY:room", "@redis-live/KEY:room", "@redis-1x/KEY:room", "@redisent/KEY:room"})
        EXPECT_EQ(lease::owner_of(name), lease::Owner::keys) << name;
}

/// A lease that belongs to a service, and what becomes of it when a generic request would free it.
struct Owned : Desk {
    Owned(const std::string& name, const std::string& session) : resource(name) {
        AcquireRequest asked = request("d1", {{resource}});
        asked.caller.acts_for = lease::owner_of(resource);
        asked.session = session;
        const auto answer = ask(std::move(asked));
        token = std::get<AcquireGranted>(answer.value()).leases.front().lease.token;
    }

    Code release(const std::string& session = {}) {
        std::optional<Code> code;
        ReleaseRequest asked{{}, {resource, token}, "d1"};
        asked.session = session;
        authority.release(std::move(asked), [&](const Answer<ReleaseAnswer>& answer) {
            const auto* refusal = std::get_if<Refused>(&answer);
            code = refusal != nullptr ? refusal->code : Code::not_found;
        });
        return code.value();
    }
    Duration ttl_after_renewal(std::optional<Duration> ttl) {
        std::optional<Duration> got;
        RenewRequest asked;
        asked.holder = "d1";
        asked.leases = {{{resource, token}, {}}};
        asked.ttl = ttl;
        authority.renew(std::move(asked), [&](const std::vector<RenewAnswer>& answers) {
            got = std::get<RenewedLease>(answers.front().result).held.lease.ttl;
        });
        return got.value();
    }
    Duration ttl_after_quick_renewal(Duration ttl) {
        std::optional<Duration> got;
        authority.single_record().renew(resource, "d1", token, ttl,
                                        [&](const SingleRecordAnswer& answer) { got = answer.lease.ttl; });
        return got.value();
    }
    std::optional<Code> quick_release(const std::string& session = {}) {
        std::optional<Code> code;
        bool answered = false;
        authority.single_record().release(
            resource, "d1", token,
            [&](const SingleRecordAnswer& answer) {
                code = answer.refused;
                answered = true;
            },
            session);
        EXPECT_TRUE(answered);
        return code;
    }
    Code revoke() {
        std::optional<Code> code;
        authority.revoke({resource, token}, [&](const Answer<lease::Lease>& answer) {
            const auto* refusal = std::get_if<Refused>(&answer);
            code = refusal != nullptr ? refusal->code : Code::not_found;
        });
        return code.value();
    }
    bool is_held() { return verify(resource, token).verified.state == lease::LeaseState::active; }

    std::string resource;
    lease::Token token = 0;
};

TEST(OwnedLease, of_a_key_or_of_the_nodes_is_freed_by_no_generic_request) {  // R2, R7
    for (const char* name : {"KEY:room", "@team/KEY:room", "leader:log"}) {
        Owned desk(name, "b-1");
        EXPECT_EQ(desk.release(), Code::service_lease) << name;
        EXPECT_EQ(desk.release("b-1"), Code::service_lease) << name << ": its session is no secret";
        EXPECT_EQ(desk.quick_release(), Code::service_lease) << name;
        EXPECT_EQ(desk.quick_release("b-1"), Code::service_lease) << name;
        EXPECT_EQ(desk.revoke(), Code::service_lease) << name;
        EXPECT_EQ(desk.lock("d1", name), 0U) << name << ": nobody else is granted it, whatever it calls itself";
        EXPECT_TRUE(desk.is_held()) << name;
    }
}

TEST(OwnedLease, of_a_key_keeps_its_ttl_whoever_renews_it) {  // R1, K6
    Owned key("KEY:room", "b-1");
    const Duration granted = key.ttl_after_renewal(std::nullopt);
    EXPECT_EQ(key.ttl_after_renewal(1s), granted);
    EXPECT_EQ(key.ttl_after_renewal(granted * 2), granted);
    EXPECT_EQ(key.ttl_after_quick_renewal(1s), granted);
    Owned plain("leader:billing", "s-1");
    EXPECT_EQ(plain.ttl_after_renewal(1s), Duration{1s}) << "others say what they need";
}

TEST(OwnedLease, is_not_reserved_for_an_agent_that_has_the_name_of_its_holder) {  // R5
    for (const char* name : {"KEY:room", "leader:billing"}) {
        Owned desk(name, "b-1");
        desk.agent("d1");
        EXPECT_EQ(std::get<std::size_t>(desk.restarting("d1")), 0U) << name;
        desk.pass(60s);
        EXPECT_NE(desk.verify(name, desk.token).verified.state, lease::LeaseState::grace) << name;
    }
}

TEST(OwnedLease, of_a_leader_is_given_back_by_whoever_knows_its_session) {  // R2
    for (const bool quick : {false, true}) {
        Owned desk("leader:billing", "s-1");
        EXPECT_EQ(desk.release(), Code::service_lease);
        EXPECT_EQ(desk.release("s-2"), Code::service_lease);
        EXPECT_EQ(desk.quick_release(), Code::service_lease);
        EXPECT_EQ(desk.quick_release("s-2"), Code::service_lease);
        EXPECT_EQ(desk.revoke(), Code::service_lease);
        ASSERT_TRUE(desk.is_held());
        if (quick)
            EXPECT_EQ(desk.quick_release("s-1"), std::nullopt);
        else
            EXPECT_EQ(desk.release("s-1"), Code::not_found) << "not refused";
        EXPECT_FALSE(desk.is_held());
        EXPECT_EQ(desk.release(), Code::not_found) << "what has ended is told to anybody";
    }
}

TEST(OwnedLease, of_a_leader_without_a_session_runs_out) {
    Owned desk("leader:billing", "");
    EXPECT_EQ(desk.release(), Code::service_lease);
    EXPECT_EQ(desk.quick_release(), Code::service_lease);
    EXPECT_TRUE(desk.is_held());
    desk.pass(60s);
    EXPECT_FALSE(desk.is_held());
}

TEST(OwnedLease, in_a_reserved_namespace_is_neither_barred_nor_revoked) {  // R7, D5
    for (const char* name : {"@~services/room", "@~other/room"}) {
        Owned desk("KEY:room", "b-1");
        std::vector<Code> refused;
        desk.authority.bar({name, 1}, [&](const Answer<HeldLease>& answer) {
            if (const auto* why = std::get_if<Refused>(&answer)) refused.push_back(why->code);
        });
        desk.authority.revoke({name, 1}, [&](const Answer<lease::Lease>& answer) {
            if (const auto* why = std::get_if<Refused>(&answer)) refused.push_back(why->code);
        });
        EXPECT_EQ(refused, (std::vector<Code>{Code::reserved_namespace, Code::reserved_namespace})) << name;
    }
}

TEST(OwnedLease, can_be_barred_and_then_runs_out) {  // R7
    Owned desk("KEY:room", "b-1");
    bool barred = false;
    desk.authority.bar({"KEY:room", desk.token},
                       [&](const Answer<HeldLease>& answer) { barred = std::holds_alternative<HeldLease>(answer); });
    EXPECT_TRUE(barred);
    EXPECT_TRUE(desk.is_held());
}

}  // namespace
}  // namespace holdfast::authority
