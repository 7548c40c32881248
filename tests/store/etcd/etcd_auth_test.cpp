#include <cstdlib>
#include <filesystem>

#include "etcd_fixture.h"
#include "support/etcd_process.h"

namespace holdfast::store::etcd {
namespace {

using namespace std::chrono_literals;

void ask_for_passwords(EtcdProcess& etcd) {
    etcd.post("/v3/auth/user/add", R"({"name":"root","password":"se:cret"})");
    etcd.post("/v3/auth/role/add", R"({"name":"root"})");
    etcd.post("/v3/auth/user/grant", R"({"user":"root","role":"root"})");
    etcd.post("/v3/auth/user/add", R"({"name":"guest","password":"guest"})");
    ASSERT_NE(etcd.post("/v3/auth/enable", "{}").find("header"), std::string::npos);
}

bool tells(const Front& front, std::string_view part) {
    return front.why.message.find(part) != std::string::npos;
}

TEST(EtcdAuth, lets_in_who_has_the_password_and_nobody_else) {
    EtcdProcess etcd;
    ask_for_passwords(etcd);
    Loop loop;
    Front right(loop, etcd.url("root:se%3Acret@")), wrong(loop, etcd.url("root:wr0ng-one@")), none(loop, etcd.url());
    ASSERT_TRUE(right.becomes_reachable());
    EXPECT_TRUE(right.swap({.name = "x", .becomes = 1, .notice = "told", .holders = {"me"}})->done);
    EXPECT_TRUE(loop.run_until([&] { return !right.notices.empty(); }));
    ASSERT_TRUE(loop.run_until([&] { return wrong.times_unreachable > 0 && none.times_unreachable > 0; }));
    EXPECT_TRUE(tells(wrong, "authentication failed")) << wrong.why.message;
    for (Front* front : {&right, &wrong}) {
        EXPECT_FALSE(tells(*front, "wr0ng-one")) << front->why.message;
        EXPECT_EQ(front->engine().status().find("wr0ng-one"), std::string::npos);
        EXPECT_EQ(front->engine().status().find("se:cret"), std::string::npos);
    }
    EXPECT_FALSE(none.reachable);
    EXPECT_FALSE(wrong.reachable);
    Front guest(loop, etcd.url("guest:guest@"));
    ASSERT_TRUE(loop.run_until([&] { return guest.times_unreachable > 0; }));
    EXPECT_TRUE(tells(guest, "permission denied")) << guest.why.message;
}

TEST(EtcdAuth, authenticates_again_after_a_restart) {
    EtcdProcess etcd;
    ask_for_passwords(etcd);
    Loop loop;
    Front front(loop, etcd.url("root:se%3Acret@"));
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
    etcd.kill();
    ASSERT_TRUE(loop.run_until([&] { return !front.reachable; }));
    etcd.start();
    ASSERT_TRUE(front.becomes_reachable());
    EXPECT_TRUE(front.swap({.name = "x", .expected = 1, .becomes = 2})->done);
}

TEST(EtcdAuth, gets_another_token_when_the_first_has_run_out) {
    std::string folder = std::filesystem::temp_directory_path() / "holdfast-jwt-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string make_keys = "cd " + folder +
                                  " && openssl genrsa -out private.pem 2048 2>/dev/null"
                                  " && openssl rsa -in private.pem -pubout -out public.pem 2>/dev/null";
    ASSERT_EQ(std::system(make_keys.c_str()), 0);
    {
        EtcdProcess etcd(1, {"--auth-token", "jwt,pub-key=" + folder + "/public.pem,priv-key=" + folder +
                                                 "/private.pem,sign-method=RS256,ttl=2s"});
        ask_for_passwords(etcd);
        Loop loop;
        Front front(loop, etcd.url("root:se%3Acret@"));
        ASSERT_TRUE(front.becomes_reachable());
        std::uint64_t write = 0;
        const auto until = std::chrono::steady_clock::now() + 6s;
        while (std::chrono::steady_clock::now() < until) {
            const auto swapped = front.swap({.name = "x", .expected = write, .becomes = write + 1});
            ASSERT_TRUE(swapped) << swapped.error().message;
            ASSERT_TRUE(swapped->done);
            ++write;
            loop.run_for(20ms);
        }
        EXPECT_EQ(front.times_reachable, 1) << "nobody noticed";
    }
    std::filesystem::remove_all(folder);
}

/// What root asks for by the JSON API. The token is another one each time: some requests make earlier ones invalid.
std::string post_as_root(EtcdProcess& etcd, const std::string& path, const std::string& json) {
    const std::string answer = etcd.post("/v3/auth/authenticate", R"({"name":"root","password":"se:cret"})");
    const std::string before = R"("token":")";
    const std::size_t at = answer.find(before);
    if (at == std::string::npos) return {};
    const std::string token = answer.substr(at + before.size());
    return etcd.post(path, json, token.substr(0, token.find('"')));
}

TEST(EtcdAuth, is_away_while_its_permission_is_withdrawn) {
    EtcdProcess etcd;
    ask_for_passwords(etcd);
    const std::string range = R"("key":"aG9sZGZhc3Qv","range_end":"aG9sZGZhc3Qw")";  // holdfast/ to holdfast0
    const std::string permission = R"({"name":"app","perm":{"permType":"READWRITE",)" + range + "}}";
    const auto as_root = [&](const std::string& path, const std::string& json) {
        return post_as_root(etcd, path, json).find("header") != std::string::npos;
    };
    ASSERT_TRUE(as_root("/v3/auth/role/add", R"({"name":"app"})"));
    ASSERT_TRUE(as_root("/v3/auth/role/grant", permission));
    ASSERT_TRUE(as_root("/v3/auth/user/grant", R"({"user":"guest","role":"app"})"));
    Loop loop;
    Front front(loop, etcd.url("guest:guest@"));
    ASSERT_TRUE(front.becomes_reachable());
    ASSERT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
    ASSERT_TRUE(as_root("/v3/auth/role/revoke", R"({"role":"app",)" + range + "}"));
    const auto denied = front.swap({.name = "x", .expected = 1, .becomes = 2});
    ASSERT_FALSE(denied);
    EXPECT_EQ(denied.error().code, Code::store_unavailable);
    EXPECT_NE(denied.error().message.find("etcdserver: permission denied"), std::string::npos)
        << denied.error().message;
    EXPECT_FALSE(front.reachable);
    EXPECT_TRUE(tells(front, "etcdserver: permission denied")) << front.why.message;
    const int times = front.times_reachable;
    ASSERT_TRUE(as_root("/v3/auth/role/grant", permission));
    ASSERT_TRUE(front.comes_back_after(times));
    EXPECT_TRUE(front.swap({.name = "x", .expected = 1, .becomes = 3})->done);
}

TEST(EtcdAuth, goes_on_when_passwords_are_asked_for_while_it_runs) {
    EtcdProcess etcd;
    Loop loop;
    Front right(loop, etcd.url("root:se%3Acret@")), none(loop, etcd.url());
    ASSERT_TRUE(right.becomes_reachable() && none.becomes_reachable());
    ask_for_passwords(etcd);
    EXPECT_TRUE(right.swap({.name = "x", .becomes = 1})->done);
    EXPECT_EQ(right.times_unreachable, 0);
    EXPECT_FALSE(none.swap({.name = "y", .becomes = 2}));
    EXPECT_FALSE(none.reachable);
    EXPECT_TRUE(tells(none, "etcdserver: user name is empty")) << none.why.message;
}

TEST(EtcdAuth, does_not_mind_a_password_that_nobody_asks_for) {
    EtcdProcess etcd;
    Loop loop;
    Front front(loop, etcd.url("root:se%3Acret@"));
    ASSERT_TRUE(front.becomes_reachable());
    EXPECT_TRUE(front.swap({.name = "x", .becomes = 1})->done);
}

}  // namespace
}  // namespace holdfast::store::etcd
