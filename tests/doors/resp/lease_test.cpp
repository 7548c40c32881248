#include "doors/resp/resp_fixture.h"

namespace holdfast::doors::resp {
namespace {

using codec::resp::Value;

TEST(RespLeases, are_granted_with_a_token_and_a_timeline) {
    TestRespDoor door;
    auto client = door.connect();
    client.ask({"HELLO", "3"});
    const Value granted = client.ask({"LEASE.ACQUIRE", " FILE:/src//main.c ", "bob", "30000"});
    EXPECT_EQ(granted.type, Value::Type::map);
    EXPECT_EQ(field(granted, "resource").text, "FILE:/src/main.c");
    EXPECT_EQ(field(granted, "ttl_ms").number, 30000);
    EXPECT_EQ(field(granted, "renew_in_ms").number, 10000);
    EXPECT_EQ(field(granted, "soft_terminate_in_ms").number, 20000);
    EXPECT_EQ(field(granted, "hard_terminate_in_ms").number, 25000);
    EXPECT_EQ(field(granted, "expires_in_ms").number, 30000);
}

TEST(RespLeases, are_refused_with_who_is_in_the_way_and_when_to_ask_again) {
    TestRespDoor door;
    auto client = door.connect();
    take(client, "a", "bob");
    const Value busy = client.ask({"LEASE.ACQUIRE", "a", "eve", "60000"});
    EXPECT_EQ(code_of(busy), "BUSY");
    EXPECT_NE(busy.text.find("bob (MUTATES for 60000 ms more)"), std::string::npos) << busy.text;
    EXPECT_NE(busy.text.find("retry_in_ms=60000"), std::string::npos) << busy.text;
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "b", "eve", "5"})), "TTL_TOO_SHORT");
    const Value cut = client.ask({"LEASE.ACQUIRE", "b", "eve", "900000"});
    EXPECT_EQ(field(cut, "ttl_cut_from_ms").number, 900000);
    EXPECT_EQ(field(cut, "ttl_ms").number, 300000);
}

TEST(RespLeases, of_one_holder_exclude_each_other_unless_they_name_one_session) {  // G2
    TestRespDoor door;
    auto client = door.connect();
    take(client, "a", "bob");
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "a", "bob", "60000"})), "BUSY");
    EXPECT_FALSE(client.ask({"LEASE.ACQUIRE", "b", "bob", "60000", "SESSION", "s"}).is_error());
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "b", "bob", "60000"})), "BUSY");
    EXPECT_FALSE(client.ask({"LEASE.ACQUIRE", "b", "bob", "60000", "SESSION", "s"}).is_error());
    EXPECT_FALSE(
        client.ask({"LEASE.ACQUIRE", "c", "ann", "60000", "PREDICATE", "CONSUMES", "PRIORITY", "1"}).is_error());
    EXPECT_FALSE(client.ask({"LEASE.ACQUIRE", "c", "ann", "60000"}).is_error()) << "an agent upgrades";
}

TEST(RespLeases, are_shared_by_compatible_predicates) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_FALSE(client.ask({"LEASE.ACQUIRE", "a", "bob", "60000", "PREDICATE", "CONSUMES"}).is_error());
    EXPECT_FALSE(client.ask({"LEASE.ACQUIRE", "a", "eve", "60000", "predicate", "CONSUMES"}).is_error());
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "a", "ann", "60000"})), "BUSY");
    EXPECT_EQ(client.ask({"LEASE.GET", "a"}).items.size(), 2U);
}

TEST(RespLeases, are_renewed_and_released_by_their_holder_only) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string token = std::to_string(take(client, "a", "bob"));
    door.advance(40s);
    EXPECT_EQ(field(client.ask({"LEASE.RENEW", "a", token, "bob"}), "expires_in_ms").number, 60000);
    EXPECT_EQ(field(client.ask({"LEASE.RENEW", "a", token, "bob", "120000"}), "ttl_ms").number, 120000);
    EXPECT_EQ(code_of(client.ask({"LEASE.RENEW", "a", token, "eve"})), "NOT_HOLDER");
    EXPECT_EQ(code_of(client.ask({"LEASE.RELEASE", "a", token, "eve"})), "NOT_HOLDER");
    EXPECT_EQ(field(client.ask({"LEASE.RELEASE", "a", token, "bob"}), "released").number, 1);
    const Value again = client.ask({"LEASE.RELEASE", "a", token, "bob"});
    EXPECT_EQ(field(again, "released").number, 0);
    EXPECT_EQ(field(again, "state").text, "RELEASED");
    EXPECT_EQ(code_of(client.ask({"LEASE.RENEW", "a", token, "bob"})), "LEASE_RELEASED");
    EXPECT_EQ(code_of(client.ask({"LEASE.RENEW", "a", "77", "bob"})), "UNKNOWN_LEASE");
}

