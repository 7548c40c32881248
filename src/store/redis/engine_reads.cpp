#include <algorithm>

#include "base/text.h"
#include "codec/resp/resp_command.h"
#include "lease/resource.h"
#include "store/redis/engine_impl.h"

namespace holdfast::store::redis {
namespace {

constexpr std::size_t min_count = 10;
constexpr std::size_t max_count = 1000;
constexpr std::size_t max_rounds = 8;  // while no name is found

constexpr std::size_t sweep_bytes = 256;  // size of a `sweep` command
constexpr std::size_t max_swept = 256;    // in one call of the script, which blocks other clients
constexpr Duration overdue_after = 2s;
constexpr Micros named_again_after = 10'000'000;

/// The trees that contain a path, except those too deep to be queried one by one.
std::vector<std::string> trees_above(const lease::FilePath& file) {
    std::vector<std::string> out;
    for (const std::string_view folder : folders_above(file.path))
        out.push_back(std::string(file.scope) + std::string(folder) + "/**");
    return out;
}

/// The folder whose set contains everything else that may overlap; nothing if no such set is needed.
std::optional<std::string_view> folder_to_look_in(const lease::FilePath& file) {
    const auto above = folders_above(file.path);
    if (above.size() > max_folder_depth) return above.back();
    if (file.tree) return file.path;
    return std::nullopt;
}

}  // namespace

/// Reads the names in a set: at most `most`, plus one if there are more.
void RedisEngine::names_in(const std::string& set, std::size_t most, Callback<Result<std::vector<std::string>>> reply) {
    const auto link = link_for(set.size());
    if (!link) return fail(std::move(reply), link.error());
    codec::resp::write_command((*link)->begin(), {"ZRANGE", set, "0", std::to_string(most)});
    (*link)->end({.reply = [this, reply = std::move(reply)](Result<codec::resp::Value> answer) mutable {
        if (!answer) return reply(answer.error());
        if (answer->type != codec::resp::Value::Type::array) return reply(unreadable("malformed reply to ZRANGE"));
        std::vector<std::string> names;
        for (codec::resp::Value& name : answer->items)
            names.push_back(std::move(name.text));
        reply(std::move(names));
    }});
}

/// Reads the values under these names. The time is read first.
void RedisEngine::get_all(Kind kind, std::vector<std::string> names, Callback<Result<Got>> reply) {
    const auto link = link_for(names.size() * 64);
    if (!link) return fail(std::move(reply), link.error());
    auto getting = std::make_shared<Getting>();
    getting->got.values.resize(names.size());
    getting->got.names = std::move(names);
    getting->missing = 1 + getting->got.names.size();
    getting->reply = std::move(reply);
    get_time(**link, getting);
    get_values(**link, kind, getting);
}

void RedisEngine::get_time(Link& link, const std::shared_ptr<Getting>& getting) {
    codec::resp::write_command(link.begin(), {"TIME"});
    link.end({.reply = [this, getting](const Result<codec::resp::Value>& answer) {
        const auto now = answer ? time_in(*answer) : Result<EngineTime>(answer.error());
        if (now)
            getting->got.now = *now;
        else
            getting->error = now.error();
        got_one(getting);
    }});
}

void RedisEngine::get_values(Link& link, Kind kind, const std::shared_ptr<Getting>& getting) {
    for (std::size_t i = 0; i < getting->got.names.size(); ++i) {
        codec::resp::write_command(link.begin(), {"GET", keys_.kept(kind, getting->got.names[i])});
        link.end({.reply = [this, getting, i](Result<codec::resp::Value> answer) {
            if (!answer) {
                getting->error = answer.error();
            } else if (answer->type != codec::resp::Value::Type::null) {
                auto stored = stored_in(*answer);
                if (stored)
                    getting->got.values[i] = std::move(*stored);
                else
                    getting->error = stored.error();
            }
            got_one(getting);
        }});
    }
}

void RedisEngine::got_one(const std::shared_ptr<Getting>& getting) {
    if (--getting->missing > 0) return;
    if (getting->error) return getting->reply(*getting->error);
    getting->reply(std::move(getting->got));
}

void RedisEngine::show(std::vector<std::string> names, bool cut, Callback<Result<cas::FoundRecords>> reply) {
    get_all(Kind::record, std::move(names), [reply = std::move(reply), cut](Result<Got> got) mutable {
        if (!got) return reply(got.error());
        cas::FoundRecords read{{}, got->now, cut};
        for (std::size_t i = 0; i < got->names.size(); ++i)
            if (got->values[i]) read.entries.push_back({std::move(got->names[i]), std::move(*got->values[i])});
        reply(std::move(read));
    });
}

void RedisEngine::of_holder(std::string_view holder, std::size_t most, Callback<Result<cas::FoundRecords>> reply) {
    names_in(keys_.holder(holder), most,
             [this, most, reply = std::move(reply)](Result<std::vector<std::string>> names) mutable {
                 if (!names) return reply(names.error());
                 const bool cut = names->size() > most;
                 if (cut) names->resize(most);
                 show(std::move(*names), cut, std::move(reply));
             });
}

void RedisEngine::overlapping(std::string_view resource, std::size_t most, Callback<Result<cas::FoundRecords>> reply) {
    const auto file = lease::file_path(resource);
    std::vector<std::string> names = file ? trees_above(*file) : std::vector<std::string>{};
    const auto folder = file ? folder_to_look_in(*file) : std::nullopt;
    const bool cut = names.size() > most;
    if (cut) names.resize(most);
    if (!folder || cut) return show(std::move(names), cut, std::move(reply));
    const auto set = std::string(file->scope) + std::string(folder_with_set(*folder));
    names_in(keys_.folder(set), most,
             [this, most, names = std::move(names), resource = std::string(resource),
              reply = std::move(reply)](Result<std::vector<std::string>> found) mutable {
                 if (!found) return reply(found.error());
                 bool more = found->size() > most;
                 const auto self = lease::file_path(resource);
                 for (std::string& name : *found) {
                     const auto other = lease::file_path(name);
                     if (!other || !lease::overlap(*self, *other) || std::ranges::find(names, name) != names.end())
                         continue;
                     if (names.size() == most) {
                         more = true;
                         break;
                     }
                     names.push_back(std::move(name));
                 }
                 show(std::move(names), more, std::move(reply));
             });
}

// ---- pages, and records that are overdue ----

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
                       Callback<Result<cas::Page>> reply) {
    if (!nodes_->is_up()) return fail(std::move(reply), nodes_->why_down());
    auto scanning = std::make_shared<Scanning>();
    if (!read_cursor(after, *scanning))
        return fail(std::move(reply), Error{Code::invalid_argument, "there is no such page"});
    scanning->kind = kind;
    scanning->pattern = keys_.pattern(kind, prefix);
    scanning->count = std::to_string(std::clamp(most, min_count, max_count));
    scanning->reply = std::move(reply);
    scan_on(scanning);
}

