#include <algorithm>
#include <optional>

#include "base/text.h"
#include "store/redis/redis_engine.h"

namespace holdfast::store::redis {
namespace {

constexpr std::size_t max_prefix_bytes = 64;
constexpr std::uint64_t max_replicas = 100;
constexpr std::uint64_t max_wait_ms = 60'000;

Error wrong(std::string what) {
    return {Code::invalid_argument, "this is no address of a Redis store: " + std::move(what) +
                                        "; write redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]"
                                        "[?prefix=holdfast&wait=1&wait_ms=500&cluster=1]"};
}

/// Allows no character that ends a word or has a meaning in a pattern or a hash tag.
bool is_prefix(std::string_view text) {
    constexpr std::string_view allowed = "-_.:";
    return !text.empty() && text.size() <= max_prefix_bytes && std::ranges::all_of(text, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               allowed.find(c) != allowed.npos;
    });
}

Result<void> read_parameter(std::string_view name, std::string_view value, RedisEngineOptions& options) {
    if (name == "prefix") {
        if (!is_prefix(value)) return wrong("a prefix is 1 to 64 letters, digits, '-', '_', '.' and ':'");
        options.prefix = std::string(value);
        return {};
    }
    const auto number = parse_number(value);
    if (name == "wait") {
        if (!number || *number > max_replicas) return wrong("wait is a number of replicas, up to 100");
        options.wait = static_cast<unsigned>(*number);
    } else if (name == "wait_ms") {
        if (!number || *number == 0 || *number > max_wait_ms) return wrong("wait_ms is in 1 to 60000");
        options.wait_within = std::chrono::milliseconds(*number);
    } else if (name == "cluster") {
        if (!number || *number > 1) return wrong("cluster is 0 or 1");
        options.cluster = *number == 1;
    } else {
        return wrong("it has no parameter '" + std::string(name) + "'");
    }
    return {};
}

Result<void> read_parameters(std::string_view text, RedisEngineOptions& options) {
    while (!text.empty()) {
        const auto end = std::min(text.find('&'), text.size());
        const auto equals = std::min(text.substr(0, end).find('='), end);
        if (equals == end) return wrong("a parameter has no value");
        const auto value = percent_decode(text.substr(equals + 1, end - equals - 1));
        if (!value) return wrong("an escape in a parameter is malformed");
        if (auto read = read_parameter(text.substr(0, equals), *value, options); !read) return read;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return {};
}

}  // namespace

Result<RedisEngineOptions> parse_redis_engine(std::string_view url) {
    const auto at = url.rfind('@');
    const auto question = url.find('?', at == std::string_view::npos ? 0 : at);
    auto address = codec::resp::parse_redis(url.substr(0, question));
    if (!address) return wrong(address.error().message);
    RedisEngineOptions options;
    options.address = std::move(*address);
    if (question == std::string_view::npos) return options;
    if (const auto read = read_parameters(url.substr(question + 1), options); !read) return read.error();
    if (options.cluster && options.address.database != 0) return wrong("a cluster has only database 0");
    return options;
}

}  // namespace holdfast::store::redis
