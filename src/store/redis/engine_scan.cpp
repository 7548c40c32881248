#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "codec/resp/resp_command.h"
#include "store/redis/engine_impl.h"

namespace holdfast::redis_engine {
namespace {

constexpr std::size_t count_least = 10;
constexpr std::size_t max_count = 1000;
constexpr std::size_t max_rounds = 8;  // while no name is found

constexpr std::size_t take_bytes = 256;  // size of a `take` command

constexpr Micros taken_for = 10'000'000;
constexpr Duration looked_at_again = 10min;  // at the latest, in case another front made it due earlier meanwhile

}  // namespace

// A page cursor is `LIFE.CURSOR`. A Redis cursor is a position in the hash table of one process: with another process
// the scan starts over.

std::string RedisEngine::cursor_text(const Scanning& scanning) const {
    return std::to_string(nodes_->life()) + '.' + scanning.cursor;
}

bool RedisEngine::read_cursor(std::string_view text, Scanning& scanning) const {
    if (text.empty()) return true;
    const auto dot = std::min(text.find('.'), text.size());
    const auto life = parse_number(text.substr(0, dot));
    const auto cursor = parse_number(text.substr(std::min(dot + 1, text.size())));
    if (!life || !cursor) return false;
    if (*life == nodes_->life()) scanning.cursor = std::to_string(*cursor);
    return true;
}

void RedisEngine::scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
                       Callback<Result<core::Page>> reply) {
    if (!nodes_->is_up()) return fail(std::move(reply), nodes_->why_down());
    auto scanning = std::make_shared<Scanning>();
    if (!read_cursor(after, *scanning))
        return fail(std::move(reply), Error{"invalid_argument", "there is no such page"});
    scanning->kind = kind;
    scanning->pattern = keys_.pattern(kind, prefix);
    scanning->count = std::to_string(std::clamp(most, count_least, max_count));
    scanning->reply = std::move(reply);
    scan_on(scanning);
}

void RedisEngine::scan_on(const std::shared_ptr<Scanning>& scanning) {
    std::string command;
    resp::write_command(command, {"SCAN", scanning->cursor, "MATCH", scanning->pattern, "COUNT", scanning->count});
    const auto link = link_for(command.size());
    if (!link) return fail(std::move(scanning->reply), link.error());
    (*link)->send(command, [this, scanning](Result<resp::Value> answer) { scanned(scanning, std::move(answer)); });
}

void RedisEngine::scanned(const std::shared_ptr<Scanning>& scanning, Result<resp::Value> answer) {
    if (!answer) return scanning->reply(answer.error());
    if (answer->is_error()) return scanning->reply(unavailable("Redis refuses to scan: " + quoted(answer->text)));
    if (answer->items.size() != 2 || !parse_number(answer->items[0].text))
        return scanning->reply(unreadable("the answer to SCAN is none"));
    scanning->cursor = answer->items[0].text;
    const std::size_t front = keys_.kept(scanning->kind, {}).size();
    for (const resp::Value& key : answer->items[1].items)
        if (key.text.size() >= front) scanning->names.push_back(key.text.substr(front));
    const bool more = scanning->cursor != "0";
    if (scanning->names.empty() && more && ++scanning->rounds < max_rounds) return scan_on(scanning);
    scan_done(scanning);
}

void RedisEngine::scan_done(const std::shared_ptr<Scanning>& scanning) {
    std::ranges::sort(scanning->names);
    const auto same = std::ranges::unique(scanning->names);
    scanning->names.erase(same.begin(), same.end());
    std::string next = scanning->cursor != "0" ? cursor_text(*scanning) : "";
    get_all(scanning->kind, std::move(scanning->names), [scanning, next = std::move(next)](Result<Got> got) mutable {
        if (!got) return scanning->reply(got.error());
        core::Page page{{}, got->now, std::move(next)};
        for (std::size_t i = 0; i < got->names.size(); ++i)
            if (got->values[i]) page.entries.push_back({std::move(got->names[i]), std::move(got->values[i]->kept)});
        scanning->reply(std::move(page));
    });
}

void RedisEngine::overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) {
    auto taking = std::make_shared<Taking>();
    taking->missing = Keys::due_sets;
    taking->most = most;
    const auto found = link_for(take_bytes * Keys::due_sets);
    if (!found) return fail(std::move(reply), found.error());
    taking->reply = std::move(reply);
    const auto share = static_cast<std::int64_t>(std::max<std::size_t>(1, most / Keys::due_sets));
    Link& link = **found;
    for (std::uint32_t set = 0; set < Keys::due_sets; ++set) {
        CommandWriter(link.begin(Link::Lane::then), nodes_->master().facts.scripts, Script::take, keys_.due(set), 3)
            .add(share)
            .add(micros_up(EngineTime{overdue_after}))
            .add(taken_for);
        link.end(Link::Lane::then,
                 {.reply = [this, taking, set](Result<resp::Value> answer) { taken(taking, set, std::move(answer)); },
                  .script = Script::take});
    }
}

void RedisEngine::taken(const std::shared_ptr<Taking>& taking, std::uint32_t set, Result<resp::Value> answer) {
    const auto now = answer ? time_in(*answer) : Result<EngineTime>(answer.error());
    if (!now) {
        taking->error = now.error();
    } else if (answer->items.size() < 3) {
        taking->error = unreadable("the answer to who is due is none");
    } else {
        for (std::size_t i = 3; i < answer->items.size() && taking->names.size() < taking->most; ++i) {
            const std::string_view member = answer->items[i].text;
            const auto front = member.substr(0, Keys::front_bytes);
            taking->names.emplace_back(member.substr(front.size()));
            taking->from.push_back({set, answer->items[2].text, std::string(front)});
        }
    }
    if (--taking->missing == 0) taken_all(taking);
}

void RedisEngine::taken_all(const std::shared_ptr<Taking>& taking) {
    if (taking->error) return taking->reply(*taking->error);
    if (taking->names.empty()) return taking->reply(std::vector<std::string>{});
    auto names = taking->names;
    get_all(Kind::record, std::move(names), [this, taking](Result<Got> got) {
        if (!got) return taking->reply(got.error());
        taking->reply(settle(*taking, *got));
    });
}

/// Returns the records that are really overdue. The entries of the others are moved, or removed if the record is gone
/// or this front has an entry of its own that serves as well; otherwise entries of fronts that are gone would stay as
/// long as the record.
std::vector<std::string> RedisEngine::settle(const Taking& taking, const Got& got) {
    std::vector<std::string> late;
    for (std::size_t i = 0; i < got.names.size(); ++i) {
        const std::string& name = got.names[i];
        const bool has_due = got.values[i] && got.values[i]->due;
        const EngineTime due = has_due ? *got.values[i]->due : EngineTime{};
        if (has_due && due + overdue_after <= got.now) {
            late.push_back(name);
            continue;
        }
        const Taking::Taken& from = taking.from[i];
        if (!nodes_->is_up()) continue;
        const Indexed* const known = from.front == front_ ? nullptr : memory_.find(name);
        const bool is_ours =
            known != nullptr && is_ahead(known->due, micros_up(got.now)) && known->due <= micros_down(due);
        std::string again;
        if (has_due && !is_ours) again = std::to_string(micros_down(std::min(due, got.now + looked_at_again)));
        add_to_batch(Script::settle, keys_.due(from.set), {from.mark, again, from.front + name}, nullptr);
    }
    std::ranges::sort(late);
    const auto same = std::ranges::unique(late);
    late.erase(same.begin(), same.end());
    return late;
}

}  // namespace holdfast::redis_engine
