#include "doors/peer/members.h"

#include <gtest/gtest.h>

namespace holdfast::doors::peer {
namespace {

std::string complaint(std::string_view peers, std::string_view node = "a") {
    const auto members = parse_members(peers, node);
    if (members) return "none";
    EXPECT_EQ(members.error().code, Code::invalid_argument);
    return members.error().message;
}

TEST(Members, are_in_the_order_of_their_ids_whatever_the_order_they_are_named_in) {
    const auto members = parse_members("c=10.0.0.3:7402,a=10.0.0.1:7402,b=host.example:9000", "b");
    ASSERT_TRUE(members);
    EXPECT_EQ(members->all,
              (std::vector<Member>{{"a", "10.0.0.1:7402"}, {"b", "host.example:9000"}, {"c", "10.0.0.3:7402"}}));
    EXPECT_EQ(members->self, 1);
    EXPECT_EQ(members->own().id, "b");
    EXPECT_EQ(members->ids(), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(Members, have_the_default_port_if_none_is_said) {
    const auto members = parse_members("a=10.0.0.1,b=[::1],c=[fe80::1]:99", "a");
    ASSERT_TRUE(members);
    EXPECT_EQ(members->all[0].address, "10.0.0.1:7402");
    EXPECT_EQ(members->all[1].address, "[::1]:7402");
    EXPECT_EQ(members->all[2].address, "[fe80::1]:99");
}

TEST(Members, are_one_three_five_or_seven) {
    std::string peers;
    for (int count = 1; count <= 9; ++count) {
        peers += (peers.empty() ? "" : ",") + std::string(1, static_cast<char>('a' + count - 1)) +
                 "=h:" + std::to_string(count);
        const bool allowed = count == 1 || count == 3 || count == 5 || count == 7;
        EXPECT_EQ(static_cast<bool>(parse_members(peers, "a")), allowed) << peers;
    }
}

TEST(Members, that_cannot_be_are_refused_with_what_to_mend) {
    EXPECT_NE(complaint("").find("ID=HOST:PORT"), std::string::npos);
    EXPECT_NE(complaint("a=h:1,").find("ID=HOST:PORT"), std::string::npos);
    EXPECT_NE(complaint("10.0.0.1:7402").find("ID=HOST:PORT"), std::string::npos);
    EXPECT_NE(complaint("A=h:1").find("'A' is not the id"), std::string::npos);
    EXPECT_NE(complaint("=h:1").find("'' is not the id"), std::string::npos);
    EXPECT_NE(complaint(std::string(65, 'a') + "=h:1").find("not the id"), std::string::npos);
    EXPECT_NE(complaint("a=:1").find("not an address"), std::string::npos);
    EXPECT_NE(complaint("a=h:0").find("not an address"), std::string::npos);
    EXPECT_NE(complaint("a=h:65536").find("not an address"), std::string::npos);
    EXPECT_NE(complaint("a=::1:7402").find("brackets"), std::string::npos);
    EXPECT_NE(complaint("a=h h:1").find("not an address"), std::string::npos);
    EXPECT_NE(complaint("a=h:1,b=h:2,a=h:3").find("'a' is repeated"), std::string::npos);
    EXPECT_NE(complaint("a=h:1,b=h:2,c=h:1").find("a and c have the same address"), std::string::npos);
    EXPECT_NE(complaint("a=h:1,b=h:2").find("2 members"), std::string::npos);
}

TEST(Members, must_name_this_node) {
    EXPECT_EQ(complaint("a=h:1,b=h:2,c=h:3", "d"), "--node 'd' is not among the members that --peers names: a, b, c");
    EXPECT_NE(complaint("a=h:1", ""), "none");
}

}  // namespace
}  // namespace holdfast::doors::peer
