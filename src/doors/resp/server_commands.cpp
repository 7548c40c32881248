#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <unistd.h>

#include "authority/authority.h"
#include "base/glob.h"
#include "doors/resp/command_table.h"
#include "doors/resp/exchange.h"
#include "doors/resp/session.h"

namespace holdfast::doors::resp {
namespace {

// ---- INFO ----

void line(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ':';
    out += value;
    out += "\r\n";
}

void put_server(std::string& out, RespDoorParts& parts) {
    using std::chrono::seconds;
    const auto up = std::chrono::duration_cast<seconds>(parts.door->turns().now() - parts.started_at).count();
    line(out, "redis_version", redis_version);
    line(out, "redis_mode", "standalone");
    line(out, "holdfast_version", parts.options.version);
    line(out, "process_id", std::to_string(::getpid()));
    line(out, "tcp_port", parts.port);
    line(out, "uptime_in_seconds", std::to_string(up));
    line(out, "recovering_for_ms", std::to_string(to_ms(parts.authority.recovering_for())));
}

void put_clients(std::string& out, RespDoorParts& parts) {
    line(out, "connected_clients", std::to_string(parts.door->connections()));
    line(out, "maxclients", std::to_string(parts.options.max_connections));
    line(out, "blocked_clients", std::to_string(parts.authority.waiters()));
}

void put_persistence(std::string& out, RespDoorParts&) {
    line(out, "loading", "0");
    line(out, "aof_enabled", "0");
}

void put_stats(std::string& out, RespDoorParts& parts) {
    line(out, "total_connections_received", std::to_string(parts.door->admitted()));
    line(out, "total_commands_processed", std::to_string(parts.commands_handled));
}

void put_replication(std::string& out, RespDoorParts&) {
    line(out, "role", "master");
    line(out, "connected_slaves", "0");
}

void put_keyspace(std::string& out, RespDoorParts& parts) {
    line(out, "db0", fmt::format("keys={0},expires={0},avg_ttl=0", parts.authority.active_leases()));
}

struct Section {
    std::string_view name;
    void (*put)(std::string&, RespDoorParts&);
};
constexpr std::size_t max_config_patterns = 64;

constexpr std::array sections{Section{"Server", put_server},           Section{"Clients", put_clients},
                              Section{"Persistence", put_persistence}, Section{"Stats", put_stats},
                              Section{"Replication", put_replication}, Section{"Keyspace", put_keyspace}};

bool asks_for(std::span<const std::string_view> words, std::string_view section) {
    if (words.size() == 1) return true;
    return std::any_of(words.begin() + 1, words.end(), [&](std::string_view word) {
        return same_word(word, section) || same_word(word, "all") || same_word(word, "everything") ||
               same_word(word, "default");
    });
}

// ---- CONFIG ----

struct Setting {
    std::string_view name;
    std::string value;
};

/// The settings that client libraries and redis-benchmark read.
std::vector<Setting> settings_of(const RespDoorParts& parts) {
    const auto idle_s = std::chrono::duration_cast<std::chrono::seconds>(parts.options.idle_timeout).count();
    return {{"appendonly", "no"},
            {"databases", std::to_string(databases)},
            {"maxclients", std::to_string(parts.options.max_connections)},
            {"maxmemory", "0"},
            {"maxmemory-policy", "noeviction"},
            {"notify-keyspace-events", ""},
            {"port", parts.port},
            {"proto-max-bulk-len", std::to_string(codec::resp::max_command_bytes)},
            {"save", ""},
            {"timeout", std::to_string(idle_s)}};
}

// ---- COMMAND ----

void put_command(codec::resp::ReplyWriter& reply, const RespCommand& command) {
    reply.array(10);
    reply.bulk(lower_case(command.name));
    reply.integer(command.arity);
    reply.array(2);
    reply.simple(command.writes ? "write" : "readonly");
    reply.simple("fast");
    reply.integer(command.first_key);
    reply.integer(command.last_key);
    reply.integer(command.key_step);
    for (int unused = 0; unused < 4; ++unused)  // categories, tips, key specifications, subcommands
        reply.array(0);
}

std::vector<const RespCommand*> named(const CommandTable& table, std::span<const std::string_view> names) {
    std::vector<const RespCommand*> found;
    for (const std::string_view name : names)
        found.push_back(table.find(name));
    if (names.empty()) found.assign(table.all().begin(), table.all().end());
    return found;
}

void put_docs(codec::resp::ReplyWriter& reply, std::vector<const RespCommand*> commands) {
    std::erase(commands, nullptr);
    reply.map(commands.size());
    for (const RespCommand* command : commands) {
        reply.bulk(lower_case(command->name));
        reply.map(2);
        reply.bulk("summary");
        reply.bulk(command->summary);
        reply.bulk("group");
        reply.bulk("generic");
    }
}

void put_infos(codec::resp::ReplyWriter& reply, const std::vector<const RespCommand*>& commands) {
    reply.array(commands.size());
    for (const RespCommand* command : commands)
        if (command != nullptr)
            put_command(reply, *command);
        else
            reply.null_array();
}

void info(Exchange& exchange) {
    RespDoorParts& parts = exchange.session().parts();
    std::string text;
    for (const Section& section : sections) {
        if (!asks_for(exchange.words(), section.name)) continue;
        if (!text.empty()) text += "\r\n";
        text += "# ";
        text += section.name;
        text += "\r\n";
        section.put(text, parts);
    }
    exchange.reply().bulk(text);
    exchange.finish();
}

void config(Exchange& exchange) {
    const auto words = exchange.words();
    if (!same_word(words[1], "GET")) return fail(exchange, unknown_subcommand("CONFIG", words[1]));
    if (words.size() < 3) return fail(exchange, wrong_arity("config|get"));
    if (words.size() - 2 > max_config_patterns) return fail(exchange, "CONFIG GET takes at most 64 patterns");
    std::vector<Setting> settings = settings_of(exchange.session().parts());
    std::erase_if(settings, [&](const Setting& setting) {
        return std::none_of(words.begin() + 2, words.end(), [&](std::string_view pattern) {
            return glob_matches(lower_case(pattern.substr(0, 64)), setting.name);
        });
    });
    auto reply = exchange.reply();
    reply.map(settings.size());
    for (const Setting& setting : settings) {
        reply.bulk(setting.name);
        reply.bulk(setting.value);
    }
    exchange.finish();
}

void command(Exchange& exchange) {
    const auto words = exchange.words();
    const CommandTable& table = exchange.session().parts().commands;
    auto reply = exchange.reply();
    const auto names = words.size() > 2 ? words.subspan(2) : std::span<const std::string_view>{};
    if (words.size() == 1) {
        put_infos(reply, named(table, {}));
    } else if (same_word(words[1], "COUNT")) {
        reply.integer(static_cast<std::int64_t>(table.all().size()));
    } else if (same_word(words[1], "INFO")) {
        put_infos(reply, named(table, names));
    } else if (same_word(words[1], "DOCS")) {
        put_docs(reply, named(table, names));
    } else if (same_word(words[1], "LIST")) {
        reply.array(table.all().size());
        for (const RespCommand* command : table.all())
            reply.bulk(lower_case(command->name));
    } else {
        reply.error("ERR", unknown_subcommand("COMMAND", words[1]));
    }
    exchange.finish();
}

void time(Exchange& exchange) {
    using namespace std::chrono;
    const auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
    auto reply = exchange.reply();
    reply.array(2);
    reply.bulk(std::to_string(now / 1'000'000));
    reply.bulk(std::to_string(now % 1'000'000));
    exchange.finish();
}

void dbsize(Exchange& exchange) {
    exchange.reply().integer(static_cast<std::int64_t>(exchange.authority().active_leases()));
    exchange.finish();
}

constexpr std::array server_table{
    RespCommand{.name = "COMMAND", .arity = -1, .handler = command, .summary = "Lists the commands."},
    RespCommand{.name = "CONFIG", .arity = -2, .handler = config, .summary = "Reads settings."},
    RespCommand{.name = "DBSIZE", .arity = 1, .handler = dbsize, .summary = "The number of active leases."},
    RespCommand{.name = "INFO", .arity = -1, .handler = info, .summary = "About this server."},
    RespCommand{.name = "TIME", .arity = 1, .handler = time, .summary = "The server's wall clock."},
};

}  // namespace

std::span<const RespCommand> server_commands() {
    return server_table;
}

}  // namespace holdfast::doors::resp
