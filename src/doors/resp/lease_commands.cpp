#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "authority/authority.h"
#include "base/code.h"
#include "base/random.h"
#include "base/result.h"
#include "base/text.h"
#include "codec/resp/resp_number.h"
#include "doors/resp/command_table.h"
#include "doors/resp/exchange.h"
#include "doors/resp/lease_replies.h"
#include "doors/resp/session.h"
#include "lease/lease.h"
#include "lease/limits.h"
#include "lease/manifest.h"
#include "lease/owner.h"
#include "lease/resource.h"

namespace holdfast::doors::resp {

namespace {

constexpr std::uint64_t max_duration_ms = 1'000'000'000'000;
constexpr std::int64_t max_priority = 9'000'000'000'000'000;
constexpr std::uint64_t max_number = (1ULL << 53) - 1;

Error invalid_argument(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

/// A whole number of milliseconds up to 10^12. `field` is named in the error.
Result<Duration> read_ms(std::string_view field, std::string_view text) {
    const auto ms = parse_number(text);
    if (!ms || *ms > max_duration_ms)
        return invalid_argument(std::string(field) + " takes a whole number of milliseconds");
    return Duration{std::chrono::milliseconds{*ms}};
}

Result<lease::Token> read_token(std::string_view text) {
    const auto token = parse_number(text);
    if (!token || *token >= lease::token_limit) return invalid_argument("a token is a whole number below 2^53");
    return *token;
}

// ---- resources ----

/// True if normalised() would certainly change nothing. False means unknown.
bool surely_normalised(std::string_view name) {
    if (name.empty() || name.front() == ' ' || name.back() == ' ' || name.back() == '/') return false;
    const bool file = name.starts_with("FILE:");
    if (file && (name.size() < 6 || name[5] == ' ' || name[5] == '.' || name.find('*') != std::string_view::npos))
        return false;
    for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
        const char next = name[slash + 1];  // in range: the last byte is not a slash
        if (next == '/' || (file && next == '.')) return false;
    }
    return true;
}

/// The full name of a resource that a command names. Without a namespace, and if the name is canonical already, this is
/// a view of the command's word; otherwise the name is built in `room`. A resource that begins with `@` is taken as a
/// full name, where that is allowed.
enum class FullNames : std::uint8_t { refused, allowed };
Result<std::string_view> one_name(std::string_view resource, std::string_view name_space, FullNames full,
                                  std::string& room) {
    if (full == FullNames::allowed && resource.starts_with('@')) {
        if (resource.size() > lease::limits::resource_bytes + lease::limits::namespace_bytes + 2)
            return invalid_argument("resource is longer than a full name can be");
        return resource;
    }
    std::string_view name = resource;
    std::string normal;
    if (!surely_normalised(resource)) {
        auto made = lease::normalised(resource);
        if (!made) return made.error();
        normal = std::move(*made);
        name = normal;
    }
    // A name that is only looked up needs no check: a malformed one is not found.
    if (full == FullNames::refused || name.size() > lease::limits::resource_bytes)
        if (const auto checked = lease::check_resource(name); !checked) return checked.error();
    if (normal.empty() && (name_space.empty() || name_space == lease::default_namespace)) return name;
    room = lease::full_name(name_space, name);
    return std::string_view(room);
}

// ---- LEASE.ACQUIRE: its arguments ----

/// LEASE.ACQUIRE resource holder ttl_ms [PREDICATE p] [WAIT ms] [PRIORITY n] [SCOPE connection] [REASON text] [SESSION
/// s] [NAMESPACE n] [EPOCH n] [PROGRESS ms], parsed and validated as in the HTTP door. Views of the command's words.
struct AcquireArguments {
    std::string_view resource, holder, reason, session, name_space;
    lease::Predicate predicate = lease::Predicate::mutates;
    Duration ttl{};
    Duration wait{};
    Duration progress{};  ///< interval of progress messages while it waits; zero: none
    std::optional<lease::Priority> priority;
    std::optional<std::uint64_t> epoch;
    bool scoped = false;

