#include "client/messages.h"

#include <gtest/gtest.h>

namespace holdfast::client {
namespace {

const AcquireAsk one_resource{.holder = "alice", .session = "s", .intents = {{"a"}}};
const NamedLeases one_lease{"alice", {NamedLease{"a#1"}}};
const NamedLeases two_leases{"alice", {NamedLease{"a#1"}, NamedLease{"b#2"}}};

AcquireReply read(int status, const std::string& body) {
    return read_acquire(one_resource, {status, body});
}

TEST(Messages, ask_only_for_what_was_given) {
    EXPECT_EQ(acquire_request(one_resource)->body,
              R"({"holder":"alice","session":"s","intents":[{"resource":"a","predicate":"MUTATES"}]})");
}

TEST(Messages, carry_everything_that_was_given) {
    AcquireAsk ask = one_resource;
    ask.name_space = "n";
    ask.ttl = 1500ms;
    ask.wait = 2s;
    ask.reason = "r";
    ask.metadata = R"({ "k" : [1] })";
    ask.idempotency_key = "i";
    ask.epoch = 3;
    EXPECT_EQ(
        acquire_request(ask)->body,
        R"({"holder":"alice","session":"s","intents":[{"resource":"a","predicate":"MUTATES"}],"epoch":3,"namespace":"n",)"
        R"("ttl_ms":1500,"wait_ms":2000,"reason":"r","idempotency_key":"i","metadata":{"k":[1]}})");
}

TEST(Messages, refuse_metadata_that_is_not_a_json_object) {
    for (const char* metadata : {"[]", "1", "{", "{}{}", "nonsense"}) {
        AcquireAsk ask = one_resource;
        ask.metadata = metadata;
        ASSERT_FALSE(acquire_request(ask)) << metadata;
        EXPECT_EQ(acquire_request(ask).error().code, Code::invalid_argument);
    }
}

TEST(Messages, take_the_grant_out_of_an_answer) {
    const auto reply =
        read(201, R"({"verdict": "GRANTED", "leases": [{"id": "a#7", "resource": "a", "predicate": "MUTATES",
        "token": 7, "ttl_ms": 60000, "timeline": {"renew_in_ms": 20000, "soft_terminate_in_ms": 40000,
        "hard_terminate_in_ms": 50000, "expires_in_ms": 60000}, "something_new": true}],
        "ttl_cut": {"requested_ms": 90000, "granted_ms": 60000}})");
    const auto* grants = std::get_if<std::vector<TimedGrant>>(&reply);
    ASSERT_NE(grants, nullptr);
    ASSERT_EQ(grants->size(), 1U);
    EXPECT_EQ(grants->front().grant.id, "a#7");
    EXPECT_EQ(grants->front().grant.token, 7U);
    EXPECT_EQ(grants->front().timing.ttl, 60s);
    EXPECT_EQ(grants->front().timing.cut_from, 90s);
    EXPECT_EQ(grants->front().timing.timeline, (lease::Timeline{20s, 40s, 50s, 60s}));
}

TEST(Messages, count_a_grant_from_the_sending_of_its_request_and_the_wait_at_the_server) {  // T3
    const std::string lease =
        R"("leases": [{"id": "a#7", "resource": "a", "predicate": "MUTATES", "token": 7, "ttl_ms": 6,
        "timeline": {"renew_in_ms": 1, "soft_terminate_in_ms": 2, "hard_terminate_in_ms": 3, "expires_in_ms": 6}}])";
    const HolderInstant sent_at{100s};
    const auto counts_from = [&](const std::string& fields) {
        const auto reply = read_acquire(one_resource, {201, "{" + fields + lease + "}", sent_at});
        const auto* grants = std::get_if<std::vector<TimedGrant>>(&reply);
        return grants != nullptr ? grants->front().sent_at + grants->front().waited : HolderInstant::max();
    };
    EXPECT_EQ(counts_from(R"("waited_ms": 6000, )"), sent_at + 6s);
    EXPECT_EQ(counts_from(""), sent_at);
    EXPECT_EQ(counts_from(R"("waited_ms": -1, )"), HolderInstant::max()) << "no answer that makes sense";
}