void RedisEngine::scan_on(const std::shared_ptr<Scanning>& scanning) {
    std::string command;
    codec::resp::write_command(command,
                               {"SCAN", scanning->cursor, "MATCH", scanning->pattern, "COUNT", scanning->count});
    const auto link = link_for(command.size());
    if (!link) return fail(std::move(scanning->reply), link.error());
    (*link)->send(command,
                  [this, scanning](Result<codec::resp::Value> answer) { scanned(scanning, std::move(answer)); });
}

void RedisEngine::scanned(const std::shared_ptr<Scanning>& scanning, Result<codec::resp::Value> answer) {
    if (!answer) return scanning->reply(answer.error());
    if (answer->is_error()) return scanning->reply(unavailable("Redis refuses to scan: " + quoted(answer->text)));
    if (answer->items.size() != 2 || !parse_number(answer->items[0].text))
        return scanning->reply(unreadable("malformed reply to SCAN"));
    scanning->cursor = answer->items[0].text;
    const std::size_t front = keys_.kept(scanning->kind, {}).size();
    for (const codec::resp::Value& key : answer->items[1].items)
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
        cas::Page page{{}, got->now, std::move(next)};
        for (std::size_t i = 0; i < got->names.size(); ++i)
            if (got->values[i]) page.entries.push_back({std::move(got->names[i]), std::move(*got->values[i])});
        scanning->reply(std::move(page));
    });
}

/// Also deletes records that are past their end, however many: nobody else does.
void RedisEngine::overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) {
    auto sweeping = std::make_shared<Sweeping>();
    sweeping->most = most;
    sweeping->reply = std::move(reply);
    sweep_on(sweeping);
}

void RedisEngine::sweep_on(const std::shared_ptr<Sweeping>& sweeping) {
    const auto link = link_for(sweep_bytes);
    if (!link) return fail(std::move(sweeping->reply), link.error());
    const std::size_t most = std::min(sweeping->most - sweeping->names.size(), max_swept);
    CommandWriter((*link)->begin(), nodes_->master().facts.scripts, Script::sweep, 1, 3)
        .add(keys_.due())
        .add(static_cast<std::int64_t>(most))
        .add(micros_up(EngineTime{overdue_after}))
        .add(named_again_after);
    (*link)->end({.reply = [this, sweeping](Result<codec::resp::Value> answer) { swept(sweeping, std::move(answer)); },
                  .script = Script::sweep});
}

void RedisEngine::swept(const std::shared_ptr<Sweeping>& sweeping, Result<codec::resp::Value> answer) {
    const auto now = answer ? time_in(*answer) : Result<EngineTime>(answer.error());
    if (!now) return sweeping->reply(now.error());
    const bool is_whole = answer->items.size() >= 3 && answer->items[2].type == codec::resp::Value::Type::integer;
    if (!is_whole) return sweeping->reply(unreadable("malformed reply to the script for overdue records"));
    const std::size_t room = sweeping->most - sweeping->names.size();
    for (std::size_t i = 3; i < answer->items.size() && i - 3 < room; ++i)
        sweeping->names.push_back(std::move(answer->items[i].text));
    const bool more = answer->items[2].number >= static_cast<std::int64_t>(std::min(room, max_swept));
    if (more && sweeping->names.size() < sweeping->most) return sweep_on(sweeping);
    sweeping->reply(std::move(sweeping->names));
}

}  // namespace holdfast::store::redis
