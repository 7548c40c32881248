#include "doors/http/origin.h"

#include <gtest/gtest.h>

#include "doors/http/door_fixture.h"
#include "doors/http/routes.h"

namespace holdfast::doors::http {
namespace {

const std::vector<std::string> allowed_names{"leases.example", "box"};

bool is_answered(const Request& request) {
    return origin_problem(request, allowed_names).empty();
}

Request called(std::string_view host) {
    Request request;
    request.host = host;
    return request;
}

TEST(Origin, is_checked_by_the_host_that_was_called) {
    struct Case {
        const char* host;
        bool answered;
    };
    for (const Case& one : std::initializer_list<Case>{
             {"127.0.0.1", true},
             {"127.0.0.1:7400", true},
             {"127.0.0.1.", true},
             {"192.168.0.7:80", true},
             {"[::1]", true},
             {"[::1]:7400", true},
             {"[FE80::1%25eth0]:7400", true},
             {"[fe80::1%eth0]", true},
             {"localhost", true},
             {"LocalHost:7400", true},
             {"localhost.", true},
             {"app.localhost", true},
             {"leases.example", true},
             {"Leases.EXAMPLE.:443", true},
             {"leases.example:", true},
             {"box", true},
             // DNS rebinding: a name that somebody else can point here, in all disguises.
             {"evil.example", false},
             {"evil.example.", false},
             {"evil.example:7400", false},
             {"EVIL.EXAMPLE", false},
             {"127.0.0.1.evil.example", false},
             {"localhost.evil.example", false},
             {"evil-localhost", false},
             {"leases.example.evil.example", false},
             {"evil.leases.example", false},
             {"box.evil.example", false},
             {"leases.example..", false},
             {"1.2.3.4.5", false},
             {"1.2.3", false},
             {"0x7f000001", false},
             {"2130706433", false},
             {"999.0.0.1", false},
             // With a user, or otherwise no host.
             {"localhost@evil.example", false},
             {"evil.example@localhost", false},
             {"a:b@localhost", false},
             {"a@b.localhost", false},
             {"localhost:7400@evil.example", false},
             {"localhost:evil.example", false},
             {"localhost:80:80", false},
             {"localhost/evil.example", false},
             {"localhost evil.example", false},
             {"[::1]evil.example", false},
             {"[::1].evil.example", false},
             {"[::1", false},
             {"[evil.example]", false},
             {"[::1%]", false},
             {"[::1%@evil.example]", false},
             {"::1", false},
             {"l\xc3\xb6"
              "calhost",
              false},
             {"*", false},
             {".", false},
             {":7400", false},
             {"", false},
         })
        EXPECT_EQ(is_answered(called(one.host)), one.answered) << '"' << one.host << '"';
}

TEST(Origin, needs_no_host_in_HTTP_1_0) {
    Request request = called("");
    request.http_1_0 = true;
    EXPECT_TRUE(is_answered(request));
    request.host = "evil.example";
    EXPECT_FALSE(is_answered(request));
}

TEST(Origin, of_a_page_is_that_of_the_server_or_refused) {
    struct Case {
        const char* host;
        const char* origin;
        bool answered;
    };
    for (const Case& one : std::initializer_list<Case>{
             {"127.0.0.1:7400", "http://127.0.0.1:7400", true},
             {"LocalHost:7400", "http://localhost:7400", true},
             {"leases.example", "https://leases.example", true},
             {"leases.example", "http://box", false},
             {"127.0.0.1:7400", "http://127.0.0.1:8080", false},
             {"127.0.0.1:7400", "http://evil.example", false},
             {"evil.example", "http://evil.example", false},
             {"127.0.0.1:7400", "http://127.0.0.1:7400.evil.example", false},
             {"127.0.0.1:7400", "http://a@127.0.0.1:7400", false},
             {"127.0.0.1:7400", "null", false},
             {"127.0.0.1:7400", "", false},
         }) {
        Request request = called(one.host);
        request.has_origin = true;
        request.origin = one.origin;
        EXPECT_EQ(is_answered(request), one.answered) << one.host << " from " << one.origin;
    }
}

TEST(Origin, of_another_site_is_refused_by_what_the_browser_says) {
    for (const auto& [site, answered] : std::initializer_list<std::pair<const char*, bool>>{
             {"same-origin", true}, {"none", true}, {"cross-site", false}, {"same-site", false}, {"", false}}) {
        Request request = called("localhost");
        request.has_fetch_site = true;
        request.fetch_site = site;
        EXPECT_EQ(is_answered(request), answered) << site;
    }
}

TEST(Origin, is_checked_on_every_route_and_wherever_the_server_listens) {
    for (const char* address : {"127.0.0.1:0", "0.0.0.0:0"}) {
        DoorSetting setting;
        setting.options.address = address;
        TestDoor door(setting);
        TestClient client = door.connect();
        std::size_t asked = 0;
        for (const Route& route : routes()) {
            const std::string begin = std::string(route.method) + " " + std::string(route.pattern) + " HTTP/1.1\r\n";
            for (const char* fields : {"Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", "Host: evil.example\r\n",
                                       "Host: localhost\r\nOrigin: http://evil.example\r\n"}) {
                client.send(begin + fields + "\r\n");
                ASSERT_EQ(client.read().code(), "origin_refused") << begin << fields << address;
                ++asked;
            }
        }
        EXPECT_GT(asked, 100U);
    }
}

TEST(Origin, that_is_told_twice_or_not_at_all_is_a_bad_request) {
    TestDoor door;
    for (const char* fields : {"", "Host: localhost\r\nHost: localhost\r\n",
                               "Host: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n",
                               "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://localhost\r\n"}) {
        TestClient client = door.connect();
        client.send(std::string("GET /health HTTP/1.1\r\n") + fields + "\r\n");
        EXPECT_EQ(client.read().code(), "bad_request") << fields;
    }
}

}  // namespace
}  // namespace holdfast::doors::http
