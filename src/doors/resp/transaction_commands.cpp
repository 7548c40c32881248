#include <array>

#include "doors/resp/session.h"

namespace holdfast::doors::resp {
namespace {

/// Nothing is queued: every command until EXEC or DISCARD is refused when it arrives (RespSession::dispatch). EXEC then
/// replies as Redis does after such an error, so every client knows that the transaction failed.
void multi(Exchange& exchange) {
    bool& open = exchange.session().client().in_transaction;
    if (open) return fail(exchange, "MULTI calls can not be nested");
    open = true;
    ok(exchange);
}

void exec(Exchange& exchange) {
    bool& open = exchange.session().client().in_transaction;
    if (!open) return fail(exchange, "EXEC without MULTI");
    open = false;
    fail(exchange, "EXECABORT", "Transaction discarded: Holdfast has no transactions. " + std::string(without_multi));
}

void discard(Exchange& exchange) {
    bool& open = exchange.session().client().in_transaction;
    if (!open) return fail(exchange, "DISCARD without MULTI");
    open = false;
    ok(exchange);
}

void watch(Exchange& exchange) {
    if (exchange.session().client().in_transaction) return fail(exchange, "WATCH inside MULTI is not allowed");
    fail(exchange,
         "Holdfast has no transactions, so nothing can be watched. Compare a key's value and change it with one of the "
         "scripts that docs/redis.md lists");
}

constexpr std::array transaction_table{
    RespCommand{.name = "DISCARD", .arity = 1, .handler = discard, .summary = "Ends a transaction."},
    RespCommand{.name = "EXEC", .arity = 1, .handler = exec, .summary = "Ends a transaction with an error."},
    RespCommand{.name = "MULTI",
                .arity = 1,
                .handler = multi,
                .summary = "Until EXEC or DISCARD nothing is executed: there are no transactions."},
    RespCommand{.name = "UNWATCH", .arity = 1, .handler = ok, .summary = "Returns OK: nothing is watched."},
    RespCommand{.name = "WATCH", .arity = -2, .handler = watch, .summary = "An error: there are no transactions."},
};

}  // namespace

std::span<const RespCommand> transaction_commands() {
    return transaction_table;
}

}  // namespace holdfast::doors::resp
