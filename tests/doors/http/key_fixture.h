#pragma once

#include <string>

#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {

/// A drone as a client would play it, over HTTP.
inline Answer heartbeat(TestClient& client, const std::string& drone, const std::string& more = {},
                        const std::string& life = "life-1") {
    return client.ask("POST", "/v1/drones/" + drone + "/heartbeat",
                      R"({"life":")" + life + R"(","pool":"default","capacity":10,"draining":false,"clock_ms":5000,)" +
                          R"("address":"10.0.0.7")" + more + "}");
}

inline Answer connect(TestClient& client, const std::string& key, const std::string& more = {}) {
    return client.ask("POST", "/v1/connect",
                      R"({"key":{"name":")" + key + R"("},"spawn":{"command":"room-server"})" + more + "}");
}

inline std::string report(const Answer& connected, const std::string& state, const std::string& more = {}) {
    return R"(,"backends":[{"id":")" + connected.text("/backend_id") + R"(","key":{"namespace":"default","name":")" +
           connected.text("/key/name") + R"(","tag":""},"token":)" + std::to_string(connected.number("/token")) +
           R"(,"state":")" + state + R"(","reason":null,"exit_code":null,"ttl_ms":60000,"holds_for_ms":null)" + more +
           "}]";
}

}  // namespace holdfast::doors::http
