#include "server/host_names.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

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

}  // namespace
}  // namespace holdfast