TEST(Messages, take_a_grant_that_makes_no_sense_for_no_answer) {
    const std::string good =
        R"({"leases": [{"id": "a#7", "resource": "a", "predicate": "MUTATES", "token": 7, "ttl_ms": 6,
        "timeline": {"renew_in_ms": 1, "soft_terminate_in_ms": 2, "hard_terminate_in_ms": 3, "expires_in_ms": 6}}]})";
    ASSERT_TRUE(std::holds_alternative<std::vector<TimedGrant>>(read(201, good)));
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string changed = good;
        changed.replace(changed.find(from), from.size(), to);
        return changed;
    };
    for (const std::string& body :
         {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string(R"({"leases": []})"),
          std::string(R"({"leases": [1]})"), with("\"token\": 7", "\"token\": \"7\""),
          with("\"token\": 7", "\"token\": -7"), with("\"expires_in_ms\": 6", "\"expires_in_ms\": 9e18"),
          with("\"expires_in_ms\": 6", "\"expires_in_ms\": null"), with("\"timeline\"", "\"time\""),
          with("\"a#7\"", "null")})
        EXPECT_TRUE(std::holds_alternative<NoAnswer>(read(201, body))) << body;
}

TEST(Messages, tell_who_stands_in_the_way) {
    const auto reply = read(
        409,
        R"({"verdict": "WAIT", "queue_position": 2, "error": {"code": "busy", "message": "no"}, "retry_in_ms": 41200,
        "conflicts": [{"resource": "a", "predicate": "MUTATES", "holder": "bob", "token": 6, "reason": "formatting",
        "expires_in_ms": 41200, "waiting": false}, {"resource": "a", "predicate": "CONSUMES", "holder": "eve",
        "expires_in_ms": 5, "waiting": true}, {"resource": "a", "predicate": "MUTATES", "holder": "joe", "token": 4,
        "expires_in_ms": 9, "waiting": false, "reserved": true}]})");
    const auto* failure = std::get_if<Failure>(&reply);
    ASSERT_NE(failure, nullptr);
    EXPECT_EQ(failure->outcome, Outcome::busy);
    EXPECT_EQ(failure->retry_in, 41200ms);
    EXPECT_EQ(failure->queue_position, 2U);
    ASSERT_EQ(failure->conflicts.size(), 3U);
    EXPECT_EQ(failure->conflicts[0].holder, "bob");
    EXPECT_EQ(failure->conflicts[0].reason, "formatting");
    EXPECT_EQ(failure->conflicts[0].token, 6U);
    EXPECT_FALSE(failure->conflicts[0].waiting);
    EXPECT_TRUE(failure->conflicts[1].waiting);
    EXPECT_FALSE(failure->conflicts[1].reserved);
    EXPECT_TRUE(failure->conflicts[2].reserved);
}

TEST(Messages, tell_refusals_from_what_passes) {
    EXPECT_EQ(outcome_of(Code::wait_timeout, 409), Outcome::busy);
    EXPECT_EQ(outcome_of(Code::recovering, 503), Outcome::busy);
    EXPECT_EQ(outcome_of(Code::stopping, 503), Outcome::unreachable);
    EXPECT_EQ(outcome_of(Code::die, 409), Outcome::die);
    EXPECT_EQ(outcome_of(Code::stale_epoch, 409), Outcome::refused);
    EXPECT_EQ(outcome_of(Code::banned, 403), Outcome::refused);
    EXPECT_EQ(outcome_of(Code::lease_revoked, 410), Outcome::lost);
    EXPECT_EQ(outcome_of(Code::invalid_argument, 400), Outcome::refused);
    EXPECT_EQ(outcome_of(Code::storage_failed, 500), Outcome::unreachable);
    EXPECT_EQ(outcome_of(ErrorCode::named("a_code_of_the_future"), 400), Outcome::refused);
}

