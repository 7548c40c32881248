#pragma once

#include <string>
#include <utility>

#include "base/encodings.h"
#include "discovery/identity/identity.h"
#include "doors/http/door_fixture.h"

namespace holdfast::doors::http {

/// A publisher that signs over HTTP, as docs/discovery.md says.
class HttpPublisher {
 public:
    explicit HttpPublisher(TestClient client) : client_(std::move(client)) {}

    const std::string& id() const { return identity_.id(); }
    const discovery::identity::Identity& identity() const { return identity_; }

    /// The fields of an update but for what it is signed for, which is asked of the relay.
    std::string body(const std::string& fields) {
        const Answer relay = client_.ask("GET", "/v1/relay");
        const std::string digits = std::to_string(++nonce_);
        const std::string nonce = std::string(16 - digits.size(), '0') + digits;
        return "{" + fields + R"(,"relay":")" + relay.text("/relay") + R"(","time_ms":)" +
               std::to_string(relay.number("/time_ms")) + R"(,"nonce":")" + nonce + "\"}";
    }
    std::string signature(const std::string& body) const {
        return to_base64url(identity_.public_key()) + "." +
               to_base64url(identity_.sign(discovery::identity::update_purpose, body));
    }
    Answer post(const std::string& body, const std::string& signature) {
        client_.send(request_text("POST", "/v1/services", body, "Holdfast-Signature: " + signature + "\r\n"));
        return client_.read();
    }
    Answer say(const std::string& fields) {
        const std::string said = body(fields);
        return post(said, signature(said));
    }
    Answer enter(const std::string& name, const std::string& more = {}) {
        return say(R"("action":"register","name":")" + name + "\"" + more);
    }
    Answer renew(const std::string& name, std::int64_t token) {
        return say(R"("action":"renew","name":")" + name + R"(","token":)" + std::to_string(token));
    }
    Answer leave(const std::string& name, std::int64_t token) {
        return say(R"("action":"unregister","name":")" + name + R"(","token":)" + std::to_string(token));
    }

 private:
    TestClient client_;
    discovery::identity::Identity identity_ = discovery::identity::Identity::generate();
    int nonce_ = 0;
};

}  // namespace holdfast::doors::http