    /// True if it needs nothing that only the authority's general path can do.
    bool is_plain() const {
        return wait == Duration::zero() && !priority && !epoch && reason.empty() && session.empty();
    }
};

Result<void> read_option(AcquireArguments& read, std::string_view name, std::string_view value) {
    if (same_word(name, "PREDICATE")) {
        const auto predicate = lease::parse_predicate(value);
        if (!predicate)
            return invalid_argument("PREDICATE is one of PROVIDES, CONSUMES, MUTATES, DELETES, DEPENDS_ON, RENAMES");
        read.predicate = *predicate;
    } else if (same_word(name, "WAIT")) {
        const auto wait = read_ms("WAIT", value);
        if (!wait) return wait.error();
        read.wait = *wait;
    } else if (same_word(name, "PROGRESS")) {
        const auto progress = read_ms("PROGRESS", value);
        if (!progress) return progress.error();
        if (*progress < 1s || *progress > 60s)
            return invalid_argument("PROGRESS takes a whole number of milliseconds from 1000 to 60000");
        read.progress = *progress;
    } else if (same_word(name, "PRIORITY")) {
        read.priority = codec::resp::parse_integer(value);
        if (!read.priority || *read.priority > max_priority || *read.priority < -max_priority)
            return invalid_argument("PRIORITY takes a whole number from -9*10^15 to 9*10^15");
    } else if (same_word(name, "EPOCH")) {
        read.epoch = parse_number(value);
        if (!read.epoch || *read.epoch == 0 || *read.epoch > max_number)
            return invalid_argument("EPOCH takes a whole number from 1 to 2^53-1");
    } else if (same_word(name, "SCOPE")) {
        if (!same_word(value, "CONNECTION")) return invalid_argument("SCOPE takes CONNECTION");
        read.scoped = true;
    } else if (same_word(name, "REASON")) {
        read.reason = value;
        return check_text({"REASON", value}, lease::limits::reason_bytes);
    } else if (same_word(name, "SESSION")) {
        read.session = value;
        return check_text({"SESSION", value}, lease::limits::session_bytes);
    } else if (same_word(name, "NAMESPACE")) {
        read.name_space = value;
        return lease::check_namespace(value);
    } else {
        return invalid_argument("unknown option " + std::string(name.substr(0, 64)));
    }
    return {};
}

Result<AcquireArguments> read_acquire(std::span<const std::string_view> words) {
    AcquireArguments read;
    read.resource = words[1];
    read.holder = words[2];
    const auto ttl = read_ms("ttl_ms", words[3]);
    if (!ttl) return ttl.error();
    read.ttl = *ttl;
    if (const auto checked = lease::check_holder(read.holder); !checked) return checked.error();
    if (words.size() % 2 != 0) return invalid_argument("an option has no value");
    for (std::size_t i = 4; i < words.size(); i += 2)
        if (const auto option = read_option(read, words[i], words[i + 1]); !option) return option.error();
    return read;
}

// ---- LEASE.VERIFY, LEASE.GET, LEASE.LIST ----

constexpr std::size_t max_page = 1000;

void answer_verified(Exchange& exchange, const authority::Answer<std::vector<authority::VerifyAnswer>>& answer) {
    auto reply = exchange.reply();
    if (const auto* refused = std::get_if<authority::Refused>(&answer)) {
        put_refused(reply, *refused);
    } else {
        const auto& all = std::get<std::vector<authority::VerifyAnswer>>(answer);
        reply.array(all.size());
        for (const authority::VerifyAnswer& one : all)
            put_verified(reply, one);
    }
    exchange.finish();
}

Result<lease::LeaseName> read_name(std::string_view resource, std::string_view token_text) {
    std::string room;
    const auto name = one_name(resource, {}, FullNames::allowed, room);
    if (!name) return name.error();
    const auto token = read_token(token_text);
    if (!token) return token.error();
    return lease::LeaseName{std::string(*name), *token};
}

/// Parses the query of LEASE.LIST. Views of the command's words.
Result<store::ListQuery> read_list(std::span<const std::string_view> words) {
    store::ListQuery query;
    if (words.size() % 2 == 0) return invalid_argument("an option has no value");
    for (std::size_t i = 1; i < words.size(); i += 2) {
        const std::string_view value = words[i + 1];
        if (same_word(words[i], "HOLDER")) {
            query.holder = value;
        } else if (same_word(words[i], "PREFIX")) {
            query.prefix = value;
        } else if (same_word(words[i], "NAMESPACE")) {
            query.name_space = value;
        } else if (same_word(words[i], "LIMIT")) {
            const auto limit = parse_number(value);
            if (!limit || *limit == 0 || *limit > max_page) return invalid_argument("LIMIT takes 1 to 1000");
            query.limit = *limit;
        } else if (same_word(words[i], "AFTER")) {
            query.after = value;
        } else {
            return invalid_argument("unknown option " + std::string(words[i].substr(0, 64)));
        }
    }
    return query;
}

/// `LEASE.VERIFY resource token [resource token …] | HOLDER holder`
void verify(Exchange& exchange) {
    const auto words = exchange.words();
    if (same_word(words[1], "HOLDER") && words.size() == 3)
        return exchange.authority().verify_all(
            std::string(words[2]), {},
            [&exchange](const authority::Answer<std::vector<authority::VerifyAnswer>>& answer) {
                answer_verified(exchange, answer);
            });
    if (words.size() % 2 == 0) return fail(exchange, invalid_argument("a resource has no token"));
    if (words.size() / 2 > lease::limits::leases_per_request)
        return fail(exchange, invalid_argument("at most 1000 leases can be named in one command"));
    std::vector<lease::LeaseName> names;
    for (std::size_t i = 1; i < words.size(); i += 2) {
        auto name = read_name(words[i], words[i + 1]);
        if (!name) return fail(exchange, name.error());
        names.push_back(std::move(*name));
    }
    exchange.authority().verify(std::move(names),
                                [&exchange](const authority::Answer<std::vector<authority::VerifyAnswer>>& answer) {
                                    answer_verified(exchange, answer);
                                });
}

/// `LEASE.GET resource [token]`
void get_lease(Exchange& exchange) {
    const auto words = exchange.words();
    if (words.size() > 3) return fail(exchange, invalid_argument("LEASE.GET takes a resource and an optional token"));
    const bool one = words.size() == 3;
    auto name = read_name(words[1], one ? words[2] : std::string_view{"0"});
    if (!name) return fail(exchange, name.error());
    std::vector<lease::LeaseName> names{std::move(*name)};
    exchange.authority().verify(
        std::move(names), [&exchange, one](const authority::Answer<std::vector<authority::VerifyAnswer>>& answer) {
            auto reply = exchange.reply();
            const auto* found = std::get_if<std::vector<authority::VerifyAnswer>>(&answer);
            if (found == nullptr) {
                put_refused(reply, std::get<authority::Refused>(answer));
            } else if (!one) {
                const authority::VerifyAnswer& told = found->front();
                reply.array(told.verified.current.size());
                for (const lease::Lease& lease : told.verified.current)
                    put_lease(reply, told.name.resource, lease, told.at);
            } else if (found->front().verified.state == lease::LeaseState::unknown) {
                put_error(reply, Code::unknown_lease);
            } else {
                put_verified(reply, found->front());
            }
            exchange.finish();
        });
}

/// `LEASE.LIST [HOLDER h] [PREFIX p] [NAMESPACE n] [LIMIT n] [AFTER cursor]`
void list_leases(Exchange& exchange) {
    const auto query = read_list(exchange.words());
    if (!query) return fail(exchange, query.error());
    exchange.authority().list(*query, [&exchange](const authority::Answer<store::ListPage>& answer) {
        auto reply = exchange.reply();
        if (const auto* refused = std::get_if<authority::Refused>(&answer)) {
            put_refused(reply, *refused);
            return exchange.finish();
        }
        const store::ListPage& page = std::get<store::ListPage>(answer);
        reply.map(2);
        reply.bulk("leases");
        reply.array(page.leases.size());
        for (const store::NamedLease& named : page.leases)
            put_lease(reply, named.resource, named.lease, exchange.authority().now());
        reply.bulk("next");
        if (page.next.empty())
            reply.null();
        else
            reply.bulk(page.next);
        exchange.finish();
    });
}

// ---- LEASE.ACQUIRE ----

/// R8: the lease ends with the connection, which may have ended before the grant.
void bind_to_connection(Exchange& exchange, std::string_view resource, const lease::Lease& lease) {
    if (exchange.gone())
        exchange.authority().single_record().release(
            resource, lease.holder, lease.token, [](const authority::SingleRecordAnswer&) {}, lease.session);
    else
        exchange.session().scoped().add({std::string(resource), lease.token}, lease.holder);
}

void acquire_at_once(Exchange& exchange, const AcquireArguments& asked, std::string_view resource) {
    exchange.authority().single_record().acquire(
        resource, asked.holder, asked.predicate, asked.ttl,
        [&exchange, scoped = asked.scoped](const authority::SingleRecordAnswer& answer) {
            if (answer.has_lease && scoped) bind_to_connection(exchange, answer.resource, answer.lease);
            auto reply = exchange.reply();
            put_acquired(reply, answer.resource, answer);
            exchange.finish();
        });
}

/// The door's own part in an acquisition: scope of the grant, and progress while it waits.
struct Attention {
    bool scoped = false;
    Duration progress{};
};

void acquire_with_patience(Exchange& exchange, authority::AcquireRequest request, Attention attention) {
    if (request.wait > Duration::zero()) request.reachable = [&exchange] { return exchange.reachable(); };
    const auto ticket = exchange.authority().acquire(
        std::move(request), [&exchange, scoped = attention.scoped](const authority::AcquireAnswer& answer) {
            const auto* granted = std::get_if<authority::AcquireGranted>(&answer);
            if (granted != nullptr && scoped)
                bind_to_connection(exchange, granted->leases.front().resource, granted->leases.front().lease);
            auto reply = exchange.reply();
            put_acquired(reply, answer, exchange.authority().now());
            exchange.finish();
        });
    if (ticket != 0) exchange.waits(ticket, attention.progress);
}

/// Registers the holder as an agent with this priority, then acquires (G5).
void acquire_as_agent(Exchange& exchange, authority::AcquireRequest request, Attention attention,
                      lease::Priority priority) {
    authority::AgentRequest agent{request.caller, request.holder, priority, request.epoch};
    auto asked = std::make_unique<authority::AcquireRequest>(std::move(request));
    exchange.authority().put_agent(
        std::move(agent), [&exchange, asked = std::move(asked),
                           attention](const authority::Answer<authority::AgentAnswer>& answer) mutable {
            const auto* refused = std::get_if<authority::Refused>(&answer);
            if (refused == nullptr && !exchange.gone())
                return acquire_with_patience(exchange, std::move(*asked), attention);
            auto reply = exchange.reply();
            put_refused(reply, refused != nullptr ? *refused : authority::Refused{Code::cancelled, {}, {}});
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
    if (asked->progress > Duration::zero() && session.client().protocol != codec::resp::Protocol::resp3)
        return fail(exchange,
                    invalid_argument("PROGRESS needs RESP3: send HELLO 3 first, or wait in slices with a short "
                                     "WAIT"));
    const bool leads = lease::owner_of(*resource) == lease::Owner::leaders;
    if (asked->is_plain() && !leads && !exchange.authority().is_agent(asked->holder))
        return acquire_at_once(exchange, *asked, *resource);
    authority::AcquireRequest request;
    request.caller = {session.peer(), session.id()};
    request.holder = asked->holder;
    request.epoch = asked->epoch;
    request.session = asked->session;
    if (leads && request.session.empty()) request.session = random_hex(16);  // needed to step down (R2)
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
    std::span<const std::string_view> others;  ///< pairs of resource and token
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
    if (!same_word(words[0], "ALSO")) return invalid_argument("unknown option " + std::string(words[0].substr(0, 64)));
    read.many = true;
    read.others = words.subspan(1);
    if (read.others.size() % 2 != 0) return invalid_argument("ALSO takes pairs of a resource and a token");
    if (read.others.size() / 2 >= lease::limits::leases_per_request)
        return invalid_argument("at most 1000 leases can be named in one command");
    return read;
}

/// Renewal or release, and how to write its reply.
struct Verb {
    bool renews;
    void (*put)(codec::resp::ReplyWriter& reply, std::string_view resource,
                const authority::SingleRecordAnswer& answer);
};
constexpr Verb renewing{true, put_renewed};
constexpr Verb releasing{false, [](codec::resp::ReplyWriter& reply, std::string_view,
                                   const authority::SingleRecordAnswer& answer) { put_released(reply, answer); }};

/// Calls `done` if the name is well formed, else returns the error.
Result<void> keep_one(Exchange& exchange, std::span<const std::string_view> name, const Keeping& asked,
                      const Verb& verb, authority::SingleRecord::Done done) {
    std::string room;
    const auto token = read_token(name[1]);
    if (!token) return token.error();
    const auto resource = one_name(name[0], {}, FullNames::allowed, room);
    if (!resource) return resource.error();
    authority::SingleRecord& single_record = exchange.authority().single_record();
    if (verb.renews) {
        single_record.renew(*resource, asked.holder, *token, asked.ttl, std::move(done));
    } else {
        if (!exchange.gone()) exchange.session().scoped().forget_if_of(*token, asked.holder);
        single_record.release(*resource, asked.holder, *token, std::move(done), asked.session);
    }
    return {};
}

/// The replies of a command that names many leases, in the order of the names (R1).
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
        const auto kept = keep_one(exchange, name, asked, verb,
                                   [many, i, protocol, put = verb.put](const authority::SingleRecordAnswer& answer) {
                                       codec::resp::ReplyWriter reply(many->replies[i], protocol);
                                       put(reply, answer.resource, answer);
                                       many->arrived();
                                   });
        if (kept) continue;
        codec::resp::ReplyWriter reply(many->replies[i], protocol);
        put_error(reply, Code::invalid_argument, kept.error().message);
        many->arrived();
    }
}

void keep(Exchange& exchange, const Verb& verb) {
    const auto asked = read_keeping(exchange.words(), verb.renews);
    if (!asked) return fail(exchange, asked.error());
    if (asked->many) return keep_many(exchange, *asked, verb);
    const auto kept = keep_one(exchange, asked->first, *asked, verb,
                               [&exchange, put = verb.put](const authority::SingleRecordAnswer& answer) {
                                   auto reply = exchange.reply();
                                   put(reply, answer.resource, answer);
                                   exchange.finish();
                               });
    if (!kept) fail(exchange, kept.error());
}

constexpr std::array lease_table{
    RespCommand{.name = "LEASE.ACQUIRE",
                .arity = -4,
                .handler = acquire,
                .writes = true,
                .first_key = 1,
                .last_key = 1,
                .key_step = 1,
                .summary = "Acquires a lease, or names the conflicts.",
                .foresight = {1, 2}},
    RespCommand{.name = "LEASE.RENEW",
                .arity = -4,
                .handler = [](Exchange& exchange) { keep(exchange, renewing); },
                .writes = true,
                .first_key = 1,
                .last_key = 1,
                .key_step = 1,
                .summary = "Renews leases of one holder, each with its own answer.",
                .foresight = {1}},
    RespCommand{.name = "LEASE.RELEASE",
                .arity = -4,
                .handler = [](Exchange& exchange) { keep(exchange, releasing); },
                .writes = true,
                .first_key = 1,
                .last_key = 1,
                .key_step = 1,
                .summary = "Releases leases of one holder. Idempotent.",
                .foresight = {1, 3}},
    RespCommand{.name = "LEASE.VERIFY",
                .arity = -3,
                .handler = verify,
                .summary = "The state of leases, or of all leases of a holder."},
    RespCommand{.name = "LEASE.GET",
                .arity = -2,
                .handler = get_lease,
                .first_key = 1,
                .last_key = 1,
                .key_step = 1,
                .summary = "Who holds a resource, or one lease."},
    RespCommand{.name = "LEASE.LIST", .arity = -1, .handler = list_leases, .summary = "Leases, page by page."},
};

}  // namespace

std::span<const RespCommand> lease_commands() {
    return lease_table;
}

}  // namespace holdfast::doors::resp
