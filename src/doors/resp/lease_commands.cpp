#include <array>
#include <memory>

#include "authority/authority.h"
#include "base/random.h"
#include "doors/resp/command_table.h"
#include "doors/resp/lease_arguments.h"
#include "doors/resp/lease_looks.h"
#include "doors/resp/lease_replies.h"
#include "doors/resp/session.h"
#include "lease/manifest.h"
#include "lease/owner.h"

namespace holdfast {

using namespace core;

namespace {

// ---- LEASE.ACQUIRE ----

/// R8: it ends with the connection, which may have ended before it was granted.
void bind_to_connection(Exchange& exchange, std::string_view resource, const Lease& lease) {
    if (exchange.gone())
        exchange.authority().single_record().release(
            resource, lease.holder, lease.token, [](const SingleRecordAnswer&) {}, lease.session);
    else
        exchange.session().scoped().add({std::string(resource), lease.token}, lease.holder);
}

void acquire_at_once(Exchange& exchange, const AcquireArguments& asked, std::string_view resource) {
    exchange.authority().single_record().acquire(resource, asked.holder, asked.predicate, asked.ttl,
                                                 [&exchange, scoped = asked.scoped](const SingleRecordAnswer& answer) {
                                                     if (answer.has_lease && scoped)
                                                         bind_to_connection(exchange, answer.resource, answer.lease);
                                                     auto reply = exchange.reply();
                                                     put_acquired(reply, answer.resource, answer);
                                                     exchange.finish();
                                                 });
}

/// What the door itself has to do with a grant, and meanwhile.
struct Attention {
    bool scoped = false;
    Duration progress{};
};

void acquire_with_patience(Exchange& exchange, AcquireRequest request, Attention attention) {
    if (request.wait > Duration::zero()) request.reachable = [&exchange] { return exchange.reachable(); };
    const auto ticket = exchange.authority().acquire(
        std::move(request), [&exchange, scoped = attention.scoped](const AcquireAnswer& answer) {
            const auto* granted = std::get_if<AcquireGranted>(&answer);
            if (granted != nullptr && scoped)
                bind_to_connection(exchange, granted->leases.front().resource, granted->leases.front().lease);
            auto reply = exchange.reply();
            put_acquired(reply, answer, exchange.authority().now());
            exchange.finish();
        });
    if (ticket != 0) exchange.waits(ticket, attention.progress);
}

/// The holder registers as an agent of this age, then asks (G5).
void acquire_as_agent(Exchange& exchange, AcquireRequest request, Attention attention, Priority priority) {
    AgentRequest agent{request.caller, request.holder, priority, request.epoch};
    auto asked = std::make_unique<AcquireRequest>(std::move(request));
    exchange.authority().put_agent(
        std::move(agent), [&exchange, asked = std::move(asked), attention](const Answer<AgentAnswer>& answer) mutable {
            const auto* refused = std::get_if<Refused>(&answer);
            if (refused == nullptr && !exchange.gone())
                return acquire_with_patience(exchange, std::move(*asked), attention);
            auto reply = exchange.reply();
            put_refused(reply, refused != nullptr ? *refused : Refused{Code::cancelled, {}, {}});
            exchange.finish();
        });
}

void acquire(Exchange& exchange) {
    const auto asked = read_acquire(exchange.words());
    if (!asked) return fail(exchange, asked.error());
    std::string room;
    const auto resource = one_name(asked->resource, asked->name_space, FullNames::refused, room);
    if (!resource) return fail(exchange, resource.error());
    RespSession& session = exchange.session();
    if (asked->scoped && !session.scoped().has_room())
        return fail(exchange, invalid_argument("a connection may have at most 1000 leases that end with it"));
    if (asked->progress > Duration::zero() && session.client().protocol != resp::Protocol::resp3)
        return fail(exchange,
                    invalid_argument("PROGRESS needs RESP3: send HELLO 3 first, or wait in slices with a short "
                                     "WAIT"));
    const bool leads = core::owner_of(*resource) == core::Owner::leaders;
    if (asked->is_plain() && !leads && !exchange.authority().is_agent(asked->holder))
        return acquire_at_once(exchange, *asked, *resource);
    AcquireRequest request;
    request.caller = {session.peer(), session.id()};
    request.holder = asked->holder;
    request.epoch = asked->epoch;
    request.session = asked->session;
    if (leads && request.session.empty()) request.session = random_hex(16);  // it could not step down without (R2)
    request.intents = {{std::string(*resource), asked->predicate}};
    request.ttl = asked->ttl;
    request.wait = asked->wait;
    request.reason = asked->reason;
    const Attention attention{asked->scoped, asked->progress};
    if (asked->priority) return acquire_as_agent(exchange, std::move(request), attention, *asked->priority);
    acquire_with_patience(exchange, std::move(request), attention);
}

// ---- LEASE.RENEW and LEASE.RELEASE ----

/// `resource token holder [ttl_ms | SESSION session] [ALSO resource token …]`
struct Keeping {
    std::string_view holder;
    std::string_view session{};
    std::optional<Duration> ttl;
    std::span<const std::string_view> first;   ///< resource and token
    std::span<const std::string_view> others;  ///< likewise, again and again
    bool many = false;
};

Result<Keeping> read_keeping(std::span<const std::string_view> words, bool takes_ttl) {
    Keeping read;
    read.first = words.subspan(1, 2);
    read.holder = words[3];
    words = words.subspan(4);
    if (takes_ttl && !words.empty() && !same_word(words[0], "ALSO")) {
        const auto ttl = read_ms("ttl_ms", words[0]);
        if (!ttl) return ttl.error();
        read.ttl = *ttl;
        words = words.subspan(1);
    }
    if (!takes_ttl && words.size() >= 2 && same_word(words[0], "SESSION")) {
        read.session = words[1];
        words = words.subspan(2);
    }
    if (words.empty()) return read;
    if (!same_word(words[0], "ALSO"))
        return invalid_argument("there is no option " + std::string(words[0].substr(0, 64)));
    read.many = true;
    read.others = words.subspan(1);
    if (read.others.size() % 2 != 0) return invalid_argument("ALSO takes a resource and a token, again and again");
    if (read.others.size() / 2 >= limits::leases_per_request)
        return invalid_argument("at most 1000 leases can be named in one command");
    return read;
}

/// Which of the two, and how it is answered.
struct Verb {
    bool renews;
    void (*put)(resp::ReplyWriter& reply, std::string_view resource, const SingleRecordAnswer& answer);
};
constexpr Verb renewing{true, put_renewed};
constexpr Verb releasing{false, [](resp::ReplyWriter& reply, std::string_view, const SingleRecordAnswer& answer) {
                             put_released(reply, answer);
                         }};

/// Calls `done` if the name is well formed, else returns why it is not.
std::optional<Error> keep_one(Exchange& exchange, std::span<const std::string_view> name, const Keeping& asked,
                              const Verb& verb, SingleRecord::Done done) {
    std::string room;
    const auto token = read_token(name[1]);
    if (!token) return token.error();
    const auto resource = one_name(name[0], {}, FullNames::allowed, room);
    if (!resource) return resource.error();
    SingleRecord& single_record = exchange.authority().single_record();
    if (verb.renews) {
        single_record.renew(*resource, asked.holder, *token, asked.ttl, std::move(done));
    } else {
        if (!exchange.gone()) exchange.session().scoped().forget_if_of(*token, asked.holder);
        single_record.release(*resource, asked.holder, *token, std::move(done), asked.session);
    }
    return std::nullopt;
}

/// The replies of a command that names many leases, each in its place (R1).
struct Many {
    Many(Exchange& of, std::size_t count) : exchange(of), replies(count), missing(count) {}

