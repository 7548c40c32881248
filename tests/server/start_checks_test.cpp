#include "server/start_checks.h"

#include <gtest/gtest.h>
#include <string>

namespace holdfast::server {
namespace {

std::string refusal(std::string_view address, bool insecure = false) {
    const auto checked = check_listen_address(address, insecure);
    return checked ? "" : std::string(checked.error().code.name());
}

TEST(ListenAddress, may_be_any_loopback_address) {
    for (const char* address : {"127.0.0.1:7400", "127.9.8.7:0", "localhost:7400", "[::1]:7400"})
        EXPECT_EQ(refusal(address), "") << address;
}

TEST(ListenAddress, beyond_loopback_needs_consent) {
    for (const char* address : {"0.0.0.0:7400", "[::]:7400", "192.0.2.1:7400", "example.org:7400",
                                "localhost.example:1", "[::ffff:192.0.2.1]:80", "*:7400"}) {
        EXPECT_EQ(refusal(address), "insecure_address") << address;
        EXPECT_EQ(refusal(address, true), "") << address;
    }
}

TEST(ListenAddress, must_be_a_host_and_a_port) {
    for (const char* address : {"", "7400", ":7400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000"})
        EXPECT_EQ(refusal(address, true), "invalid_argument") << address;
}

TEST(ListenAddress, beyond_loopback_is_told_with_what_it_exposes) {
    EXPECT_EQ(exposure({.http = "127.0.0.1:7400", .resp = "[::1]:7401", .relay = "", .allow_spawn = true}), "");
    const std::string http = exposure({.http = "0.0.0.0:7400", .resp = "127.0.0.1:7401", .relay = ""});
    EXPECT_NE(http.find("http://0.0.0.0:7400"), std::string::npos) << http;
    EXPECT_EQ(http.find("commands"), std::string::npos) << http;
    EXPECT_EQ(http.find("127.0.0.1"), std::string::npos) << http;
    const std::string all =
        exposure({.http = "[::]:7400", .resp = "192.0.2.1:7401", .relay = "0.0.0.0:7403", .allow_spawn = true});
    for (const char* named :
         {"http://[::]:7400", "run commands on every drone", "redis://192.0.2.1:7401", "0.0.0.0:7403"})
        EXPECT_NE(all.find(named), std::string::npos) << named << " in " << all;
}

using Names = std::vector<std::string>;

TEST(HostNames, are_the_machines_the_one_it_listens_on_and_those_allowed) {
    ServeOptions options;
    options.http = "Front.example:7400";
    options.allowed_hosts = {"Leases.Example", "proxy."};
    const auto names = allowed_hosts(options, "Box.lan");
    ASSERT_TRUE(names);
    EXPECT_EQ(*names, (Names{"box.lan", "box", "front.example", "leases.example", "proxy"}));
}

TEST(HostNames, of_a_machine_without_a_proper_one_are_none) {
    ServeOptions options;
    options.http = "[::1]:7400";
    for (const char* machine : {"", "(none)", "a b"}) {
        const auto names = allowed_hosts(options, machine);
        ASSERT_TRUE(names);
        EXPECT_EQ(*names, Names{}) << machine;
    }
}

TEST(HostNames, that_are_none_cannot_be_allowed) {
    for (const char* name : {"", "*", "*.example", "example:7400", "http://example", "a@b", ".example", "a b"}) {
        ServeOptions options;
        options.allowed_hosts = {name};
        EXPECT_FALSE(allowed_hosts(options, "box")) << name;
    }
}

TEST(WallClock, from_1970_to_2262_is_good_to_begin_with) {
    for (const std::int64_t good : {std::int64_t{0}, std::int64_t{1'795'000'000'000}, std::int64_t{9'223'372'036'853}})
        EXPECT_TRUE(check_wall_clock(good)) << good;
    for (const std::int64_t bad :
         {std::int64_t{-1}, std::int64_t{9'223'372'036'854}, std::int64_t{253'402'300'800'000}}) {
        const auto checked = check_wall_clock(bad);
        ASSERT_FALSE(checked) << bad;
        EXPECT_EQ(checked.error().code, Code::clock_unusable);
    }
}

}  // namespace
}  // namespace holdfast::server
