#include "keys/drone/addresses.h"

#include <gtest/gtest.h>

namespace holdfast::keys::drone {
namespace {

const std::vector<std::string> here{"http://127.0.0.1:7400", "http://localhost:7400", "http://[::1]:7400"};
const std::vector<std::string> elsewhere{"http://127.0.0.1:7400", "http://10.0.0.9:7400"};

TEST(OwnAddress, is_this_machine_for_controllers_on_it_and_warns) {
    const auto own = own_address("", here);
    ASSERT_TRUE(own);
    EXPECT_EQ(own->handed_out, "127.0.0.1");
    EXPECT_EQ(own->bind, "127.0.0.1");
    EXPECT_TRUE(own->warning);
}

TEST(OwnAddress, must_be_said_if_a_controller_is_elsewhere) {
    const auto own = own_address("", elsewhere);
    ASSERT_FALSE(own);
    EXPECT_NE(own.error().message.find("http://10.0.0.9:7400"), std::string::npos) << own.error().message;
    EXPECT_NE(own.error().message.find("--address"), std::string::npos);
    EXPECT_FALSE(own_address("", {"http://holdfast.internal:7400"}));
}

TEST(OwnAddress, that_was_said_is_handed_out) {
    const auto own = own_address("192.0.2.7", elsewhere);
    ASSERT_TRUE(own);
    EXPECT_EQ(own->handed_out, "192.0.2.7");
    EXPECT_EQ(own->bind, "0.0.0.0") << "it is no interface of this machine, but perhaps of a router before it";
    EXPECT_FALSE(own->warning);
    EXPECT_EQ(own_address("rooms.example", elsewhere)->bind, "0.0.0.0");
    EXPECT_EQ(own_address("2001:db8::7", elsewhere)->bind, "::");
    EXPECT_EQ(own_address("[2001:db8::7]", elsewhere)->handed_out, "2001:db8::7");
}

TEST(OwnAddress, that_only_this_machine_reaches_is_warned_of) {
    for (const char* said : {"127.0.0.1", "127.0.0.2", "localhost"}) {
        const auto own = own_address(said, elsewhere);
        ASSERT_TRUE(own) << said;
        EXPECT_TRUE(own->warning) << said;
    }
    EXPECT_EQ(own_address("127.0.0.2", here)->bind, "127.0.0.2") << "just that interface";
    EXPECT_EQ(own_address("localhost", here)->bind, "127.0.0.1");
}

TEST(OwnAddress, is_a_host_to_connect_to) {
    for (const char* said :
         {"0.0.0.0", "::", "[::]", "*", "192.0.2.7:80", "rooms.example:80", "http://rooms.example", "300.1.1.1",
          "192.0.2", "0", " ", "192.0.2.7 ", "a,b", "[]", "fe80::1%eth0", "192.0.2.0/24"})
        EXPECT_FALSE(own_address(said, here)) << said;
}

}  // namespace
}  // namespace holdfast::keys::drone