    void arrived() {
        if (--missing > 0) return;
        exchange.reply().array(replies.size());
        for (const std::string& reply : replies)
            exchange.reply().raw(reply);
        exchange.finish();
    }

    Exchange& exchange;
    std::vector<std::string> replies;
    std::size_t missing;
};

void keep_many(Exchange& exchange, const Keeping& asked, const Verb& verb) {
    const std::size_t count = 1 + asked.others.size() / 2;
    const auto many = std::make_shared<Many>(exchange, count);
    const auto protocol = exchange.session().client().protocol;
    for (std::size_t i = 0; i < count; ++i) {
        const auto name = i == 0 ? asked.first : asked.others.subspan(2 * (i - 1), 2);
        auto error = keep_one(exchange, name, asked, verb,
                              [many, i, protocol, put = verb.put](const SingleRecordAnswer& answer) {
                                  resp::ReplyWriter reply(many->replies[i], protocol);
                                  put(reply, answer.resource, answer);
                                  many->arrived();
                              });
        if (!error) continue;
        resp::ReplyWriter reply(many->replies[i], protocol);
        put_error(reply, Code::invalid_argument, error->message);
        many->arrived();
    }
}

void keep(Exchange& exchange, const Verb& verb) {
    const auto asked = read_keeping(exchange.words(), verb.renews);
    if (!asked) return fail(exchange, asked.error());
    if (asked->many) return keep_many(exchange, *asked, verb);
    const auto error =
        keep_one(exchange, asked->first, *asked, verb, [&exchange, put = verb.put](const SingleRecordAnswer& answer) {
            auto reply = exchange.reply();
            put(reply, answer.resource, answer);
            exchange.finish();
        });
    if (error) fail(exchange, *error);
}

constexpr std::array lease_table{
    RespCommand{.name = "LEASE.ACQUIRE",
                .arity = -4,
                .handler = acquire,
                .writes = true,
                .first_key = 1,
                .last_key = 1,
                .key_step = 1,
                .summary = "Takes a lease, or says who is in the way.",
                .foresight = {1, 2}},
    RespCommand{.name = "LEASE.RENEW",
                .arity = -4,
                .handler = [](Exchange& exchange) { keep(exchange, renewing); },
                .writes = true,
                .first_key = 1,
                .last_key = 1,
                .key_step = 1,
                .summary = "Extends leases of one holder, each with its own answer.",
                .foresight = {1}},
    RespCommand{.name = "LEASE.RELEASE",
                .arity = -4,
                .handler = [](Exchange& exchange) { keep(exchange, releasing); },
                .writes = true,
                .first_key = 1,
                .last_key = 1,
                .key_step = 1,
                .summary = "Lets go of leases of one holder. Idempotent.",
                .foresight = {1, 3}},
    RespCommand{.name = "LEASE.VERIFY",
                .arity = -3,
                .handler = verify_command,
                .summary = "The true state of leases, or of all of a holder."},
    RespCommand{.name = "LEASE.GET",
                .arity = -2,
                .handler = get_command,
                .first_key = 1,
                .last_key = 1,
                .key_step = 1,
                .summary = "Who holds a resource, or one lease."},
    RespCommand{.name = "LEASE.LIST", .arity = -1, .handler = list_command, .summary = "Leases, page by page."},
};

}  // namespace

std::span<const RespCommand> lease_commands() {
    return lease_table;
}

}  // namespace holdfast
