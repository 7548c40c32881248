#include <memory>
#include <optional>
#include <string>

#include "doors/resp/redis_call.h"
#include "doors/resp/redis_commands.h"

namespace holdfast {
namespace {

using core::RecordTransaction;
using core::SingleRecordAnswer;

/// SADD and SREM take members one after the other; one that cannot be taken ends it, with what came before done.
struct MemberChanges {
    Exchange& exchange;
    std::string key;
    std::vector<std::string> names;
    void (*rule)(RecordTransaction&);
    bool takes;
    std::size_t next = 0;
    std::int64_t done = 0;
};

void change_next(const std::shared_ptr<MemberChanges>& changes) {
    if (changes->next == changes->names.size()) return reply_integer(changes->exchange, changes->done);
    const std::string& name = changes->names[changes->next++];
    run(changes->exchange, {changes->key, name, changes->takes}, changes->rule,
        [changes](const SingleRecordAnswer& answer) {
            if (failed(changes->exchange, answer)) return;
            changes->done += redis::outcome_of(answer) == redis::KeyOutcome::done ? 1 : 0;
            change_next(changes);
        });
}

constexpr std::size_t members_per_command = 256;  // as a manifest has intents (G1)

void change(Exchange& exchange, void (*rule)(RecordTransaction&), bool takes) {
    const auto words = exchange.words();
    const auto names = words.subspan(2);
    if (names.size() > members_per_command) return fail(exchange, "more than 256 members in one command");
    if (takes)
        for (const std::string_view name : names)
            if (!usable(exchange, words[1], name)) return;
    change_next(std::make_shared<MemberChanges>(
        MemberChanges{exchange, std::string(words[1]), {names.begin(), names.end()}, rule, takes}));
}

}  // namespace

void redis_sadd_command(Exchange& exchange) {
    change(exchange, redis::add_member, true);
}

void redis_srem_command(Exchange& exchange) {
    change(exchange, redis::remove_member, false);
}

void redis_sismember_command(Exchange& exchange) {
    const auto words = exchange.words();
    run(exchange, {words[1], words[2]}, &redis::is_member, [&exchange](const SingleRecordAnswer& answer) {
        if (!failed(exchange, answer)) reply_integer(exchange, answer.number);
    });
}

void redis_smembers_command(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::members, [&exchange](const SingleRecordAnswer& answer) {
        if (failed(exchange, answer)) return;
        resp::ReplyWriter reply = exchange.reply();
        reply.array(static_cast<std::size_t>(answer.number));
        std::string_view names = answer.text;
        for (std::size_t end = names.find('\0'); end != std::string_view::npos; end = names.find('\0')) {
            reply.bulk(names.substr(0, end));
            names.remove_prefix(end + 1);
        }
        exchange.finish();
    });
}

void redis_scard_command(Exchange& exchange) {
    run(exchange, {exchange.words()[1]}, &redis::members, [&exchange](const SingleRecordAnswer& answer) {
        if (!failed(exchange, answer)) reply_integer(exchange, answer.number);
    });
}

}  // namespace holdfast
