#include <cstdlib>
#include <gtest/gtest.h>

#include "cli/app.h"

namespace holdfast::cli {
namespace {

using Words = std::vector<std::string>;

TEST(Arguments, split_off_the_command_of_run) {
    const Typed typed = make_ready({"run", "a", "--ttl", "5s", "--", "make", "--", "-j"});
    EXPECT_EQ(typed.options, (Words{"run", "a", "--ttl", "5s"}));
    EXPECT_EQ(typed.command, (Words{"make", "--", "-j"})) << "only the first -- is ours";
}

TEST(Arguments, split_off_the_command_of_elect_if_there_is_one) {
    EXPECT_EQ(make_ready({"elect", "g", "--", "make", "all"}).command, (Words{"make", "all"}));
    EXPECT_TRUE(make_ready({"elect", "g"}).command.empty());
}

TEST(Arguments, leave_the_separator_of_other_commands_alone) {
    const Typed typed = make_ready({"acquire", "--", "-odd-name"});
    EXPECT_EQ(typed.options, (Words{"acquire", "--", "-odd-name"}));
    EXPECT_TRUE(typed.command.empty());
}

TEST(Arguments, find_the_subcommand_behind_options_with_values) {
    EXPECT_TRUE(make_ready({"--server", "run", "acquire", "--", "x"}).command.empty());
    EXPECT_EQ(make_ready({"--json", "--server", "http://h", "run", "a", "--", "x"}).command, (Words{"x"}));
}

TEST(Arguments, a_bare_wait_is_for_ever_and_leaves_the_resource_alone) {
    EXPECT_EQ(make_ready({"run", "--wait", "FILE:x", "--", "c"}).options, (Words{"run", "--wait=forever", "FILE:x"}));
    EXPECT_EQ(make_ready({"run", "FILE:x", "--wait", "--", "c"}).options, (Words{"run", "FILE:x", "--wait=forever"}));
}

TEST(Arguments, a_wait_takes_a_duration_either_way) {
    EXPECT_EQ(make_ready({"run", "--wait", "30s", "x"}).options, (Words{"run", "--wait=30s", "x"}));
    EXPECT_EQ(make_ready({"acquire", "--wait=30s", "x"}).options, (Words{"acquire", "--wait=30s", "x"}));
}

TEST(Arguments, do_not_touch_what_belongs_to_the_command) {
    EXPECT_EQ(make_ready({"run", "x", "--", "wait", "--wait"}).command, (Words{"wait", "--wait"}));
}

TEST(CommandLine, understands_a_run) {
    const Parsed parsed =
        parse_command_line({"run", "a", "b", "--wait", "--ttl", "1.5s", "--predicate", "CONSUMES", "--reason", "why",
                            "--namespace", "n", "--holder", "h", "--", "make", "all"});
    ASSERT_FALSE(parsed.exit);
    const TakeOptions& take = parsed.arguments.take;
    EXPECT_EQ(parsed.arguments.command, "run");
    EXPECT_EQ(take.resources, (Words{"a", "b"}));
    EXPECT_EQ(take.command, (Words{"make", "all"}));
    EXPECT_TRUE(take.wait_for_ever);
    EXPECT_EQ(take.ttl, 1500ms);
    EXPECT_EQ(take.predicate, "CONSUMES");
    EXPECT_EQ(take.reason, "why");
    EXPECT_EQ(take.name_space, "n");
    EXPECT_EQ(take.holder, "h");
}

TEST(CommandLine, understands_an_election) {
    const Parsed parsed = parse_command_line({"elect", "billing", "--ttl", "5s", "--holder", "h", "--", "serve", "-v"});
    ASSERT_FALSE(parsed.exit);
    EXPECT_EQ(parsed.arguments.command, "elect");
    EXPECT_EQ(parsed.arguments.elect.group, "billing");
    EXPECT_EQ(parsed.arguments.take.ttl, 5s);
    EXPECT_EQ(parsed.arguments.take.holder, "h");
    EXPECT_EQ(parsed.arguments.take.command, (Words{"serve", "-v"}));
}

TEST(CommandLine, takes_several_servers_with_commas_between_them) {
    const Parsed parsed = parse_command_line({"list", "--server", "http://a,http://b:2/"});
    ASSERT_FALSE(parsed.exit);
    EXPECT_EQ(parsed.arguments.common.server, "http://a:7400,http://b:2");
    EXPECT_EQ(parse_command_line({"list", "--server", "http://a,,http://b"}).exit, 2);
}

TEST(CommandLine, takes_common_options_before_and_after_the_command) {
    const Parsed before = parse_command_line({"--json", "--server", "http://a:1", "list"});
    const Parsed after = parse_command_line({"list", "--json", "--server", "http://a:1/"});
    for (const Parsed& parsed : {before, after}) {
        ASSERT_FALSE(parsed.exit);
        EXPECT_TRUE(parsed.arguments.common.json);
        EXPECT_EQ(parsed.arguments.common.server, "http://a:1");
    }
}

TEST(CommandLine, a_resource_may_have_the_name_of_a_command) {
    const Parsed parsed = parse_command_line({"acquire", "list", "run"});
    ASSERT_FALSE(parsed.exit);
    EXPECT_EQ(parsed.arguments.command, "acquire");
    EXPECT_EQ(parsed.arguments.take.resources, (Words{"list", "run"}));
}

TEST(CommandLine, knows_nested_commands) {
    EXPECT_EQ(parse_command_line({"policy"}).arguments.command, "policy");
    EXPECT_EQ(parse_command_line({"policy", "get"}).arguments.command, "policy get");
    const Parsed set = parse_command_line({"policy", "set", "--ttl-max", "10m", "--name-pattern", ""});
    ASSERT_FALSE(set.exit);
    EXPECT_EQ(set.arguments.command, "policy set");
    EXPECT_EQ(set.arguments.policy.ttl_max, 10min);
    EXPECT_EQ(set.arguments.policy.name_pattern, "");
    EXPECT_FALSE(set.arguments.policy.ttl_min);
}

TEST(CommandLine, understands_every_option_of_serve) {
    const Parsed parsed = parse_command_line({"serve",
                                              "--http",
                                              "127.0.0.1:0",
                                              "--state-dir",
                                              "d",
                                              "--insecure",
                                              "--try",
                                              "--max-connections",
                                              "7",
                                              "--idle-timeout",
                                              "5s",
                                              "--read-timeout",
                                              "2s",
                                              "--log-level",
                                              "debug",
                                              "--log-json",
                                              "--allow-host",
                                              "a.example",
                                              "--allow-spawn",
                                              "--allow-host",
                                              "b.example,c.example"});
    ASSERT_FALSE(parsed.exit);
    const server::ServeOptions& serve = parsed.arguments.serve;
    EXPECT_EQ(serve.http, "127.0.0.1:0");
    EXPECT_EQ(serve.state_dir, "d");
    EXPECT_TRUE(serve.insecure && serve.try_hints && serve.log_json && serve.allow_spawn);
    EXPECT_EQ(serve.allowed_hosts, (std::vector<std::string>{"a.example", "b.example", "c.example"}));
    EXPECT_EQ(serve.max_connections, 7U);
    EXPECT_EQ(serve.idle_timeout, 5s);
    EXPECT_EQ(serve.read_timeout, 2s);
    EXPECT_EQ(serve.log_level, "debug");
}

TEST(CommandLine, understands_the_options_of_the_relay) {
    const Parsed parsed = parse_command_line(
        {"serve", "--relay", "127.0.0.1:9", "--relay-address", "relay.example:7403", "--relay-streams-per-service", "5",
         "--relay-streams-per-identity", "6", "--relay-rate-per-service", "10MB", "--relay-rate-per-identity", "512"});
    ASSERT_FALSE(parsed.exit);
    const server::ServeOptions& serve = parsed.arguments.serve;
    EXPECT_EQ(serve.relay, "127.0.0.1:9");
    EXPECT_EQ(serve.relay_address, "relay.example:7403");
    EXPECT_EQ(serve.relay_streams_per_service, 5U);
    EXPECT_EQ(serve.relay_streams_per_identity, 6U);
    EXPECT_EQ(serve.relay_rate_per_service, 10U << 20);
    EXPECT_EQ(serve.relay_rate_per_identity, 512U);
    EXPECT_EQ(parse_command_line({"serve", "--relay-rate-per-service", "much"}).exit, 2);
    EXPECT_EQ(parse_command_line({"serve", "--relay-streams-per-service", "0"}).exit, 2);
}

TEST(CommandLine, wins_over_the_environment_also_where_another_command_has_the_same_option) {
    ::setenv("HOLDFAST_TTL", "12s", 1);
    ::setenv("HOLDFAST_REDIS", "redis://127.0.0.1:1", 1);
    const Parsed run = parse_command_line({"run", "x", "--ttl", "13s", "--", "true"});
    const Parsed own = parse_command_line({"own", "--sessions", "f", "--redis", "redis://127.0.0.1:2", "--", "true"});
    const Parsed by_environment = parse_command_line({"run", "x", "--", "true"});
    ::unsetenv("HOLDFAST_TTL");
    ::unsetenv("HOLDFAST_REDIS");
    ASSERT_FALSE(run.exit || own.exit || by_environment.exit);
    EXPECT_EQ(run.arguments.take.ttl, 13s);
    EXPECT_EQ(own.arguments.own.redis, "redis://127.0.0.1:2");
    EXPECT_EQ(by_environment.arguments.take.ttl, 12s);
}

TEST(CommandLine, refuses_what_makes_no_sense) {
    const std::vector<Words> wrong{{},
                                   {"fly"},
                                   {"run"},
                                   {"run", "a"},
                                   {"run", "a", "--"},
                                   {"run", "--", "make"},
                                   {"acquire"},
                                   {"acquire", "a", "--ttl", "soon"},
                                   {"acquire", "a", "--predicate", "EATS"},
                                   {"list", "extra"},
                                   {"list", "--server", "ftp://x"},
                                   {"renew"},
                                   {"renew", "a#1", "--all"},
                                   {"verify"},
                                   {"verify", "a#1", "--holder", "h"},
                                   {"completion", "tcsh"},
                                   {"list", "--config", "/nonexistent/file"}};
    for (const Words& words : wrong) {
        testing::internal::CaptureStderr();
        const Parsed parsed = parse_command_line(words);
        const std::string said = testing::internal::GetCapturedStderr();
        EXPECT_EQ(parsed.exit, 2) << testing::PrintToString(words);
        EXPECT_NE(said, "") << testing::PrintToString(words);
    }
}

}  // namespace
}  // namespace holdfast::cli
