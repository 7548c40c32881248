#include "server/listen_address.h"

#include <gtest/gtest.h>
#include <string>

namespace holdfast {
namespace {

std::string refusal(std::string_view address, bool insecure = false) {
    const auto checked = check_listen_address(address, insecure);
    return checked ? "" : checked.error().code;
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

}  // namespace
}  // namespace holdfast
