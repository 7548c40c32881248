#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "base/code.h"
#include "base/rendezvous.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/screen.h"
#include "cli/session_file.h"
#include "client/sessions/lease_commands.h"
#include "client/sessions/resp_connection.h"
#include "codec/resp/resp_command.h"

namespace holdfast::cli {
namespace {

using Values = std::vector<codec::resp::Value>;
using Type = codec::resp::Value::Type;

constexpr Duration timeout = 5s;
constexpr std::size_t max_names_per_call = 1'000;
constexpr std::size_t max_names = 1'000'000;
constexpr std::size_t max_scans = 100'000;

/// Keys of one prefix in the store, named without the prefix, with their values and remaining TTLs.
struct Held {
    std::string value;
    std::int64_t left_ms = 0;
};
using Keys = std::map<std::string, Held>;

class Store {
 public:
    explicit Store(const codec::resp::RedisAddress& address) : connection_(address) {}

    Result<std::set<std::string>> scan(std::string_view prefix) {
        std::set<std::string> found;
        std::string cursor{'0'};
        std::size_t pages = 0;
        do {
            if (++pages > max_scans || found.size() > max_names) return too_many_keys();
            client::sessions::RespConnection::Batch batch{.commands = 1};
            codec::resp::write_command(batch.bytes,
                                       {"SCAN", cursor, "MATCH", std::string(prefix) + "*", "COUNT", "1000"});
            const auto values = ask(batch);
            if (!values) return values.error();
            const codec::resp::Value& page = values->front();
            if (page.type != Type::array || page.items.size() != 2) return malformed_reply("SCAN");
            for (const codec::resp::Value& key : page.items[1].items)
                if (key.text.starts_with(prefix)) found.insert(key.text.substr(prefix.size()));
            cursor = page.items[0].text;
        } while (cursor != "0");
        return found;
    }

    /// Free names are not in the result.
    Result<Keys> read(std::string_view prefix, const std::set<std::string>& names) {
        Keys keys;
        for (auto at = names.begin(); at != names.end();) {
            std::vector<std::string> part;
            for (; at != names.end() && part.size() < max_names_per_call; ++at)
                part.push_back(*at);
            client::sessions::RespConnection::Batch batch{.commands = part.size() * 2};
            for (const std::string& name : part) {
                codec::resp::write_command(batch.bytes, {"GET", std::string(prefix) + name});
                codec::resp::write_command(batch.bytes, {"PTTL", std::string(prefix) + name});
            }
            const auto values = ask(batch);
            if (!values) return values.error();
            for (std::size_t i = 0; i < part.size(); ++i)
                if ((*values)[2 * i].is_text()) keys[part[i]] = {(*values)[2 * i].text, (*values)[2 * i + 1].number};
        }
        return keys;
    }

 private:
    Result<Values> ask(const client::sessions::RespConnection::Batch& batch) {
        const auto opened = connection_.open(timeout);
        if (!opened) return opened.error();
        auto values = connection_.exchange(batch, timeout);
        if (!values) return values;
        for (const codec::resp::Value& value : *values)
            if (value.is_error())
                return Error{Code::refused, fmt::format("{} answered: {}", connection_.address().shown(), value.text)};
        return values;
    }

    Error malformed_reply(std::string_view command) const {
        return {Code::refused, fmt::format("{} sent a malformed reply to {}", connection_.address().shown(), command)};
    }

    Error too_many_keys() const {
        return {Code::refused, fmt::format("{} has too many keys to list; name the sessions with --sessions",
                                           connection_.address().shown())};
    }

    client::sessions::RespConnection connection_;
};

/// All data to show.
struct Picture {
    Keys nodes;
    std::set<std::string> live;
    Keys leases;
    std::set<std::string> sessions;
    RendezvousHash hash = RendezvousHash::xxh64;

