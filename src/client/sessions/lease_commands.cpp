#include "client/sessions/lease_commands.h"

#include <algorithm>

#include "base/text.h"
#include "codec/resp/resp_command.h"

namespace holdfast::client::sessions {

namespace {

/// Higher uptimes are clamped to this, so that the value always fits a Duration.
constexpr std::uint64_t max_uptime_s = 30 * 24 * 3600;

std::string key_of(std::string_view prefix, std::string_view name) {
    std::string key;
    key.reserve(prefix.size() + name.size());
    return key.append(prefix).append(name);
}

/// The value of a line `name:value` of INFO.
std::optional<std::string_view> info_field(std::string_view info, std::string_view name) {
    for (std::size_t at = info.find(name); at != std::string_view::npos; at = info.find(name, at + 1)) {
        const bool begins = at == 0 || info[at - 1] == '\n';
        const std::string_view rest = info.substr(at + name.size());
        if (begins && rest.starts_with(':')) return rest.substr(1, rest.find('\r') - 1);
    }
    return std::nullopt;
}

LeaseAnswer::Kind yes_if(bool yes) {
    return yes ? LeaseAnswer::Kind::yes : LeaseAnswer::Kind::no;
}

}  // namespace

/// The heartbeat uses `EX` with whole seconds, as other programs do; only a fraction of a second, for tests, needs
/// `PX`.
LeaseCommands::LeaseCommands(std::string instance, Duration lease_ttl, Duration node_ttl)
    : instance_(std::move(instance)),
      lease_ttl_ms_(std::to_string(to_ms(lease_ttl))),
      node_ttl_in_seconds_(node_ttl % 1s == 0s) {
    node_ttl_ = std::to_string(node_ttl_in_seconds_ ? to_ms(node_ttl) / 1000 : to_ms(node_ttl));
}

void LeaseCommands::write(std::string& out, const LeaseRequest& request) const {
    write(out, request, false);
}

void LeaseCommands::write_in_full(std::string& out, const LeaseRequest& request) const {
    write(out, request, true);
}

void LeaseCommands::write(std::string& out, const LeaseRequest& request, bool in_full) const {
    const std::string key = key_of(lease_key_prefix, request.session);
    const std::string_view eval = in_full ? "EVAL" : "EVALSHA";
    switch (request.ask) {
        case Ask::acquire:
            return codec::resp::write_command(out, {"SET", key, instance_, "NX", "PX", lease_ttl_ms_});
        case Ask::renew:
            return codec::resp::write_command(
                out, {eval, in_full ? renew_script : renew_script_sha, "1", key, instance_, lease_ttl_ms_});
        case Ask::release:
            return codec::resp::write_command(
                out, {eval, in_full ? release_script : release_script_sha, "1", key, instance_});
        case Ask::read:
            return codec::resp::write_command(out, {"GET", key});
    }
}

LeaseAnswer LeaseCommands::read(const LeaseRequest& request, const codec::resp::Value& value) {
    using Type = codec::resp::Value::Type;
    switch (request.ask) {
        case Ask::acquire:
            if (value.type == Type::null || (value.is_text() && value.text == "OK"))
                return {yes_if(value.type != Type::null)};
            break;
        case Ask::renew:
        case Ask::release:
            if (value.type == Type::integer) return {yes_if(value.number == 1)};
            break;
        case Ask::read:
            if (value.type == Type::null) return {LeaseAnswer::Kind::owner};
            if (value.is_text()) return {LeaseAnswer::Kind::owner, value.text};
            break;
    }
    return {};
}

std::optional<Duration> LeaseCommands::read_memory_age(const codec::resp::Value& info) {
    if (!info.is_text()) return Duration{0};
    if (info_field(info.text, "holdfast_version")) return std::nullopt;
    const auto uptime = parse_number(info_field(info.text, "uptime_in_seconds").value_or(""));
    // The uptime is the difference of two truncated readings, so it may be a second too high.
    if (!uptime || *uptime < 2) return Duration{0};
    return std::chrono::seconds{std::min<std::uint64_t>(*uptime - 1, max_uptime_s)};
}

void LeaseCommands::write_heartbeat(std::string& out) const {
    codec::resp::write_command(
        out, {"SET", key_of(node_key_prefix, instance_), "1", node_ttl_in_seconds_ ? "EX" : "PX", node_ttl_});
}

void LeaseCommands::write_farewell(std::string& out) const {
    codec::resp::write_command(out, {"DEL", key_of(node_key_prefix, instance_)});
}

void LeaseCommands::write_scan(std::string& out, std::string_view cursor) {
    codec::resp::write_command(out, {"SCAN", cursor, "MATCH", key_of(node_key_prefix, "*"), "COUNT", "1000"});
}

void LeaseCommands::write_node_ttl(std::string& out, std::string_view instance) {
    codec::resp::write_command(out, {"PTTL", key_of(node_key_prefix, instance)});
}

}  // namespace holdfast::client::sessions
