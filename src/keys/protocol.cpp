#include "keys/protocol.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"
#include "lease/manifest.h"
#include "lease/owner.h"
#include "lease/resource.h"

namespace holdfast::keys {
namespace {

constexpr std::array<std::string_view, backend_state_count> states{
    "scheduled", "loading", "starting", "waiting", "ready", "terminating", "hard_terminating", "terminated"};
constexpr std::array<std::string_view, 8> reasons{"exited",          "terminated", "key_lost", "drone_lost",
                                                  "start_timed_out", "idle",       "lifetime", "internal"};

template <class Value, std::size_t size>
std::optional<Value> find(const std::array<std::string_view, size>& names, std::string_view text) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end()) return std::nullopt;
    return static_cast<Value>(found - names.begin());
}

}  // namespace

Result<Key> checked_key(Key key) {
    if (key.name_space.empty()) key.name_space = lease::default_namespace;
    if (auto checked = lease::check_namespace(key.name_space); !checked) return checked.error();
    if (key.name_space.starts_with('~'))
        return Error{Code::reserved_namespace, "no key is in a namespace that begins with '~'"};
    if (lease::is_redis_namespace(key.name_space))
        return Error{Code::reserved_namespace,
                     "the namespaces redis and redis-N hold the keys of Redis clients; choose another for this key"};
    if (auto checked = check_text({"key.tag", key.tag}, limits::key_tag_bytes); !checked) return checked.error();
    if (auto checked = check_text({"key.name", key.name}, limits::key_name_bytes); !checked) return checked.error();
    auto resource = lease::normalised(std::string(key_prefix) + key.name);
    if (!resource) return resource.error();
    key.name = resource->substr(key_prefix.size());
    if (key.name.empty()) return Error{Code::invalid_argument, "key.name must not be empty"};
    return key;
}

std::string resource_of(const Key& key) {
    return lease::full_name(key.name_space, std::string(key_prefix) + key.name);
}

std::optional<Key> key_of(std::string_view full_name) {
    const lease::SplitName split = lease::split_name(full_name);
    if (!split.resource.starts_with(key_prefix)) return std::nullopt;
    return Key{std::string(split.name_space), std::string(split.resource.substr(key_prefix.size())), {}};
}

std::string lease_of(const Key& key, lease::Token token) {
    return fmt::format("{}#{}", resource_of(key), token);
}

bool is_plain_name(std::string_view text, std::size_t max_bytes) {
    static constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return !text.empty() && text.size() <= max_bytes && text.front() != '.' &&
           text.find_first_not_of(allowed) == std::string_view::npos;
}

std::string address_of(const std::string& host, std::uint16_t port) {
    const bool six = host.find(':') != std::string::npos && host.front() != '[';
    return fmt::format("{}:{}", six ? "[" + host + "]" : host, port);
}

std::string_view to_string(BackendState state) {
    return states[static_cast<std::size_t>(state)];
}

std::optional<BackendState> parse_backend_state(std::string_view text) {
    return find<BackendState>(states, text);
}

std::string_view to_string(EndReason reason) {
    return reasons[static_cast<std::size_t>(reason)];
}

std::optional<EndReason> parse_end_reason(std::string_view text) {
    return find<EndReason>(reasons, text);
}

std::string_view to_string(Severity severity) {
    return severity == Severity::hard ? "hard" : "soft";
}

std::size_t Spawn::bytes() const {
    std::size_t sum = command.size() + cwd.value_or("").size() + ready.path.size() + 256;
    for (const std::string& argument : args)
        sum += argument.size() + 4;
    for (const auto& [name, value] : env)
        sum += name.size() + value.size() + 8;
    return sum;
}

}  // namespace holdfast::keys