TEST(RespLeases, end_at_their_time_whether_or_not_they_are_swept) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string token = std::to_string(take(client, "a", "bob"));
    door.advance(60s);
    EXPECT_EQ(code_of(client.ask({"LEASE.RENEW", "a", token, "bob"})), "LEASE_EXPIRED");
    EXPECT_GT(take(client, "a", "eve"), std::stoll(token));
}

TEST(RespLeases, are_renewed_and_released_many_at_once_each_with_its_answer) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string a = std::to_string(take(client, "a", "bob"));
    const std::string b = std::to_string(take(client, "b", "bob"));
    const Value renewed = client.ask({"LEASE.RENEW", "a", a, "bob", "30000", "ALSO", "c", "5", "b", b, "d", "x"});
    ASSERT_EQ(renewed.items.size(), 4U);
    EXPECT_EQ(field(renewed.items[0], "ttl_ms").number, 30000);
    EXPECT_EQ(code_of(renewed.items[1]), "UNKNOWN_LEASE");
    EXPECT_EQ(field(renewed.items[2], "resource").text, "b");
    EXPECT_EQ(code_of(renewed.items[3]), "INVALID_ARGUMENT");
    const Value released = client.ask({"LEASE.RELEASE", "a", a, "bob", "ALSO", "b", b});
    ASSERT_EQ(released.items.size(), 2U);
    EXPECT_EQ(field(released.items[1], "released").number, 1);
    EXPECT_EQ(client.ask({"DBSIZE"}).number, 0);
}

TEST(RespLeases, are_told_as_they_truly_stand) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string token = std::to_string(take(client, "a", "bob"));
    const Value verified = client.ask({"LEASE.VERIFY", "a", token, "a", "1"});
    ASSERT_EQ(verified.items.size(), 2U);
    EXPECT_EQ(field(verified.items[0], "state").text, "ACTIVE");
    EXPECT_EQ(field(verified.items[1], "state").text, "UNKNOWN");
    EXPECT_EQ(field(field(verified.items[1], "current").items.at(0), "holder").text, "bob");
    EXPECT_EQ(client.ask({"LEASE.VERIFY", "HOLDER", "bob"}).items.size(), 1U);
    EXPECT_EQ(field(client.ask({"LEASE.GET", "a", token}), "holder").text, "bob");
    EXPECT_EQ(code_of(client.ask({"LEASE.GET", "a", "1"})), "UNKNOWN_LEASE");
    EXPECT_EQ(client.ask({"LEASE.GET", "nothing"}).items.size(), 0U);
}

TEST(RespLeases, are_listed_page_by_page) {
    TestRespDoor door;
    auto client = door.connect();
    for (int i = 0; i < 25; ++i)
        client.ask(
            {"LEASE.ACQUIRE", "n" + std::to_string(i), i % 2 == 0 ? "bob" : "eve", "60000", "NAMESPACE", "team"});
    std::size_t seen = 0;
    std::string after = "0";
    do {
        const Value page = client.ask({"LEASE.LIST", "NAMESPACE", "team", "LIMIT", "10", "AFTER", after});
        seen += field(page, "leases").items.size();
        after = field(page, "next").text;
    } while (!after.empty());
    EXPECT_EQ(seen, 25U);
    EXPECT_EQ(field(client.ask({"LEASE.LIST", "HOLDER", "bob"}), "leases").items.size(), 13U);
    const Value one = client.ask({"LEASE.LIST", "PREFIX", "n24"});
    EXPECT_EQ(field(field(one, "leases").items.at(0), "resource").text, "@team/n24");
}

