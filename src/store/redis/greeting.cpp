#include "store/redis/greeting.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <span>

#include "base/text.h"
#include "codec/resp/resp_command.h"
#include "store/redis/link.h"

namespace holdfast::store::redis {
namespace {

using Type = codec::resp::Value::Type;

constexpr std::uint64_t min_version = 7;

std::string why_not(std::string_view info) {
    const auto version = info_field(info, "redis_version");
    const auto major = parse_number(version.substr(0, version.find('.')));
    if (!major || *major < min_version) return fmt::format("it is Redis {}, and 7 is needed", quoted(version));
    if (info_field(info, "loading") == "1") return "it is still loading";
    if (info_field(info, "role") != "master" && info_field(info, "cluster_enabled") != "1") return "it is a replica";
    if (const std::string why = why_evicting(info); !why.empty()) return why;
    if (info_field(info, "run_id").empty()) return "it does not say its run_id";
    if (info_field(info, "master_replid").empty()) return "it does not say its master_replid";
    return {};
}

}  // namespace

std::string_view info_field(std::string_view info, std::string_view name) {
    while (!info.empty()) {
        const auto end = std::min(info.find("\r\n"), info.size());
        const auto line = info.substr(0, end);
        if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) return line.substr(name.size() + 1);
        info.remove_prefix(std::min(end + 2, info.size()));
    }
    return {};
}

std::string why_evicting(std::string_view info) {
    const auto policy = info_field(info, "maxmemory_policy");
    if (info_field(info, "maxmemory") == "0" || policy == "noeviction") return {};
    return fmt::format(
        "it may throw leases away when its memory is full; set its maxmemory-policy, which is {}, to "
        "noeviction",
        quoted(policy));
}

std::uint64_t evicted_keys(std::string_view info) {
    return parse_number(info_field(info, "evicted_keys")).value_or(0);
}

std::string quoted(std::string_view text) {
    constexpr std::size_t max_bytes = 200;
    std::string out(text.substr(0, max_bytes));
    std::ranges::replace_if(
        out, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    return text.size() > max_bytes ? out + "…" : out;
}

std::string key_of(std::string_view sent, std::size_t index) {
    codec::resp::CommandReader reader;
    if (reader.read(sent) != codec::resp::CommandReader::Outcome::command) return {};
    const auto words = reader.words();
    if (words.size() > 3 + index && words[0].starts_with("EVAL")) return std::string(words[3 + index]);
    return words.size() > 1 ? std::string(words[1]) : "";
}

std::vector<std::string> credentials(const codec::resp::RedisAddress& address) {
    if (address.password.empty()) return {};
    if (address.user.empty()) return {codec::resp::command_of({"AUTH", address.password})};
    return {codec::resp::command_of({"AUTH", address.user, address.password})};
}

std::vector<std::string> Greeting::commands(const codec::resp::RedisAddress& address) {
    auto out = credentials(address);
    if (address.database != 0) out.push_back(codec::resp::command_of({"SELECT", std::to_string(address.database)}));
    out.push_back(codec::resp::command_of({"CLIENT", "ID"}));
    out.push_back(codec::resp::command_of({"INFO"}));
    out.push_back(codec::resp::command_of({"CLUSTER", "MYID"}));
    out.push_back(codec::resp::command_of({"TIME"}));
    for (std::size_t i = 1; i < script_count; ++i)
        out.push_back(codec::resp::command_of({"SCRIPT", "LOAD", text_of(static_cast<Script>(i))}));
    return out;
}

Result<Facts> Greeting::read(const codec::resp::RedisAddress& address, const std::vector<codec::resp::Value>& answers) {
    const auto refuse = [&](const std::string& why) {
        return unavailable(fmt::format("{} cannot be used: {}", address.shown(), why));
    };
    std::span<const codec::resp::Value> left = answers;
    for (std::size_t needed = (address.password.empty() ? 0 : 1) + (address.database != 0 ? 1 : 0); needed > 0;
         --needed) {
        if (left.front().is_error()) return refuse(quoted(left.front().text));
        left = left.subspan(1);
    }
    const codec::resp::Value& client = left[0];
    const codec::resp::Value& info = left[1];
    const codec::resp::Value& node = left[2];
    const codec::resp::Value& time = left[3];
    if (!info.is_text()) return refuse(info.is_error() ? quoted(info.text) : "it does not answer INFO");
    if (const std::string why = why_not(info.text); !why.empty()) return refuse(why);
    Facts facts;
    facts.run_id = info_field(info.text, "run_id");
    facts.replication_id = info_field(info.text, "master_replid");
    facts.evicted = evicted_keys(info.text);
    facts.version = quoted(info_field(info.text, "redis_version"));
    facts.in_cluster = info_field(info.text, "cluster_enabled") == "1";
    facts.is_master = info_field(info.text, "role") == "master";
    facts.client_id = client.type == Type::integer ? client.number : 0;
    if (node.is_text()) facts.node_id = node.text;
    if (time.is_error()) return refuse(quoted(time.text));
    const auto said = time.items.size() == 2 ? read_time(time.items[0].text, time.items[1].text) : std::nullopt;
    if (!said) return refuse("malformed reply to TIME");
    facts.time = *said;
    for (std::size_t i = 1; i < script_count; ++i) {
        const codec::resp::Value& name = left[3 + i];
        if (!name.is_text() || name.text.size() != 40)
            return refuse(name.is_error() ? quoted(name.text) : "it does not take scripts");
        facts.scripts[i] = name.text;
    }
    return facts;
}

}  // namespace holdfast::store::redis
