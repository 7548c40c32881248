#include "keys/drone/probe.h"

#include "client/http_connection.h"
#include "client/http_link.h"
#include "keys/drone/messages.h"

namespace holdfast::drone {
namespace {

constexpr Duration max_connect = 1s;
constexpr Duration max_answer = 3s;

}  // namespace

bool answers(const std::string& host, std::uint16_t port, const Readiness& ready) {
    const auto server = parse_server("http://" + address_of(host, port));
    if (!server) return false;
    HttpLink link;
    link.aim(*server);
    if (!link.connect(max_connect)) return false;
    if (ready.by == Readiness::By::tcp) return true;
    const auto answer = link.send({.method = "GET", .target = ready.path}, max_answer);
    return answer && answer->status >= 200 && answer->status < 400;
}

}  // namespace holdfast::drone