TEST(RespLeases, that_wait_are_answered_in_order_with_the_others_behind_them) {
    TestRespDoor door;
    auto bob = door.connect();
    auto eve = door.connect();
    const std::string token = std::to_string(take(bob, "a", "bob"));
    eve.command({"LEASE.ACQUIRE", "a", "eve", "60000", "WAIT", "60000"});
    eve.command({"PING"});
    eve.command({"LEASE.ACQUIRE", "b", "eve", "60000"});
    eve.command({"NOTHING"});
    door.wait_for_waiters(1);
    door.wait_for_leases(2);  // what is behind has been done, though it is not answered
    door.advance(10s);
    bob.ask({"LEASE.RELEASE", "a", token, "bob"});
    const Value granted = eve.read();
    EXPECT_EQ(field(granted, "resource").text, "a");
    EXPECT_EQ(field(granted, "waited_ms").number, 9801);
    EXPECT_EQ(eve.read().text, "PONG");
    EXPECT_EQ(field(eve.read(), "resource").text, "b");
    EXPECT_EQ(code_of(eve.read()), "ERR");
}

TEST(RespLeases, that_wait_show_that_they_do_if_asked_to) {
    TestRespDoor door({.address = "127.0.0.1:0", .read_timeout = 200ms, .version = "test"});
    auto bob = door.connect();
    auto eve = door.connect();
    const std::string token = std::to_string(take(bob, "a", "bob"));
    eve.ask({"HELLO", "3"});
    eve.command({"LEASE.ACQUIRE", "a", "eve", "60000", "WAIT", "60000", "PROGRESS", "1000"});
    for (int i = 0; i < 2; ++i) {
        const Value shown = eve.read();
        ASSERT_EQ(shown.type, Value::Type::push);
        EXPECT_EQ(shown.items.at(0).text, "lease:waiting");
        EXPECT_EQ(shown.items.at(1).number, 1);
    }
    bob.ask({"LEASE.RELEASE", "a", token, "bob"});
    Value answer = eve.read();
    while (answer.type == Value::Type::push)
        answer = eve.read();
    EXPECT_EQ(field(answer, "resource").text, "a");
    EXPECT_EQ(eve.ask({"PING"}).text, "PONG");
}

TEST(RespLeases, that_wait_show_nothing_to_who_could_take_it_for_a_reply) {
    TestRespDoor door;
    auto eve = door.connect();
    EXPECT_EQ(code_of(eve.ask({"LEASE.ACQUIRE", "a", "eve", "60000", "WAIT", "60000", "PROGRESS", "1000"})),
              "INVALID_ARGUMENT");
    eve.ask({"HELLO", "3"});
    EXPECT_EQ(code_of(eve.ask({"LEASE.ACQUIRE", "a", "eve", "60000", "PROGRESS", "999"})), "INVALID_ARGUMENT");
    EXPECT_EQ(field(eve.ask({"LEASE.ACQUIRE", "a", "eve", "60000", "PROGRESS", "1000"}), "resource").text, "a");
}

TEST(RespLeases, that_wait_in_vain_are_told_so) {
    TestRespDoor door;
    auto bob = door.connect();
    auto eve = door.connect();
    take(bob, "a", "bob");
    eve.command({"LEASE.ACQUIRE", "a", "eve", "60000", "WAIT", "5000"});
    door.wait_for_waiters(1);
    door.advance(5s);
    EXPECT_EQ(code_of(eve.read()), "WAIT_TIMEOUT");
}

TEST(RespLeases, are_not_waited_for_by_a_client_that_went_away) {
    TestRespDoor door;
    auto bob = door.connect();
    take(bob, "a", "bob");
    auto eve = door.connect();
    auto ann = door.connect();
    eve.command({"LEASE.ACQUIRE", "a", "eve", "60000", "WAIT", "60000"});
    ann.command({"LEASE.ACQUIRE", "a", "ann", "60000", "WAIT", "60000"});
    door.wait_for_waiters(2);
    eve.close();
    door.wait_for_waiters(1);
    ann.end_sending();
    EXPECT_EQ(code_of(ann.read()), "CANCELLED");
    EXPECT_TRUE(ann.ends());
}

