#include "dialect.h"

#include <charconv>
#include <vector>

#include "codec/resp/resp_command.h"
#include "codec/resp/resp_value.h"

namespace holdfast::bench {
namespace {

using Kind = Dialect::Answer::Kind;

/// Nothing if the reply is not an error, and of several replies if none is.
const codec::resp::Value* error_in(const codec::resp::Value& reply) {
    if (reply.is_error()) return &reply;
    for (const codec::resp::Value& item : reply.items)
        if (item.is_error()) return &item;
    return nullptr;
}

class RespDialect final : public Dialect {
 public:
    explicit RespDialect(std::uint32_t ttl_ms) : ttl_(std::to_string(ttl_ms)) {}

    void ask(std::string& out, Step step, std::span<const Lock> locks) override {
        reader_ = {};
        const Lock& lock = locks.front();
        if (step == Step::acquire)
            return codec::resp::write_command(out, {"LEASE.ACQUIRE", lock.name, lock.holder, ttl_});
        std::vector<std::string> tokens;
        for (const Lock& each : locks)
            tokens.push_back(std::to_string(each.token));
        std::vector<std::string_view> words{step == Step::renew ? "LEASE.RENEW" : "LEASE.RELEASE", lock.name, tokens[0],
                                            lock.holder};
        if (locks.size() > 1) words.push_back("ALSO");
        for (std::size_t i = 1; i < locks.size(); ++i)
            words.insert(words.end(), {locks[i].name, tokens[i]});
        codec::resp::write_command(out, words);
    }

    Answer read(std::string_view input, Step step) override {
        const auto outcome = reader_.read(input);
        if (outcome == codec::resp::ValueReader::Outcome::more) return {};
        if (outcome == codec::resp::ValueReader::Outcome::malformed) return {Kind::bad, 0, "a reply is malformed"};
        const codec::resp::Value& reply = reader_.value();
        if (const codec::resp::Value* error = error_in(reply)) return {Kind::bad, 0, error->text};
        if (step != Step::acquire) return {Kind::good, 0, {}};
        for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
            if (reply.items[i].text == "token")
                return {Kind::good, static_cast<std::uint64_t>(reply.items[i + 1].number), {}};
        return {Kind::bad, 0, "there is no token in the reply"};
    }

 private:
    std::string ttl_;
    codec::resp::ValueReader reader_;
};

class RedisDialect final : public Dialect {
 public:
    RedisDialect(RedisScripts scripts, std::uint32_t ttl_ms)
        : scripts_(std::move(scripts)), ttl_(std::to_string(ttl_ms)) {}

    void ask(std::string& out, Step step, std::span<const Lock> locks) override {
        reader_ = {};
        used_ = 0;
        missing_ = locks.size();
        for (const Lock& lock : locks)
            if (step == Step::acquire)
                codec::resp::write_command(out, {"SET", lock.name, lock.holder, "NX", "PX", ttl_});
            else if (step == Step::renew)
                codec::resp::write_command(out, {"EVALSHA", scripts_.renew, "1", lock.name, lock.holder, ttl_});
            else
                codec::resp::write_command(out, {"EVALSHA", scripts_.release, "1", lock.name, lock.holder});
    }

    Answer read(std::string_view input, Step step) override {
        while (missing_ > 0) {
            const auto outcome = reader_.read(input.substr(used_));
            if (outcome == codec::resp::ValueReader::Outcome::more) return {};
            if (outcome == codec::resp::ValueReader::Outcome::malformed) return {Kind::bad, 0, "a reply is malformed"};
            const codec::resp::Value& reply = reader_.value();
            if (reply.is_error()) return {Kind::bad, 0, reply.text};
            if (step == Step::acquire ? reply.text != "OK" : reply.number != 1) return {Kind::bad, 0, missed(step)};
            used_ += reader_.size();
            --missing_;
        }
        return {Kind::good, 1, {}};
    }

 private:
    static std::string missed(Step step) {
        return step == Step::acquire ? "the lock is taken" : "LEASE_GONE: the key is not the holder's";
    }

    RedisScripts scripts_;
    std::string ttl_;
    codec::resp::ValueReader reader_;
    std::size_t used_ = 0;
    std::size_t missing_ = 0;  ///< replies
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

    void ask(std::string& out, Step step, std::span<const Lock> locks) override {
        const Lock& lock = locks.front();
        const std::string lease = "/v1/leases/" + lock.name + "%23" + std::to_string(lock.token);
        const std::string holder = "{\"holder\":\"" + lock.holder + "\"";
        if (locks.size() > 1)
            request(out, "POST /v1/heartbeat", holder + ",\"leases\":[" + list_of(locks) + "]}");
        else if (step == Step::acquire)
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
        if (status / 100 != 2 || number_after(body, "\"rejected\":") != 0) return {Kind::bad, 0, std::string(input)};
        const std::uint64_t token = number_after(body, "\"token\":");
        if (step == Step::acquire && token == 0) return {Kind::bad, 0, "there is no token in the answer"};
        return {Kind::good, token, {}};
    }

 private:
    static std::string list_of(std::span<const Lock> locks) {
        std::string list;
        for (const Lock& lock : locks)
            list += (list.empty() ? "\"" : ",\"") + lock.name + "#" + std::to_string(lock.token) + "\"";
        return list;
    }

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

std::unique_ptr<Dialect> redis_dialect(RedisScripts scripts, std::uint32_t ttl_ms) {
    return std::make_unique<RedisDialect>(std::move(scripts), ttl_ms);
}

}  // namespace holdfast::bench
