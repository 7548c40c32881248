#include "doors/resp/lease_looks.h"

#include "authority/authority.h"
#include "base/text.h"
#include "doors/resp/command_table.h"
#include "doors/resp/lease_arguments.h"
#include "doors/resp/lease_replies.h"
#include "lease/limits.h"
#include "lease/manifest.h"

namespace holdfast {

using namespace core;

namespace {

constexpr std::size_t max_page = 1000;

void answer_verified(Exchange& exchange, const Answer<std::vector<VerifyAnswer>>& answer) {
    auto reply = exchange.reply();
    if (const auto* refused = std::get_if<Refused>(&answer)) {
        put_refused(reply, *refused);
    } else {
        const auto& all = std::get<std::vector<VerifyAnswer>>(answer);
        reply.array(all.size());
        for (const VerifyAnswer& one : all)
            put_verified(reply, one);
    }
    exchange.finish();
}

Result<LeaseName> read_name(std::string_view resource, std::string_view token_text) {
    std::string room;
    const auto name = one_name(resource, {}, FullNames::allowed, room);
    if (!name) return name.error();
    const auto token = read_token(token_text);
    if (!token) return token.error();
    return LeaseName{std::string(*name), *token};
}

/// Which leases to list, as views of the command's words.
Result<ListQuery> read_list(std::span<const std::string_view> words) {
    ListQuery query;
    if (words.size() % 2 == 0) return invalid_argument("an option is without its value");
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
            return invalid_argument("there is no option " + std::string(words[i].substr(0, 64)));
        }
    }
    return query;
}

}  // namespace

void verify_command(Exchange& exchange) {
    const auto words = exchange.words();
    if (same_word(words[1], "HOLDER") && words.size() == 3)
        return exchange.authority().verify_all(
            std::string(words[2]), {},
            [&exchange](const Answer<std::vector<VerifyAnswer>>& answer) { answer_verified(exchange, answer); });
    if (words.size() % 2 == 0) return fail(exchange, invalid_argument("a resource is without its token"));
    if (words.size() / 2 > limits::leases_per_request)
        return fail(exchange, invalid_argument("at most 1000 leases can be named in one command"));
    std::vector<LeaseName> names;
    for (std::size_t i = 1; i < words.size(); i += 2) {
        auto name = read_name(words[i], words[i + 1]);
        if (!name) return fail(exchange, name.error());
        names.push_back(std::move(*name));
    }
    exchange.authority().verify(std::move(names), [&exchange](const Answer<std::vector<VerifyAnswer>>& answer) {
        answer_verified(exchange, answer);
    });
}

void get_command(Exchange& exchange) {
    const auto words = exchange.words();
    if (words.size() > 3) return fail(exchange, invalid_argument("LEASE.GET takes a resource and perhaps a token"));
    const bool one = words.size() == 3;
    auto name = read_name(words[1], one ? words[2] : std::string_view{"0"});
    if (!name) return fail(exchange, name.error());
    std::vector<LeaseName> names{std::move(*name)};
    exchange.authority().verify(std::move(names), [&exchange, one](const Answer<std::vector<VerifyAnswer>>& answer) {
        auto reply = exchange.reply();
        const auto* found = std::get_if<std::vector<VerifyAnswer>>(&answer);
        if (found == nullptr) {
            put_refused(reply, std::get<Refused>(answer));
        } else if (!one) {
            const VerifyAnswer& told = found->front();
            reply.array(told.verified.current.size());
            for (const Lease& lease : told.verified.current)
                put_lease(reply, told.name.resource, lease, told.at);
        } else if (found->front().verified.state == LeaseState::unknown) {
            put_error(reply, Code::unknown_lease);
        } else {
            put_verified(reply, found->front());
        }
        exchange.finish();
    });
}

void list_command(Exchange& exchange) {
    const auto query = read_list(exchange.words());
    if (!query) return fail(exchange, query.error());
    exchange.authority().list(*query, [&exchange](const Answer<ListPage>& answer) {
        auto reply = exchange.reply();
        if (const auto* refused = std::get_if<Refused>(&answer)) {
            put_refused(reply, *refused);
            return exchange.finish();
        }
        const ListPage& page = std::get<ListPage>(answer);
        reply.map(2);
        reply.bulk("leases");
        reply.array(page.leases.size());
        for (const NamedLease& named : page.leases)
            put_lease(reply, named.resource, named.lease, exchange.authority().now());
        reply.bulk("next");
        if (page.next.empty())
            reply.null();
        else
            reply.bulk(page.next);
        exchange.finish();
    });
}

}  // namespace holdfast