TEST(RespLeases, may_have_more_waiting_than_are_looked_at_together) {
    TestRespDoor door;
    auto bob = door.connect();
    auto eve = door.connect();
    take(bob, "a", "bob");
    for (int i = 0; i < 1500; ++i)
        eve.command({"LEASE.ACQUIRE", "a", "eve", "60000", "WAIT", "1000"});
    door.wait_for_waiters(1024);
    for (int i = 0; i < 1024; ++i) {
        if (i == 0) door.advance(1s);
        ASSERT_EQ(code_of(eve.read()), "WAIT_TIMEOUT");
    }
    door.wait_for_waiters(476);
    door.advance(1s);
    for (int i = 0; i < 476; ++i)
        ASSERT_EQ(code_of(eve.read()), "WAIT_TIMEOUT");
}

TEST(RespLeases, of_a_younger_agent_die_rather_than_wait) {
    TestRespDoor door;
    auto client = door.connect();
    EXPECT_FALSE(client.ask({"LEASE.ACQUIRE", "a", "old", "60000", "PRIORITY", "1"}).is_error());
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "a", "young", "60000", "PRIORITY", "2"})), "DIE");
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "a", "young", "60000"})), "DIE");
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "b", "old", "60000", "PRIORITY", "7"})), "PRIORITY_FIXED");
}

TEST(RespLeases, scoped_to_a_connection_end_with_it) {
    TestRespDoor door;
    auto bob = door.connect();
    auto eve = door.connect();
    EXPECT_FALSE(bob.ask({"LEASE.ACQUIRE", "a", "bob", "60000", "SCOPE", "connection"}).is_error());
    EXPECT_FALSE(bob.ask({"LEASE.ACQUIRE", "b", "bob", "60000", "SCOPE", "connection", "REASON", "x"}).is_error());
    EXPECT_FALSE(bob.ask({"LEASE.ACQUIRE", "c", "bob", "60000"}).is_error());
    eve.command({"LEASE.ACQUIRE", "a", "eve", "60000", "WAIT", "60000"});
    door.wait_for_waiters(1);
    bob.close();
    EXPECT_EQ(field(eve.read(), "resource").text, "a");  // at once: time has not moved
    EXPECT_FALSE(eve.ask({"LEASE.ACQUIRE", "b", "eve", "60000"}).is_error());
    EXPECT_EQ(code_of(eve.ask({"LEASE.ACQUIRE", "c", "eve", "60000"})), "BUSY");
}

TEST(RespLeases, scoped_to_a_connection_have_a_limit_that_counts_only_the_living) {
    TestRespDoor door;
    auto bob = door.connect();
    for (int i = 0; i < 1000; ++i)
        ASSERT_FALSE(bob.ask({"LEASE.ACQUIRE", std::to_string(i), "bob", "60000", "SCOPE", "connection"}).is_error());
    EXPECT_EQ(code_of(bob.ask({"LEASE.ACQUIRE", "x", "bob", "60000", "SCOPE", "connection"})), "INVALID_ARGUMENT");
    door.advance(60s);
    EXPECT_FALSE(bob.ask({"LEASE.ACQUIRE", "x", "bob", "60000", "SCOPE", "connection"}).is_error());
}

TEST(RespLeases, are_checked_for_form_as_in_the_http_door) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string long_name(5000, 'a');
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"LEASE.ACQUIRE", "", "bob", "60000"},
                                               {"LEASE.ACQUIRE", "@x/y", "bob", "60000"},
                                               {"LEASE.ACQUIRE", "a", "", "60000"},
                                               {"LEASE.ACQUIRE", "a", "bob", "soon"},
                                               {"LEASE.ACQUIRE", "a", "bob", "-1"},
                                               {"LEASE.ACQUIRE", "FILE:/a/../b", "bob", "60000"},
                                               {"LEASE.ACQUIRE", "a\nb", "bob", "60000"},
                                               {"LEASE.ACQUIRE", "a\xff", "bob", "60000"},
                                               {"LEASE.ACQUIRE", long_name, "bob", "60000"},
                                               {"LEASE.ACQUIRE", "a", "bob", "60000", "PREDICATE", "EATS"},
                                               {"LEASE.ACQUIRE", "a", "bob", "60000", "SCOPE", "world"},
                                               {"LEASE.ACQUIRE", "a", "bob", "60000", "NAMESPACE", "a/b"},
                                               {"LEASE.ACQUIRE", "a", "bob", "60000", "WAIT"},
                                               {"LEASE.ACQUIRE", "a", "bob", "60000", "HURRY", "1"},
                                               {"LEASE.RENEW", "a", "x", "bob"},
                                               {"LEASE.RENEW", "a", "1", "bob", "60000", "ALSO", "b"},
                                               {"LEASE.LIST", "LIMIT", "0"},
                                               {"LEASE.VERIFY", "a", "1", "b"}})
        EXPECT_EQ(code_of(client.ask(words)), "INVALID_ARGUMENT") << words[1] << " " << words.back();
    EXPECT_EQ(client.ask({"DBSIZE"}).number, 0);
}

