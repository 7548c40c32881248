#include <algorithm>

#include "base/text.h"
#include "codec/resp/resp_command.h"
#include "lease/resource.h"
#include "store/redis/engine_impl.h"

namespace holdfast::redis_engine {
namespace {

/// The trees that contain a path, except those too deep to be queried one by one.
std::vector<std::string> trees_above(const core::FilePath& file) {
    std::vector<std::string> out;
    for (const std::string_view folder : folders_above(file.path))
        out.push_back(std::string(file.scope) + std::string(folder) + "/**");
    return out;
}

/// The folder whose set contains everything else that may overlap; nothing if no such set is needed.
std::optional<std::string_view> folder_to_look_in(const core::FilePath& file) {
    const auto above = folders_above(file.path);
    if (above.size() > max_folder_depth) return above.back();
    if (file.tree) return file.path;
    return std::nullopt;
}

}  // namespace

/// Reads the names in an index: at most `most`, plus one if there are more.
void RedisEngine::look(const std::string& index, std::size_t most, Callback<Result<Got>> reply) {
    const auto link = link_for(index.size());
    if (!link) return fail(std::move(reply), link.error());
    CommandWriter((*link)->begin(Link::Lane::then), nodes_->master().facts.scripts, Script::look, index, 1)
        .add(static_cast<std::int64_t>(most + 1));
    (*link)->end(Link::Lane::then, {.reply =
                                        [this, reply = std::move(reply)](Result<resp::Value> answer) mutable {
                                            if (!answer) return reply(answer.error());
                                            if (const auto now = time_in(*answer); !now) return reply(now.error());
                                            Got got;
                                            for (std::size_t i = 2; i < answer->items.size(); ++i)
                                                got.names.push_back(std::move(answer->items[i].text));
                                            reply(std::move(got));
                                        },
                                    .script = Script::look});
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
    resp::write_command(link.begin(Link::Lane::then), {"TIME"});
    link.end(Link::Lane::then, {.reply = [this, getting](const Result<resp::Value>& answer) {
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
        resp::write_command(link.begin(Link::Lane::then), {"GET", keys_.kept(kind, getting->got.names[i])});
        link.end(Link::Lane::then, {.reply = [this, getting, i](Result<resp::Value> answer) {
                     if (!answer) {
                         getting->error = answer.error();
                     } else if (answer->type != resp::Value::Type::null) {
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

void RedisEngine::show(Got found, bool cut, Callback<Result<core::Sight>> reply) {
    get_all(Kind::record, std::move(found.names), [reply = std::move(reply), cut](Result<Got> got) mutable {
        if (!got) return reply(got.error());
        core::Sight sight{{}, got->now, cut};
        for (std::size_t i = 0; i < got->names.size(); ++i)
            if (got->values[i]) sight.entries.push_back({std::move(got->names[i]), std::move(got->values[i]->kept)});
        reply(std::move(sight));
    });
}

void RedisEngine::of_holder(std::string_view holder, std::size_t most, Callback<Result<core::Sight>> reply) {
    look(keys_.holder(holder), most, [this, most, reply = std::move(reply)](Result<Got> found) mutable {
        if (!found) return reply(found.error());
        const bool cut = found->names.size() > most;
        if (cut) found->names.resize(most);
        show(std::move(*found), cut, std::move(reply));
    });
}

void RedisEngine::overlapping(std::string_view resource, std::size_t most, Callback<Result<core::Sight>> reply) {
    const auto file = core::file_path(resource);
    std::vector<std::string> names = file ? trees_above(*file) : std::vector<std::string>{};
    const auto folder = file ? folder_to_look_in(*file) : std::nullopt;
    const bool cut = names.size() > most;
    if (cut) names.resize(most);
    if (!folder || cut) return show({std::move(names)}, cut, std::move(reply));
    look(keys_.folder(file->scope, folder_with_set(*folder)), most,
         [this, most, names = std::move(names), resource = std::string(resource),
          reply = std::move(reply)](Result<Got> found) mutable {
             if (!found) return reply(found.error());
             bool more = found->names.size() > most;
             const auto self = core::file_path(resource);
             for (std::string& name : found->names) {
                 const auto other = core::file_path(name);
                 if (!other || !core::overlap(*self, *other) || std::ranges::find(names, name) != names.end()) continue;
                 if (names.size() == most) {
                     more = true;
                     break;
                 }
                 names.push_back(std::move(name));
             }
             show({std::move(names)}, more, std::move(reply));
         });
}

}  // namespace holdfast::redis_engine
