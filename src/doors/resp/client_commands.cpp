#include "doors/resp/client_commands.h"

#include <algorithm>
#include <array>

#include "doors/resp/command_table.h"
#include "doors/resp/session.h"

namespace holdfast {
namespace {

constexpr std::size_t max_name_bytes = 256;

/// One line, in Redis's form, with what is known here.
std::string line_of(RespSession& session) {
    using std::chrono::duration_cast;
    const auto age = duration_cast<std::chrono::seconds>(session.parts().now - session.since()).count();
    const RespClient& client = session.client();
    std::string line = "id=" + std::to_string(session.id());
    line += " addr=" + session.peer();
    line += " fd=" + std::to_string(session.socket());
    line += " name=" + client.name;
    line += " age=" + std::to_string(age);
    line += " idle=0 flags=N db=0";
    line += " sub=" + std::to_string(session.subscriptions().channels().size());
    line += " psub=" + std::to_string(session.subscriptions().patterns().size());
    line += " cmd=client|list user=default";
    line += " lib-name=" + client.library;
    line += " lib-ver=" + client.library_version;
    line += " resp=" + std::to_string(static_cast<int>(client.protocol));
    line += " scoped-leases=" + std::to_string(session.scoped().size());
    return line + "\n";
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
        return fail(exchange, "Unrecognized option '" + std::string(what.substr(0, 64)) + "'");
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

/// A connection is shown itself only: others are none of its business.
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

}  // namespace

bool is_client_name(std::string_view name) {
    return name.size() <= max_name_bytes &&
           std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; });
}

void client_command(Exchange& exchange) {
    const auto words = exchange.words();
    for (const RespCommand& subcommand : subcommands) {
        if (!same_word(subcommand.name, words[1])) continue;
        if (!takes(subcommand, words.size())) return fail(exchange, wrong_arity("client|" + lower_case(words[1])));
        return subcommand.handler(exchange);
    }
    fail(exchange, unknown_subcommand("CLIENT", words[1]));
}

}  // namespace holdfast