TEST(RespLeases, in_a_namespace_of_the_servers_own_can_be_looked_at_only) {
    TestRespDoor door;
    auto client = door.connect();
    lease::Token token = 0;
    door.run([&] {
        door.authority().single_record().update(
            {.resource = "@~services/web", .holder = "anna", .acts_for = lease::Owner::directory},
            [](authority::RecordTransaction& desk) { desk.acquire(lease::Predicate::mutates, 60s); },
            [&](const authority::SingleRecordAnswer& answer) { token = answer.lease.token; });
    });
    const std::string text = std::to_string(token);
    EXPECT_EQ(client.ask({"LEASE.GET", "@~services/web"}).items.size(), 1U);
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "web", "anna", "60000", "NAMESPACE", "~services"})),
              "RESERVED_NAMESPACE");
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "db", "eve", "60000", "NAMESPACE", "~services"})),
              "RESERVED_NAMESPACE");
    EXPECT_EQ(code_of(client.ask({"LEASE.RENEW", "@~services/web", text, "anna"})), "RESERVED_NAMESPACE");
    EXPECT_EQ(code_of(client.ask({"LEASE.RELEASE", "@~services/web", text, "anna"})), "RESERVED_NAMESPACE");
    EXPECT_EQ(client.ask({"SET", "@~services/web", "eve", "NX", "PX", "60000"}).text, "OK") << "a key of Redis's own";
    EXPECT_EQ(client.ask({"DEL", "@~services/web"}).number, 1);
    EXPECT_EQ(client.ask({"LEASE.GET", "@~services/web"}).items.size(), 1U);
    EXPECT_EQ(door.authority().active_leases(), 1U);
}

TEST(RespLeases, of_a_service_are_given_back_by_nobody_else) {  // R2
    TestRespDoor door;
    auto client = door.connect();
    lease::Token token = 0;
    door.run([&] {
        authority::AcquireRequest request;
        request.caller.acts_for = lease::Owner::keys;
        request.holder = "d1";
        request.session = "b-1";
        request.intents = {{"KEY:room", lease::Predicate::mutates}};
        door.authority().acquire(std::move(request), [&](const authority::AcquireAnswer& answer) {
            token = std::get<authority::AcquireGranted>(answer).leases.front().lease.token;
        });
    });
    ASSERT_NE(token, 0U);
    const std::string text = std::to_string(token);
    EXPECT_EQ(code_of(client.ask({"LEASE.RELEASE", "KEY:room", text, "d1"})), "SERVICE_LEASE");
    EXPECT_EQ(code_of(client.ask({"LEASE.RELEASE", "KEY:room", text, "d1", "SESSION", "b-1"})), "SERVICE_LEASE");
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "KEY:room", "d1", "60000", "SESSION", "b-1"})), "SERVICE_LEASE");
    EXPECT_EQ(code_of(client.ask({"LEASE.ACQUIRE", "KEY:other", "d1", "60000"})), "SERVICE_LEASE");
    EXPECT_EQ(client.ask({"DEL", "KEY:room"}).number, 0) << "a key of Redis's own";
    EXPECT_EQ(client.ask({"LEASE.GET", "KEY:room"}).items.size(), 1U);

    client.ask({"LEASE.ACQUIRE", "leader:g", "anna", "60000", "SESSION", "s-1"});
    const auto led = client.ask({"LEASE.GET", "leader:g"});
    ASSERT_EQ(led.items.size(), 1U);
    const std::string term = std::to_string(field(led.items[0], "token").number);
    for (const auto& item : led.items[0].items)
        EXPECT_NE(item.text, "s-1") << "it would prove the leader";
    EXPECT_EQ(code_of(client.ask({"LEASE.RELEASE", "leader:g", term, "anna"})), "SERVICE_LEASE");
    EXPECT_EQ(code_of(client.ask({"LEASE.RELEASE", "leader:g", term, "anna", "SESSION", "s-2"})), "SERVICE_LEASE");
    EXPECT_EQ(client.ask({"LEASE.GET", "leader:g"}).items.size(), 1U);
    client.ask({"LEASE.RELEASE", "leader:g", term, "anna", "SESSION", "s-1"});
    EXPECT_TRUE(client.ask({"LEASE.GET", "leader:g"}).items.empty());

    const auto unnamed = client.ask({"LEASE.ACQUIRE", "leader:g", "anna", "60000"});
    const std::string given = field(unnamed, "session").text;
    ASSERT_FALSE(given.empty()) << "or it could not step down";
    const std::string next = std::to_string(field(unnamed, "token").number);
    EXPECT_EQ(code_of(client.ask({"LEASE.RELEASE", "leader:g", next, "anna"})), "SERVICE_LEASE");
    client.ask({"LEASE.RELEASE", "leader:g", next, "anna", "SESSION", given});
    EXPECT_TRUE(client.ask({"LEASE.GET", "leader:g"}).items.empty());
}