TEST(Messages, read_an_error_that_is_none_as_a_bad_answer) {
    EXPECT_EQ(read_error({404, R"({"error": {"code": "unknown_lease", "message": "m"}})"}).code, Code::unknown_lease);
    EXPECT_EQ(read_error({502, "<html>Bad Gateway</html>"}).code, Code::bad_answer);
    EXPECT_TRUE(std::holds_alternative<NoAnswer>(read(502, "<html>Bad Gateway</html>")));
}

TEST(Messages, match_renewals_by_name_and_not_by_order) {
    const std::string lease =
        R"("lease": {"id": "a#1", "resource": "a", "predicate": "CONSUMES", "token": 1, "ttl_ms": 9, "timeline": {"renew_in_ms": 3, "soft_terminate_in_ms": 6,
        "hard_terminate_in_ms": 7, "expires_in_ms": 9}}, "ttl_cut": {"requested_ms": 20, "granted_ms": 9})";
    const auto replies =
        read_renew(two_leases, {200, R"({"results": [{"id": "b#2", "result": "REJECTED", "error": {"code":
        "lease_expired", "message": "m"}}, {"id": "a#1", "result": "RENEWED", )" +
                                         lease + "}]}"});
    ASSERT_TRUE(replies);
    ASSERT_EQ(replies->size(), 2U);
    const auto& renewed = std::get<Renewed>((*replies)[0]);
    EXPECT_EQ(renewed.timing.ttl, 9ms);
    EXPECT_EQ(renewed.timing.cut_from, 20ms);
    EXPECT_EQ(renewed.grant.predicate, "CONSUMES");
    EXPECT_EQ(std::get<Error>((*replies)[1]).code, Code::lease_expired);
}