    std::string owner_of(const std::string& session) const {
        const auto found = leases.find(session);
        return found == leases.end() ? std::string{} : found->second.value;
    }
    std::string preferred_for(const std::string& session) const {
        return std::string(preferred_owner(live, session, hash));
    }
};

Result<Picture> read_picture(Store& store, const OwnOptions& own) {
    Picture picture;
    if (own.hash == "fnv1a") picture.hash = RendezvousHash::fnv1a;
    const auto nodes = store.scan(client::sessions::node_key_prefix);
    if (!nodes) return nodes.error();
    auto held = store.read(client::sessions::node_key_prefix, *nodes);
    if (!held) return held.error();
    picture.nodes = std::move(*held);
    for (const auto& [instance, heartbeat] : picture.nodes)
        picture.live.insert(instance);
    if (own.sessions.empty()) {
        auto found = store.scan(client::sessions::lease_key_prefix);
        if (!found) return found.error();
        picture.sessions = std::move(*found);
    } else {
        const auto named = read_sessions(own.sessions, own.any_id);
        if (!named) return named.error();
        picture.sessions.insert(named->begin(), named->end());
    }
    auto leases = store.read(client::sessions::lease_key_prefix, picture.sessions);
    if (!leases) return leases.error();
    picture.leases = std::move(*leases);
    if (own.sessions.empty())
        std::erase_if(picture.sessions, [&](const std::string& one) { return !picture.leases.contains(one); });
    return picture;
}

struct Count {
    std::int64_t owned = 0;
    std::int64_t preferred = 0;
};

std::map<std::string, Count> counts_of(const Picture& picture) {
    std::map<std::string, Count> counts;
    for (const auto& [instance, held] : picture.nodes)
        counts[instance] = {};
    for (const std::string& session : picture.sessions) {
        if (const auto owner = picture.owner_of(session); !owner.empty()) ++counts[owner].owned;
        if (const auto preferred = picture.preferred_for(session); !preferred.empty()) ++counts[preferred].preferred;
    }
    return counts;
}

void show_json(const Screen& screen, const Picture& picture) {
    JsonValue::List nodes;
    for (const auto& [instance, count] : counts_of(picture)) {
        const auto node = picture.nodes.find(instance);
        const bool live = node != picture.nodes.end();
        nodes.push_back(JsonValue::object({{"instance", instance},
                                           {"live", live},
                                           {"heartbeat_left_ms", live ? JsonValue(node->second.left_ms) : nullptr},
                                           {"owned", count.owned},
                                           {"preferred", count.preferred}}));
    }
    JsonValue::List sessions;
    for (const std::string& session : picture.sessions) {
        const auto lease = picture.leases.find(session);
        const bool held = lease != picture.leases.end();
        sessions.push_back(JsonValue::object({{"session", session},
                                              {"owner", JsonValue::text_or_null(picture.owner_of(session))},
                                              {"preferred", JsonValue::text_or_null(picture.preferred_for(session))},
                                              {"remaining_ms", held ? JsonValue(lease->second.left_ms) : nullptr}}));
    }
    screen.show(JsonValue::object({{"nodes", std::move(nodes)}, {"sessions", std::move(sessions)}}));
}

std::string left(const Keys& keys, const std::string& name) {
    const auto found = keys.find(name);
    return found == keys.end() ? "-" : format_duration(std::chrono::milliseconds{found->second.left_ms});
}

void show_tables(const Screen& screen, const Picture& picture) {
    Table nodes{{"INSTANCE", "HEARTBEAT LEFT", "OWNED", "PREFERRED"}};
    for (const auto& [instance, count] : counts_of(picture)) {
        const bool live = picture.nodes.contains(instance);
        nodes.add({{instance, Colour::bold},
                   {live ? left(picture.nodes, instance) : "gone", live ? Colour::none : Colour::red},
                   {std::to_string(count.owned)},
                   {std::to_string(count.preferred)}});
    }
    Table sessions{{"SESSION", "OWNER", "PREFERRED", "REMAINING"}};
    for (const std::string& session : picture.sessions) {
        const std::string owner = picture.owner_of(session);
        const std::string preferred = picture.preferred_for(session);
        sessions.add({{session, Colour::bold},
                      {owner.empty() ? "-" : owner, owner == preferred ? Colour::none : Colour::yellow},
                      {preferred.empty() ? "-" : preferred},
                      {left(picture.leases, session)}});
    }
    if (picture.nodes.empty()) screen.note("no live instances");
    if (!counts_of(picture).empty()) screen.show(nodes);
    if (picture.sessions.empty()) return screen.note("no owned sessions");
    screen.line("");
    screen.show(sessions);
}

}  // namespace

int nodes_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const auto address = codec::resp::parse_redis(codec::resp::default_redis(arguments.own.redis));
    if (!address) {
        screen.complain(address.error());
        return exit_usage;
    }
    Store store{*address};
    const auto picture = read_picture(store, arguments.own);
    if (!picture) {
        screen.complain(picture.error());
        const ErrorCode& code = picture.error().code;
        return code == Code::invalid_argument ? exit_usage : exit_code_of(code);
    }
    if (screen.json())
        show_json(screen, *picture);
    else
        show_tables(screen, *picture);
    return exit_ok;
}

}  // namespace holdfast::cli