TEST(RespLeases, are_verified_as_many_at_a_time_as_an_answer_has_room_for) {
    TestRespDoor door;
    auto client = door.connect();
    const std::string reason(1000, 'x');
    for (int i = 0; i < 100; ++i) {
        const std::string holder = "reader" + std::to_string(i);
        ASSERT_NE(
            code_of(client.ask({"LEASE.ACQUIRE", "r", holder, "60000", "PREDICATE", "CONSUMES", "REASON", reason})),
            "BUSY");
    }
    std::vector<std::string> words{"LEASE.VERIFY"};
    for (int i = 0; i < 1000; ++i)
        words.insert(words.end(), {"r", "1"});
    const Value refused = client.ask(words);
    EXPECT_EQ(code_of(refused), "ANSWER_TOO_LARGE");
    EXPECT_NE(refused.text.find("fewer"), std::string::npos) << refused.text;
    EXPECT_EQ(client.ask({"LEASE.VERIFY", "r", "1", "r", "2"}).items.size(), 2U);
}

// ---- Redlock over nodes of one Holdfast ----

/// The lock script of redlock, in our own words; the normal form is the same.
constexpr const char* redlock_takes = R"(
    for i, key in ipairs(KEYS) do if redis.call('exists', key) == 1 then return 0 end end
    for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end
    return #KEYS)";

TEST(RespKeys, warn_once_of_locks_that_are_refused_for_their_own_value) {
    std::vector<std::string> warnings;
    TestRespDoor door({.address = "127.0.0.1:0", .version = "test", .warn = [&](std::string_view text) {
                           warnings.emplace_back(text);
                       }});
    auto first = door.connect();
    auto second = door.connect();  // as through another node, which has the same keys
    EXPECT_EQ(first.ask({"SET", "k", "random", "NX", "PX", "60000"}).text, "OK");
    EXPECT_EQ(second.ask({"SET", "k", "another", "NX", "PX", "60000"}).type, Value::Type::null);
    EXPECT_EQ(first.ask({"EVAL", redlock_takes, "1", "k", "another", "60000"}).number, 0);
    door.run([&] {
        EXPECT_TRUE(warnings.empty()) << "a lock of somebody else is nothing to warn of";
        EXPECT_EQ(door.door().same_value_sets(), 0U);
    });
    EXPECT_EQ(second.ask({"SET", "k", "random", "NX", "PX", "60000"}).type, Value::Type::null) << "as Redis answers";
    EXPECT_EQ(second.ask({"EVAL", redlock_takes, "1", "k", "random", "60000"}).number, 0);
    door.run([&] {
        EXPECT_EQ(door.door().same_value_sets(), 2U);
        ASSERT_EQ(warnings.size(), 1U);
        EXPECT_NE(warnings[0].find("Redlock"), std::string::npos) << warnings[0];
    });
}

}  // namespace
}  // namespace holdfast::doors::resp
