#include "keys/drone/messages.h"

#include "base/text.h"
#include "client/messages.h"
#include "keys/protocol_json.h"

namespace holdfast::keys::drone {
namespace {

client::HttpRequest post(std::string target, std::string body) {
    return {.method = "POST", .target = std::move(target), .body = std::move(body), .repeatable = true};
}

std::string target_of(const std::string& drone, const char* what) {
    return "/v1/drones/" + percent_encode(drone) + "/" + what;
}

template <class Answer>
Result<Answer> read(const client::HttpResponse& response, Result<Answer> (*from)(const JsonValue& body)) {
    if (response.status != 200) return client::read_error(response);
    const auto body = read_json_object(response.body, answer_limits);
    auto answer = body ? from(*body) : Result<Answer>(body.error());
    if (!answer) return Error{Code::bad_answer, "the controller's answer makes no sense: " + answer.error().message};
    return answer;
}

}  // namespace

client::HttpRequest heartbeat_request(const Heartbeat& heartbeat) {
    return post(target_of(heartbeat.drone, "heartbeat"), to_json(heartbeat));
}

client::HttpRequest orders_request(const OrdersRequest& request) {
    return post(target_of(request.drone, "orders"), to_json(request));
}

client::HttpRequest renew_request(const std::string& drone, const RenewAsk& ask) {
    std::string body;
    JsonWriter json(body);
    json.open_object().field("holder", drone).key("leases").open_array();
    for (const std::string& lease : ask.leases)
        json.text(lease);
    json.close_array().field("client_time_ms", clock_ms(ask.clock)).close_object();
    return post("/v1/heartbeat", std::move(body));
}

Result<HeartbeatAnswer> read_heartbeat(const client::HttpResponse& response) {
    return read(response, heartbeat_answer_from);
}

Result<OrdersAnswer> read_orders(const client::HttpResponse& response) {
    return read(response, orders_answer_from);
}

Result<std::vector<client::RenewReply>> read_renewal(const RenewAsk& ask, const client::HttpResponse& response) {
    client::NamedLeases named;
    for (const std::string& lease : ask.leases)
        named.leases.push_back({.id = lease});
    return client::read_renew(named, response);
}

}  // namespace holdfast::keys::drone
