#include "dialect.h"

#include <charconv>

#include "wire/resp_command.h"
#include "wire/resp_value.h"

namespace holdfast::bench {
namespace {

using Kind = Dialect::Answer::Kind;

class RespDialect final : public Dialect {
 public:
    explicit RespDialect(std::uint32_t ttl_ms) : ttl_(std::to_string(ttl_ms)) {}

    void ask(std::string& out, Step step, const Lock& lock) override {
        reader_ = {};
        if (step == Step::acquire) return resp::write_command(out, {"LEASE.ACQUIRE", lock.name, lock.holder, ttl_});
        const std::string token = std::to_string(lock.token);
        const std::string_view verb = step == Step::renew ? "LEASE.RENEW" : "LEASE.RELEASE";
        resp::write_command(out, {verb, lock.name, token, lock.holder});
    }

    Answer read(std::string_view input, Step step) override {
        const auto outcome = reader_.read(input);
        if (outcome == resp::ValueReader::Outcome::more) return {};
        if (outcome == resp::ValueReader::Outcome::malformed) return {Kind::bad, 0, "a reply is malformed"};
        const resp::Value& reply = reader_.value();
        if (reply.is_error()) return {Kind::bad, 0, reply.text};
        if (step != Step::acquire) return {Kind::good, 0, {}};
        for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
            if (reply.items[i].text == "token")
                return {Kind::good, static_cast<std::uint64_t>(reply.items[i + 1].number), {}};
        return {Kind::bad, 0, "there is no token in the reply"};
    }

 private:
    std::string ttl_;
    resp::ValueReader reader_;
};

/// What follows `label`, as a number.
std::uint64_t number_after(std::string_view text, std::string_view label) {
    const std::size_t at = text.find(label);
    if (at == std::string_view::npos) return 0;
    const std::size_t begin = text.find_first_not_of(' ', at + label.size());
    std::uint64_t number = 0;
    if (begin != std::string_view::npos) std::from_chars(text.data() + begin, text.data() + text.size(), number);
    return number;
}

class HttpDialect final : public Dialect {
 public:
    explicit HttpDialect(std::uint32_t ttl_ms) : ttl_(std::to_string(ttl_ms)) {}

    void ask(std::string& out, Step step, const Lock& lock) override {
        const std::string lease = "/v1/leases/" + lock.name + "%23" + std::to_string(lock.token);
        const std::string holder = "{\"holder\":\"" + lock.holder + "\"";
        if (step == Step::acquire)
            request(out, "POST /v1/leases", holder + ",\"resource\":\"" + lock.name + "\",\"ttl_ms\":" + ttl_ + "}");
        else if (step == Step::renew)
            request(out, "POST " + lease + "/heartbeat", holder + "}");
        else
            request(out, "DELETE " + lease + "?holder=" + lock.holder, "");
    }

    Answer read(std::string_view input, Step step) override {
        const std::size_t head_end = input.find("\r\n\r\n");
        if (head_end == std::string_view::npos) return {};
        const std::string_view head = input.substr(0, head_end);
        const std::string_view body = input.substr(head_end + 4);
        if (body.size() < number_after(head, "Content-Length:")) return {};
        const std::uint64_t status = number_after(head, "HTTP/1.1");
        if (status / 100 != 2) return {Kind::bad, 0, std::string(input)};
        const std::uint64_t token = number_after(body, "\"token\":");
        if (step == Step::acquire && token == 0) return {Kind::bad, 0, "there is no token in the answer"};
        return {Kind::good, token, {}};
    }

 private:
    static void request(std::string& out, const std::string& line, const std::string& body) {
        out += line + " HTTP/1.1\r\nHost: localhost\r\n";
        if (!body.empty()) out += "Content-Type: application/json\r\n";
        out += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }

    std::string ttl_;
};

}  // namespace

std::unique_ptr<Dialect> resp_dialect(std::uint32_t ttl_ms) {
    return std::make_unique<RespDialect>(ttl_ms);
}

std::unique_ptr<Dialect> http_dialect(std::uint32_t ttl_ms) {
    return std::make_unique<HttpDialect>(ttl_ms);
}

}  // namespace holdfast::bench
