#include <algorithm>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "lease/resource.h"
#include "store/redis/engine_impl.h"

namespace holdfast::store::redis {
namespace {

constexpr std::size_t command_bytes = 512;  // overhead of a command

// Limits of one script call: it blocks every other client of this Redis.
constexpr std::size_t max_swaps = 64;
constexpr std::size_t max_swap_bytes = 64 << 10;
constexpr std::size_t keys_of_all = 3;
constexpr std::size_t words_of_all = 5;
constexpr std::size_t words_each = 7;

/// Channels are not separated by database, so the name contains it.
std::string channel_of(const RedisEngineOptions& options) {
    const auto database = options.address.database;
    return options.prefix + (database == 0 ? "" : fmt::format(":{}", database)) + ":notices";
}

/// The names in `these` that are not in `those`. REQUIRES: both are in order.
std::vector<std::string_view> without(std::span<const std::string_view> these,
                                      std::span<const std::string_view> those) {
    std::vector<std::string_view> out;
    std::ranges::set_difference(these, those, std::back_inserter(out));
    return out;
}

}  // namespace

RedisEngine::RedisEngine(boost::asio::io_context& loop, RedisEngineOptions options)
    : loop_(loop),
      options_(std::move(options)),
      notices_(channel_of(options_)),
      keys_(options_.prefix, Keys::In::one_redis),
      nodes_(std::make_shared<Nodes>(loop, options_, notices_,
                                     Nodes::Hooks{.on_up = [this] { on_up(); },
                                                  .before_sending = [this] { send_swaps(); },
                                                  .on_closed = [this] { drop_swaps(); }})) {}

RedisEngine::~RedisEngine() {
    nodes_->stop();
}

void RedisEngine::start(cas::EngineListener& listener) {
    nodes_->start(listener);
}

void RedisEngine::stop() {
    nodes_->stop();
}

void RedisEngine::on_up() {
    keys_ = Keys(options_.prefix, nodes_->in_cluster() ? Keys::In::cluster : Keys::In::one_redis);
}

/// Error: unavailable, or too much in flight.
Result<Link*> RedisEngine::link_for(std::size_t bytes) {
    if (!nodes_->is_up()) return nodes_->why_down();
    Link* const link = nodes_->master().link.get();
    if (link->is_full(bytes + command_bytes)) return unavailable("too much is under way at the engine already");
    return link;
}

Error RedisEngine::unreadable(std::string_view what, std::size_t index) const {
    const Link& link = *nodes_->master().link;
    const std::string key = key_of(link.asked(), index);
    return unavailable(fmt::format("{}, key {}: {}", link.address().shown(), quoted(key), what));
}

Result<EngineTime> RedisEngine::time_in(const codec::resp::Value& answer) {
    const auto said = answer.type == codec::resp::Value::Type::array && answer.items.size() >= 2
                          ? read_time(answer.items[0].text, answer.items[1].text)
                          : std::nullopt;
    if (!said) return unreadable("the reply does not begin with the time");
    nodes_->observe(nodes_->master(), *said);
    return from_micros(*said);
}

/// The position follows the time in a reply.
Result<cas::Position> RedisEngine::position_in(const codec::resp::Value& answer) const {
    const bool said = answer.items.size() > 2 && answer.items[2].type == codec::resp::Value::Type::integer;
    if (!said || answer.items[2].number < 0) return unreadable("the reply has no position");
    return static_cast<cas::Position>(answer.items[2].number);
}

Result<cas::StoredValue> RedisEngine::stored_in(codec::resp::Value& value, std::size_t index) {
    const bool older = value.is_text() && is_of_older_version(value.text);
    auto stored = value.is_text() ? read_stored(std::move(value.text)) : std::nullopt;
    const Link& link = *nodes_->master().link;
    if (older)
        return cas::other_format(
            fmt::format("{}, key {}", link.address().shown(), quoted(key_of(link.asked(), index))));
    if (!stored) return unreadable("the value was not written by Holdfast", index);
    return std::move(*stored);
}

void RedisEngine::fetch(Kind kind, std::string_view name, Callback<Result<cas::Reading>> reply) {
    const std::string key = keys_.kept(kind, name);
    const auto link = link_for(key.size());
    if (!link) return fail(std::move(reply), link.error());
    CommandWriter((*link)->begin(), nodes_->master().facts.scripts, Script::fetch, 2, 0).add(key).add(keys_.position());
    (*link)->end({.reply = [this, reply = std::move(reply)](
                               Result<codec::resp::Value> answer) mutable { reply(read_fetched(std::move(answer))); },
                  .script = Script::fetch});
}

Result<cas::Reading> RedisEngine::read_fetched(Result<codec::resp::Value> answer) {
    if (!answer) return answer.error();
    const auto now = time_in(*answer);
    if (!now) return now.error();
    const auto position = position_in(*answer);
    if (!position) return position.error();
    cas::Reading reading{{}, *now, now->time_since_epoch() / 1ms, *position};
    if (answer->items.size() == 3) return reading;
    auto stored = stored_in(answer->items[3]);
    if (!stored) return stored.error();
    reading.value = std::move(*stored);
    return reading;
}

// ---- swaps ----

void RedisEngine::swap(const cas::Swap& swap, Callback<Result<cas::Swapped>> reply) {
    const auto link = link_for(swap.name.size() + swap.bytes.size() + swap.notice.size() + swaps_.bytes());
    if (!link) return fail(std::move(reply), link.error());
    if (swaps_under_way_ >= options_.max_calls)
        return fail(std::move(reply), unavailable("too much is under way at the engine already"));
    if (swaps_.marker != swap.marker) send_swaps();
    add(swap);
    swaps_.calls.push_back({std::move(reply), swap.expected, cas::Swapped{}});
    ++swaps_under_way_;
    if (swaps_.calls.size() >= max_swaps || swaps_.bytes() >= max_swap_bytes) return send_swaps();
    (*link)->wake();
}

/// Adds the swap to this turn's batch.
void RedisEngine::add(const cas::Swap& swap) {
    const Micros latest = micros_down(nodes_->clock_at_most(store_clock_now()) + lingers());
    swaps_.latest = swaps_.calls.empty() ? latest : std::min(swaps_.latest, latest);
    swaps_.marker = swap.marker;
    swaps_.position = std::max(swaps_.position, swap.position);
    std::string window;
    if (const Micros until = micros_down(swap.until); swap.from != EngineTime::min() || until < latest)
        window = fmt::format("{} {}", micros_up(swap.from), until);
    CommandWriter::append(swaps_.keys, {keys_.kept(swap.kind, swap.name)});
    std::string& out = swaps_.arguments;
    CommandWriter::append(out, {swap.expected == 0 ? std::string_view{} : std::string_view(mark_of(swap.expected))});
    if (swap.bytes.empty())
        CommandWriter::append(out, {{}});
    else
        CommandWriter::append_joined(out, stored_header(swap), swap.bytes);
    CommandWriter::append(out, {window});
    add_index_entries(swap, latest);
    CommandWriter::append(out, {swap.notice.empty() ? std::string() : with_length(swap.notice)});
}

/// The sets that a record enters and leaves. An entry in the due set that is early enough stays, so a renewal changes
/// no set: sweep() finds it early, and moves it to where it belongs. It moves no entry before that is due, so if that
/// may be by `latest`, there must be one again.
void RedisEngine::add_index_entries(const cas::Swap& swap, Micros latest) {
    const bool was = swap.expected != 0, is = !swap.bytes.empty();
    if (swap.kind == Kind::document || (!was && !is)) return CommandWriter::append(swaps_.arguments, {{}, "0", "0"});
    const std::span<const std::string_view> none;
    const auto before = was ? swap.replaced.holders : none, after = is ? swap.holders : none;
    const auto entered = without(after, before), left = without(before, after);
    const auto folders = was != is ? folders_of(swap.name) : std::vector<std::string_view>{};
    for (const std::string_view holder : entered)
        CommandWriter::append(swaps_.set_keys, {keys_.holder(holder)});
    for (const std::string_view holder : left)
        CommandWriter::append(swaps_.set_keys, {keys_.holder(holder)});
    for (const std::string_view folder : folders)
        CommandWriter::append(swaps_.set_keys, {keys_.folder(folder)});
    if (!is) CommandWriter::append(swaps_.set_keys, {keys_.due()});
    const std::size_t enters = entered.size() + (is ? folders.size() : 0);
    const std::size_t leaves = left.size() + (is ? 0 : folders.size() + 1);
    swaps_.sets += enters + leaves;
    const EngineTime due = std::min(swap.due, swap.keep_until);
    const EngineTime due_before = std::min(swap.replaced.due, swap.replaced.keep_until);
    const bool is_filed = was && due_before <= due && micros_down(due_before) > latest;
    const bool files = is && due != EngineTime::max() && !is_filed;
    CommandWriter::append(swaps_.arguments, {files ? std::to_string(micros_down(due)) : std::string(),
                                             std::to_string(enters), std::to_string(leaves)});
}

/// Sends this turn's batch.
void RedisEngine::send_swaps() {
    if (swaps_.calls.empty()) return;
    SwapBatch batch = std::exchange(swaps_, {});
    const std::size_t records = batch.calls.size();
    Link& link = *nodes_->master().link;
    std::string& out = link.begin();
    CommandWriter writer(out, nodes_->master().facts.scripts, Script::swap, records + keys_of_all + batch.sets,
                         words_of_all + words_each * records);
    out += batch.keys;
    writer.add(keys_.kept(Kind::record, cas::marker_name)).add(keys_.position()).add(keys_.due());
    out += batch.set_keys;
    writer.add(notices_).add(batch.latest);
    writer.add(batch.marker == WriteId{} ? std::string() : mark_of(batch.marker)).add(std::to_string(batch.position));
    writer.add(static_cast<std::int64_t>(records));
    out += batch.arguments;
    link.end({.reply = [this, calls = std::move(batch.calls)](
                           Result<codec::resp::Value> answer) mutable { swaps_answered(calls, std::move(answer)); },
              .script = Script::swap,
              .confirmed = true});
}

/// All outcomes are read before the first callback: a callback may close the connection, and with it the command being
/// answered.
void RedisEngine::swaps_answered(SwapCalls& calls, Result<codec::resp::Value> answer) {
    const auto read = answer ? read_swaps(calls, *answer) : Result<void>(answer.error());
    swaps_under_way_ -= calls.size();
    for (SwapCall& call : calls)
        call.reply(read ? std::move(call.outcome) : Result<cas::Swapped>(read.error()));
}

Result<void> RedisEngine::read_swaps(SwapCalls& calls, codec::resp::Value& answer) {
    const auto now = time_in(answer);
    if (!now) return now.error();
    const auto position = position_in(answer);
    if (!position) return position.error();
    const std::string letters = answer.items.size() > 3 ? answer.items[3].text : "";
    if (letters.size() != calls.size()) return unreadable("malformed reply to the swap script");
    codec::resp::Value none;
    std::size_t next = 4;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const bool has_value = letters[i] == SwapLetter::other || letters[i] == SwapLetter::error;
        codec::resp::Value& value = has_value && next < answer.items.size() ? answer.items[next++] : none;
        calls[i].outcome = read_swap(letters[i], value, i);
        if (!calls[i].outcome) continue;
        calls[i].outcome->now = *now;
        calls[i].outcome->position = *position;
        if (letters[i] == SwapLetter::time) calls[i].outcome->found.write = calls[i].expected;
    }
    return {};
}

