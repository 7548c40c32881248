#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <string_view>

#include "authority/authority.h"
#include "codec/resp/resp_number.h"
#include "doors/resp/command_table.h"
#include "doors/resp/exchange.h"
#include "doors/resp/session.h"

namespace holdfast::doors::resp {
namespace {

using codec::resp::Protocol;

constexpr std::size_t max_name_bytes = 256;

constexpr std::string_view bad_client_name = "Client names cannot contain spaces, newlines or special characters.";

/// As in Redis: no blanks, no control characters, only ASCII.
bool is_client_name(std::string_view name) {
    return name.size() <= max_name_bytes &&
           std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

// ---- CLIENT ----

/// One line in Redis's format, with the fields known here.
std::string line_of(RespSession& session) {
    using std::chrono::duration_cast;
    const auto age = duration_cast<std::chrono::seconds>(session.age()).count();
    const RespClient& client = session.client();
    return fmt::format(
        "id={} addr={} fd={} name={} age={} idle=0 flags=N db=0 sub={} psub={} cmd=client|list user=default "
        "lib-name={} "
        "lib-ver={} resp={} scoped-leases={}\n",
        session.id(), session.peer(), session.socket(), client.name, age, session.subscriptions().channels().size(),
        session.subscriptions().patterns().size(), client.library, client.library_version,
        static_cast<int>(client.protocol), session.scoped().size());
}

void set_name(Exchange& exchange) {
    const std::string_view name = exchange.words()[2];
    if (!is_client_name(name)) return fail(exchange, bad_client_name);
    exchange.session().client().name = name;
    ok(exchange);
}

void get_name(Exchange& exchange) {
    const std::string& name = exchange.session().client().name;
    if (name.empty())
        exchange.reply().null();
    else
        exchange.reply().bulk(name);
    exchange.finish();
}

void set_info(Exchange& exchange) {
    const std::string_view what = exchange.words()[2];
    const std::string_view value = exchange.words()[3];
    RespClient& client = exchange.session().client();
    const bool is_name = same_word(what, "LIB-NAME");
    if (!is_name && !same_word(what, "LIB-VER"))
        return fail(exchange, fmt::format("Unrecognized option '{}'", what.substr(0, 64)));
    if (!is_client_name(value))
        return fail(exchange, std::string(is_name ? "lib-name" : "lib-ver") +
                                  " cannot contain spaces, newlines or special characters.");
    (is_name ? client.library : client.library_version) = value;
    ok(exchange);
}

void own_id(Exchange& exchange) {
    exchange.reply().integer(static_cast<std::int64_t>(exchange.session().id()));
    exchange.finish();
}

/// A connection sees only itself, not other clients.
void own_line(Exchange& exchange) {
    exchange.reply().bulk(line_of(exchange.session()));
    exchange.finish();
}

void switch_nothing(Exchange& exchange) {
    const std::string_view how = exchange.words()[2];
    if (!same_word(how, "ON") && !same_word(how, "OFF")) return fail(exchange, "syntax error");
    ok(exchange);
}

constexpr std::array subcommands{
    RespCommand{.name = "GETNAME", .arity = 2, .handler = get_name},
    RespCommand{.name = "ID", .arity = 2, .handler = own_id},
    RespCommand{.name = "INFO", .arity = 2, .handler = own_line},
    RespCommand{.name = "LIST", .arity = -2, .handler = own_line},
    RespCommand{.name = "NO-EVICT", .arity = 3, .handler = switch_nothing},
    RespCommand{.name = "NO-TOUCH", .arity = 3, .handler = switch_nothing},
    RespCommand{.name = "SETINFO", .arity = 4, .handler = set_info},
    RespCommand{.name = "SETNAME", .arity = 3, .handler = set_name},
};

void client(Exchange& exchange) {
    const auto words = exchange.words();
    for (const RespCommand& subcommand : subcommands) {
        if (!same_word(subcommand.name, words[1])) continue;
        if (!takes(subcommand, words.size())) return fail(exchange, wrong_arity("client|" + lower_case(words[1])));
        return subcommand.handler(exchange);
    }
    fail(exchange, unknown_subcommand("CLIENT", words[1]));
}

// ---- the rest ----

constexpr std::string_view no_password =
    "AUTH <password> called without any password configured for the default user. Are you sure your configuration is "
    "correct?";
constexpr std::string_view wrong_password = "invalid username-password pair or user is disabled.";

void ping(Exchange& exchange) {
    const auto words = exchange.words();
    if (words.size() > 2) return fail(exchange, wrong_arity("PING"));
    RespSession& session = exchange.session();
    auto reply = exchange.reply();
    if (session.client().protocol == Protocol::resp2 && session.subscriptions().size() > 0) {
        reply.array(2);
        reply.bulk("pong");
        reply.bulk(words.size() == 2 ? words[1] : std::string_view{});
    } else if (words.size() == 2) {
        reply.bulk(words[1]);
    } else {
        reply.simple("PONG");
    }
    exchange.finish();
}

void echo(Exchange& exchange) {
    exchange.reply().bulk(exchange.words()[1]);
    exchange.finish();
}

void select(Exchange& exchange) {
    const auto index = codec::resp::parse_integer(exchange.words()[1]);
    if (!index) return fail(exchange, "value is not an integer or out of range");
    if (*index < 0 || *index >= databases) return fail(exchange, "DB index is out of range");
    exchange.session().client().database = static_cast<unsigned>(*index);
    ok(exchange);
}

void quit(Exchange& exchange) {
    exchange.session().end_after_reply();
    ok(exchange);
}

void auth(Exchange& exchange) {
    const auto words = exchange.words();
    if (words.size() > 3) return fail(exchange, "syntax error");
    if (words.size() == 2) return fail(exchange, no_password);
    if (words[1] == "default") return ok(exchange);
    exchange.reply().error("WRONGPASS", wrong_password);
    exchange.finish();
}

void reset(Exchange& exchange) {
    RespSession& session = exchange.session();
    session.subscriptions().clear();
    session.parts().hub.leave(session);
    session.client().protocol = Protocol::resp2;
    session.client().name.clear();
    session.client().database = 0;
    session.client().in_transaction = false;
    exchange.reply().simple("RESET");
    exchange.finish();
}

/// The arguments of HELLO.
struct Hello {
    std::optional<Protocol> protocol;
    std::optional<std::string_view> user, name;
};

/// Returns an error, or nullopt.
std::optional<std::string> read_hello(std::span<const std::string_view> words, Hello& hello) {
    if (words.size() > 1) {
        const auto version = codec::resp::parse_integer(words[1]);
        if (!version) return "ERR Protocol version is not an integer or out of range";
        if (*version != 2 && *version != 3) return "NOPROTO unsupported protocol version";
        hello.protocol = *version == 3 ? Protocol::resp3 : Protocol::resp2;
    }
    for (std::size_t i = 2; i < words.size();) {
        if (same_word(words[i], "AUTH") && i + 2 < words.size()) {
            hello.user = words[i + 1];
            i += 3;
        } else if (same_word(words[i], "SETNAME") && i + 1 < words.size()) {
            hello.name = words[i + 1];
            i += 2;
        } else {
            return fmt::format("ERR Syntax error in HELLO option '{}'", words[i].substr(0, 64));
        }
    }
    if (hello.user && *hello.user != "default") return "WRONGPASS " + std::string(wrong_password);
    if (hello.name && !is_client_name(*hello.name)) return "ERR " + std::string(bad_client_name);
    return std::nullopt;
}

void hello(Exchange& exchange) {
    Hello asked;
    if (const auto error = read_hello(exchange.words(), asked)) {
        const std::size_t blank = error->find(' ');
        exchange.reply().error(error->substr(0, blank), error->substr(blank + 1));
        return exchange.finish();
    }
    RespSession& session = exchange.session();
    if (asked.protocol) session.client().protocol = *asked.protocol;
    if (asked.name) session.client().name = *asked.name;
    auto reply = exchange.reply();
    reply.map(8);
    reply.bulk("server");
    reply.bulk("redis");
    reply.bulk("version");
    reply.bulk(redis_version);
    reply.bulk("proto");
    reply.integer(static_cast<int>(session.client().protocol));
    reply.bulk("id");
    reply.integer(static_cast<std::int64_t>(session.id()));
    reply.bulk("mode");
    reply.bulk("standalone");
    reply.bulk("role");
    reply.bulk("master");
    reply.bulk("modules");
    reply.array(0);
    reply.bulk("holdfast_version");
    reply.bulk(session.parts().options.version);
    exchange.finish();
}

constexpr std::array connection_table{
    RespCommand{.name = "AUTH", .arity = -2, .handler = auth, .summary = "Replies as a server without a password."},
    RespCommand{.name = "CLIENT", .arity = -2, .handler = client, .summary = "About this connection."},
    RespCommand{.name = "ECHO", .arity = 2, .handler = echo, .summary = "Returns the message."},
    RespCommand{.name = "HELLO", .arity = -1, .handler = hello, .summary = "Selects the version of the protocol."},
    RespCommand{.name = "PING", .arity = -1, .handler = ping, .summary = "Returns PONG, or the message."},
    RespCommand{.name = "QUIT", .arity = -1, .handler = quit, .summary = "Closes the connection."},
    RespCommand{.name = "RESET", .arity = 1, .handler = reset, .summary = "Resets the state of the connection."},
    RespCommand{.name = "SELECT", .arity = 2, .handler = select, .summary = "Selects a namespace for keys: 0 to 15."},
};

}  // namespace

std::span<const RespCommand> connection_commands() {
    return connection_table;
}

}  // namespace holdfast::doors::resp
