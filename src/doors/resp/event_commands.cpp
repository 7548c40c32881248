#include <array>

#include "doors/resp/session.h"

namespace holdfast::doors::resp {
namespace {

/// Subscribing and unsubscribing work alike for names and for patterns.
struct Kind {
    std::string_view subscribe, unsubscribe;
    bool (Subscriptions::*add)(std::string_view);
    void (Subscriptions::*remove)(std::string_view);
    const Subscriptions::Names& (Subscriptions::*all)() const;
};
constexpr Kind by_name{"subscribe", "unsubscribe", &Subscriptions::add_channel, &Subscriptions::remove_channel,
                       &Subscriptions::channels};
constexpr Kind by_pattern{"psubscribe", "punsubscribe", &Subscriptions::add_pattern, &Subscriptions::remove_pattern,
                          &Subscriptions::patterns};

/// As in Redis, each name gets a message of its own. There is no other reply.
void confirm(codec::resp::ReplyWriter& reply, std::string_view what, const std::string* name, std::size_t count) {
    reply.push(3);
    reply.bulk(what);
    if (name != nullptr)
        reply.bulk(*name);
    else
        reply.null();
    reply.integer(static_cast<std::int64_t>(count));
}

void subscribe_to(Exchange& exchange, const Kind& kind) {
    RespSession& session = exchange.session();
    Subscriptions& subscriptions = session.subscriptions();
    auto reply = exchange.reply();
    for (const std::string_view name : exchange.words().subspan(1)) {
        if (name.size() > Subscriptions::max_name_bytes) {
            reply.error("ERR", "a channel's name has at most 256 bytes");
        } else if (!(subscriptions.*kind.add)(name)) {
            reply.error("ERR", "a connection subscribes to at most 1000 channels and patterns");
        } else {
            const std::string copied(name);
            confirm(reply, kind.subscribe, &copied, subscriptions.size());
        }
    }
    if (subscriptions.size() > 0 && !session.is_gone()) session.parts().hub.join(session);
    exchange.finish();
}

void unsubscribe_from(Exchange& exchange, const Kind& kind) {
    RespSession& session = exchange.session();
    Subscriptions& subscriptions = session.subscriptions();
    std::vector<std::string> names;
    for (const std::string_view name : exchange.words().subspan(1))
        names.emplace_back(name);
    const Subscriptions::Names& all = (subscriptions.*kind.all)();
    if (exchange.words().size() == 1) names.assign(all.begin(), all.end());
    auto reply = exchange.reply();
    for (const std::string& name : names) {
        (subscriptions.*kind.remove)(name);
        confirm(reply, kind.unsubscribe, &name, subscriptions.size());
    }
    if (names.empty()) confirm(reply, kind.unsubscribe, nullptr, subscriptions.size());
    if (subscriptions.size() == 0) session.parts().hub.leave(session);
    exchange.finish();
}

constexpr std::array event_table{
    RespCommand{.name = "SUBSCRIBE",
                .arity = -2,
                .handler = [](Exchange& exchange) { subscribe_to(exchange, by_name); },
                .summary = "Lease events by channel: lease:granted, lease:released, lease:expired, lease:revoked."},
    RespCommand{.name = "PSUBSCRIBE",
                .arity = -2,
                .handler = [](Exchange& exchange) { subscribe_to(exchange, by_pattern); },
                .summary = "Lease events by pattern: lease:*."},
    RespCommand{.name = "UNSUBSCRIBE",
                .arity = -1,
                .handler = [](Exchange& exchange) { unsubscribe_from(exchange, by_name); },
                .summary = "Ends SUBSCRIBE."},
    RespCommand{.name = "PUNSUBSCRIBE",
                .arity = -1,
                .handler = [](Exchange& exchange) { unsubscribe_from(exchange, by_pattern); },
                .summary = "Ends PSUBSCRIBE."},
};

}  // namespace

std::span<const RespCommand> event_commands() {
    return event_table;
}

}  // namespace holdfast::doors::resp
