#include "doors/http/routes.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "base/code.h"
#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {
namespace {

std::string source_file(const std::string& name) {
    const char* source = std::getenv("HOLDFAST_SOURCE");
    std::ifstream file((source != nullptr ? std::string(source) + "/" : std::string()) + name);
    EXPECT_TRUE(file) << name << ": run this test by ctest, or from the top of the source tree";
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::set<std::string> routes_in_table() {
    std::set<std::string> lines;
    for (const Route& route : routes())
        lines.insert(std::string(route.method) + " " + std::string(route.pattern) + " " + std::string(route.operation));
    return lines;
}

std::set<std::string> routes_in_openapi() {
    std::set<std::string> lines;
    const boost::json::value document = boost::json::parse(source_file("docs/openapi.json"));
    for (const auto& path : document.at("paths").as_object())
        for (const auto& operation : path.value().as_object()) {
            std::string method(operation.key());
            std::transform(method.begin(), method.end(), method.begin(),
                           [](char c) { return static_cast<char>(std::toupper(c)); });
            lines.insert(method + " " + std::string(path.key()) + " " +
                         std::string(operation.value().at("operationId").as_string()));
        }
    return lines;
}

TEST(Routes, are_the_ones_that_openapi_describes) {
    EXPECT_EQ(routes_in_table(), routes_in_openapi());
    EXPECT_EQ(routes_in_table().size(), routes().size()) << "no route stands twice";
}

TEST(Routes, serve_openapi_as_it_stands_in_the_docs) {
    EXPECT_EQ(openapi_json(), source_file("docs/openapi.json"));
    TestDoor door;
    TestClient client = door.connect();
    const Answer answer = client.ask("GET", "/openapi.json");
    EXPECT_EQ(answer.body, openapi_json());
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
}

TEST(Routes, are_all_described_in_the_docs) {
    const std::string docs = source_file("docs/http-api.md");
    for (const Route& route : routes())
        EXPECT_NE(docs.find(route.pattern), std::string::npos) << route.method << " " << route.pattern;
}

TEST(Routes, answer_with_the_status_that_the_docs_list_for_each_code) {
    const std::string docs = source_file("docs/http-api.md");
    const std::string table = docs.substr(docs.find("## Codes"));
    for (std::size_t i = 0; i < answer_code_count; ++i) {
        const auto code = static_cast<Code>(i);
        std::istringstream lines(table);
        bool listed = false;
        for (std::string line; std::getline(lines, line);) {
            const std::string name = "`" + std::string(name_of(code)) + "`";
            const std::size_t at = line.substr(0, line.find('|', 1)).find(name);
            if (at == std::string::npos) continue;
            // A line may list several codes, and then as many statuses, or one for all.
            const auto before =
                static_cast<std::size_t>(std::count(line.begin(), line.begin() + static_cast<long>(at), ','));
            std::istringstream statuses(line.substr(line.find('|', 1) + 1));
            std::string status;
            std::getline(statuses, status, '|');
            std::istringstream each(status);
            std::vector<int> numbers;
            for (std::string number; std::getline(each, number, ',');)
                numbers.push_back(std::stoi(number));
            EXPECT_EQ(numbers.size() == 1 ? numbers[0] : numbers.at(before), status_of(code)) << name;
            listed = true;
        }
        EXPECT_TRUE(listed) << name_of(code) << " is not in docs/http-api.md";
    }
}

TEST(Routes, find_the_verb_behind_a_name_with_slashes) {
    const auto expect = [](std::string_view path, std::string_view pattern, std::string_view parameter) {
        for (const char* method : {"GET", "POST", "DELETE", "PUT"}) {
            const Match match = find_route(method, path);
            if (match.route == nullptr) continue;
            EXPECT_EQ(match.route->pattern, pattern) << path;
            EXPECT_EQ(match.parameter, parameter) << path;
            return;
        }
        EXPECT_EQ(pattern, "") << path;
    };
    expect("/v1/leases/a%231", "/v1/leases/{id}", "a#1");
    expect("/v1/leases/a%231/heartbeat", "/v1/leases/{id}/heartbeat", "a#1");
    expect("/v1/leases/a/b%231/bar", "/v1/leases/{id}/bar", "a/b#1");
    expect("/v1/leases/a%231/heartbeat%232", "/v1/leases/{id}", "a#1/heartbeat#2");
    expect("/v1/leases/a%231/heartbeat%232/revoke", "/v1/leases/{id}/revoke", "a#1/heartbeat#2");
    expect("/v1/leases/heartbeat", "/v1/leases/{id}", "heartbeat");
    expect("/v1/leases/a/heartbeat", "/v1/leases/{id}", "a/heartbeat");
    expect("/v1/leases/a%231/unknown", "", "");
    expect("/v1/bans/a/b", "/v1/bans/{holder}", "a/b");
    expect("/v1/bans/a%zz", "", "");
    expect("/v1/agents/a/b", "/v1/agents/{id}", "a/b");
    expect("/v1/agents/a/restarting", "/v1/agents/{id}/restarting", "a");
    expect("/v1/agents/a%2Frestarting", "/v1/agents/{id}", "a/restarting");
    expect("/v1/agents/restarting", "/v1/agents/{id}", "restarting");
    expect("/v1/agents//restarting", "", "");
    expect("/v1/keys/default/a/b/bar", "/v1/keys/{key}/bar", "default/a/b");
    expect("/v1/keys/bar/bar", "/v1/keys/{key}/bar", "bar");
    expect("/v1/keys/a", "", "");
    expect("/v1/backends/b-1/status", "/v1/backends/{id}/status", "b-1");
    expect("/v1/backends/status", "/v1/backends/{id}", "status");
    expect("/v1/drones/d1/orders", "/v1/drones/{id}/orders", "d1");
    expect("/v1/drones/d1/nothing", "/v1/drones/{id}", "d1/nothing");
}

}  // namespace
}  // namespace holdfast::doors::http