Result<cas::Swapped> RedisEngine::read_swap(char letter, codec::resp::Value& value, std::size_t index) {
    const auto lost = [&](std::string_view why) {
        return Error{Code::store_lost, fmt::format("{}: {}", nodes_->master().link->address().shown(), why)};
    };
    cas::Swapped swapped;
    switch (letter) {
        case SwapLetter::done:
            swapped.done = true;
            return swapped;
        case SwapLetter::time:
        case SwapLetter::nothing:
            return swapped;
        case SwapLetter::lost:
            return lost("its marker is gone, or is not the one that was there");
        case SwapLetter::back:
            return lost("its position is gone, or went back");
        case SwapLetter::error:
            return unreadable(quoted(value.text), index);
        case SwapLetter::other:
            if (auto stored = stored_in(value, index); stored)
                swapped.found = std::move(*stored);
            else
                return stored.error();
            return swapped;
        default:
            return unreadable("malformed reply to the swap script", index);
    }
}

/// Fails what will never be sent.
void RedisEngine::drop_swaps() {
    SwapCalls calls = std::exchange(swaps_, {}).calls;
    swaps_answered(calls, nodes_->why_down());
}

std::string RedisEngine::status() const {
    auto status = JsonValue::object(
        {{"engine", "redis"},
         {"address", options_.address.shown()},
         {"version", nodes_->version()},
         {"reachable", nodes_->is_up()},
         {"cluster", nodes_->in_cluster()},
         {"replicas_waited_for", options_.wait},
         {"round_trip_us", std::chrono::floor<std::chrono::microseconds>(nodes_->round_trip()).count()}});
    if (!nodes_->is_up()) status.set("why", nodes_->why_down().message);
    return to_text(status);
}

}  // namespace holdfast::store::redis

namespace holdfast::store::redis {

std::unique_ptr<cas::Engine> make_redis_engine(boost::asio::io_context& loop, RedisEngineOptions options) {
    return std::make_unique<RedisEngine>(loop, std::move(options));
}

}  // namespace holdfast::store::redis
