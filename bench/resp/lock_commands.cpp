#include "lock_commands.h"

#include "codec/resp/resp_command.h"
#include "codec/resp/resp_number.h"

namespace holdfast::bench {
namespace {

/// A text that ends in the number of a lock, written with leading zeros as redis-benchmark's __rand_int__.
class Numbered {
 public:
    explicit Numbered(std::string prefix) : text_(std::move(prefix) + std::string(digits, '0')) {}

    std::string_view of(std::uint32_t lock) {
        for (std::size_t i = text_.size(); lock > 0 || i > text_.size() - digits; lock /= 10)
            text_[--i] = static_cast<char>('0' + lock % 10);
        return text_;
    }

 private:
    static constexpr std::size_t digits = 12;
    std::string text_;
};

class RedisLocks final : public LockCommands {
 public:
    RedisLocks(RedisScripts scripts, std::string one_holder, std::uint32_t ttl_ms)
        : scripts_(std::move(scripts)), one_holder_(std::move(one_holder)), ttl_(std::to_string(ttl_ms)) {}

    void ask(std::string& out, Operation operation, std::uint32_t lock) override {
        const std::string_view name = name_.of(lock);
        const std::string_view holder = one_holder_.empty() ? holder_.of(lock) : one_holder_;
        switch (operation) {
            case Operation::acquire:
                return codec::resp::write_command(out, {"SET", name, holder, "NX", "PX", ttl_});
            case Operation::renew:
                return codec::resp::write_command(out, {"EVALSHA", scripts_.renew, "1", name, holder, ttl_});
            case Operation::release:
                return codec::resp::write_command(out, {"EVALSHA", scripts_.release, "1", name, holder});
        }
    }

    std::string_view good_reply(Operation operation) const override {
        return operation == Operation::acquire ? "+OK\r\n" : ":1\r\n";
    }

    bool understand(Operation, std::uint32_t, const codec::resp::Value&) override {
        return false;  // every other reply than the good one is none
    }

 private:
    RedisScripts scripts_;
    std::string one_holder_;
    std::string ttl_;
    Numbered name_{"lock:"};
    Numbered holder_{"holder-of-"};
};

/// The token in a reply, which has it as a field of a map, or of a flat array of names and values.
std::uint64_t token_in(const codec::resp::Value& reply) {
    for (std::size_t i = 0; i + 1 < reply.items.size(); i += 2)
        if (reply.items[i].text == "token") return static_cast<std::uint64_t>(reply.items[i + 1].number);
    return 0;
}

class LeaseLocks final : public LockCommands {
 public:
    LeaseLocks(std::uint32_t locks, std::uint32_t ttl_ms) : ttl_(std::to_string(ttl_ms)), tokens_(locks) {}

    void ask(std::string& out, Operation operation, std::uint32_t lock) override {
        const std::string_view name = name_.of(lock);
        const std::string_view holder = holder_.of(lock);
        if (operation == Operation::acquire)
            return codec::resp::write_command(out, {"LEASE.ACQUIRE", name, holder, ttl_});
        const std::string token = std::to_string(tokens_[lock]);
        if (operation == Operation::renew)
            codec::resp::write_command(out, {"LEASE.RENEW", name, token, holder});
        else
            codec::resp::write_command(out, {"LEASE.RELEASE", name, token, holder});
    }

    bool understand(Operation operation, std::uint32_t lock, const codec::resp::Value& reply) override {
        if (reply.is_error()) return false;
        if (operation != Operation::acquire) return true;
        tokens_[lock] = token_in(reply);
        return tokens_[lock] != 0;
    }

 private:
    std::string ttl_;
    std::vector<std::uint64_t> tokens_;
    Numbered name_{"lock:"};
    Numbered holder_{"holder-of-"};
};

}  // namespace

std::unique_ptr<LockCommands> redis_locks(RedisScripts scripts, std::string one_holder, std::uint32_t ttl_ms) {
    return std::make_unique<RedisLocks>(std::move(scripts), std::move(one_holder), ttl_ms);
}

std::unique_ptr<LockCommands> lease_locks(std::uint32_t locks, std::uint32_t ttl_ms) {
    return std::make_unique<LeaseLocks>(locks, ttl_ms);
}

}  // namespace holdfast::bench