TEST(Messages, renew_with_epoch_and_progress_where_there_are_any) {
    EXPECT_EQ(renew_request(one_lease).body, R"({"holder":"alice","leases":["a#1"]})");
    EXPECT_EQ(renew_request({"alice", {NamedLease{"a#1", 7}, NamedLease{"b#2"}}, 3}).body,
              R"({"holder":"alice","epoch":3,"leases":[{"id":"a#1","progress":7},"b#2"]})");
}

TEST(Messages, renew_one_lease_by_its_own_path_and_all_without_names) {
    const NamedLeases one{.holder = "alice", .leases = {NamedLease{"@n/a b#1", 7}}, .epoch = 3, .ttl = 90s};
    EXPECT_EQ(renew_one_request(one).target, "/v1/leases/%40n%2Fa%20b%231/heartbeat");
    EXPECT_EQ(renew_one_request(one).body, R"({"holder":"alice","epoch":3,"ttl_ms":90000,"progress":7})");
    EXPECT_EQ(renew_all_request(one).target, "/v1/heartbeat");
    EXPECT_EQ(renew_all_request(one).body, R"({"holder":"alice","epoch":3,"ttl_ms":90000})");
}

TEST(Messages, release_with_the_session_only_where_it_is_a_proof) {  // R2
    const NamedLeases leases{.holder = "a b", .leases = {}, .epoch = 3, .session = "s t"};
    EXPECT_EQ(release_request(leases, "a#1").target, "/v1/leases/a%231?holder=a%20b&epoch=3");
    EXPECT_EQ(release_request(leases, "leader:g#1").target,
              "/v1/leases/leader%3Ag%231?holder=a%20b&epoch=3&session=s%20t");
    EXPECT_EQ(release_request({.holder = "a"}, "leader:g#1").target, "/v1/leases/leader%3Ag%231?holder=a");
    EXPECT_EQ(release_request(leases, "a#1").method, "DELETE");
}

TEST(Messages, may_be_repeated_if_that_does_no_harm) {  // G7
    AcquireAsk ask = one_resource;
    EXPECT_FALSE(acquire_request(ask)->repeatable) << "a second lease";
    ask.idempotency_key = "i";
    EXPECT_TRUE(acquire_request(ask)->repeatable);
    ask.wait = 1s;
    EXPECT_FALSE(acquire_request(ask)->repeatable) << "the caller asks again, once it is known which server is silent";
    EXPECT_TRUE(renew_request(one_lease).repeatable);
}

TEST(Messages, do_not_believe_an_answer_that_leaves_a_renewal_out) {
    EXPECT_FALSE(read_renew(one_lease, {200, R"({"results": []})"}));
    EXPECT_FALSE(read_renew(one_lease, {200, "nonsense"}));
    EXPECT_EQ(read_renew(one_lease, {503, R"({"error": {"code": "stopping", "message": "m"}})"}).error().code,
              Code::stopping);
}

TEST(Messages, tell_the_state_of_a_lease_that_was_given_back) {  // R2
    const auto reply = read_release({200, R"({"id": "a#1", "released": false, "state": "EXPIRED"})"});
    EXPECT_EQ(std::get<Released>(reply).state, "EXPIRED");
    EXPECT_EQ(std::get<Error>(read_release({200, "{}"})).code, Code::bad_answer);
    EXPECT_EQ(std::get<Error>(read_release({403, R"({"error": {"code": "not_holder", "message": "m"}})"})).code,
              Code::not_holder);
}

TEST(AgentMessages, register_with_what_was_given) {
    EXPECT_EQ(register_request({.id = "alice"}).body, "{}");
    EXPECT_EQ(register_request({.id = "alice", .priority = 5, .epoch = 2}).body, R"({"priority":5,"epoch":2})");
    EXPECT_EQ(restarting_request({.id = "alice", .epoch = 2}).body, R"({"epoch":2})");
    EXPECT_EQ(register_request({.id = "a b"}).method, "PUT");
    EXPECT_EQ(register_request({.id = "a b"}).target, "/v1/agents/a%20b");
    EXPECT_EQ(verify_request({.id = "alice", .epoch = 2}).body, R"({"holder":"alice","epoch":2})");
    EXPECT_EQ(verify_request(std::vector<std::string>{"a#1"}).body, R"({"leases":["a#1"]})");
}

TEST(AgentMessages, read_what_the_server_knows_of_an_agent) {
    const std::string body =
        R"({"agent": {"id": "alice", "priority": 5, "epoch": 2, "restarting": false, "deaths": 1}})";
    const auto known = read_agent({201, body});
    ASSERT_TRUE(known);
    EXPECT_EQ(known->priority, 5);
    EXPECT_EQ(known->epoch, 2U);
    EXPECT_EQ(known->deaths, 1U);
    EXPECT_TRUE(known->created);
    EXPECT_FALSE(read_agent({200, body})->created);
    EXPECT_EQ(read_agent({409, R"({"error": {"code": "stale_epoch", "message": "m"}})"}).error().code,
              Code::stale_epoch);
    for (const char* nonsense :
         {"", "{}", R"({"agent": {"priority": "5"}})", R"({"agent": {"priority": 5, "epoch": -1}})"})
        EXPECT_EQ(read_agent({200, nonsense}).error().code, Code::bad_answer) << nonsense;
}

TEST(AgentMessages, read_what_is_left_of_an_earlier_life) {
    const auto leases = read_verified({200, R"({"results": [{"id": "@n/a#17", "state": "GRACE", "reserved_for_ms": 900,
        "current": []}, {"id": "b#18", "state": "ACTIVE", "holder": "alice", "expires_in_ms": 20000, "current": []}]})"});
    ASSERT_TRUE(leases);
    ASSERT_EQ(leases->size(), 2U);
    EXPECT_EQ((*leases)[0].resource, "a");
    EXPECT_EQ((*leases)[0].state, "GRACE");
    EXPECT_EQ((*leases)[0].remaining, 900ms);
    EXPECT_EQ((*leases)[1].remaining, 20s);
    EXPECT_EQ(read_verified({200, R"({"results": [{"id": 1}]})"}).error().code, Code::bad_answer);
}

}  // namespace
}  // namespace holdfast::client
