#include <algorithm>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/random.h"
#include "store/redis/engine_impl.h"

namespace holdfast::store::redis {
namespace {

constexpr std::size_t command_bytes = 512;  // overhead of a command

// Limits of one script call: it blocks every other client of this Redis.
constexpr std::size_t max_swaps = 64;
constexpr std::size_t max_swap_bytes = 64 << 10;
constexpr std::size_t keys_of_all = 2;
constexpr std::size_t words_of_all = 4;
constexpr std::size_t words_each = 5;

/// Channels are not separated by database, so the name contains it.
std::string channel_of(const RedisEngineOptions& options) {
    const auto database = options.address.database;
    return options.prefix + (database == 0 ? "" : fmt::format(":{}", database)) + ":notices";
}

HashKey hash_key() {
    return {random_seed(), random_seed()};
}

/// Rounded up: Redis may drop the key from then on, and never before.
std::string expiry_of(EngineTime keep_until) {
    if (keep_until == EngineTime::max()) return {};
    return std::to_string(
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(keep_until.time_since_epoch()).count()));
}

}  // namespace

RedisEngine::RedisEngine(boost::asio::io_context& loop, RedisEngineOptions options)
    : loop_(loop),
      options_(std::move(options)),
      notices_(channel_of(options_)),
      keys_(options_.prefix, Keys::In::one_redis),
      front_(random_hex(Keys::front_bytes / 2)),
      nodes_(std::make_shared<Nodes>(loop, options_, notices_,
                                     Nodes::Hooks{.on_up = [this] { on_up(); },
                                                  .before_sending = [this] { send_batches(); },
                                                  .on_clock_step = [this] { forget_all(); },
                                                  .on_closed = [this] { drop_batches(); }})),
      memory_(IndexMemory::Limits{}, hash_key()),
      freed_(FreedHolders::Limits{}, hash_key()) {}

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
    forget_all();
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

Result<Stored> RedisEngine::stored_in(codec::resp::Value& value, std::size_t index) {
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
    CommandWriter((*link)->begin(Link::Lane::then), nodes_->master().facts.scripts, Script::fetch, std::size_t{2}, 0)
        .add(key)
        .add(keys_.position());
    (*link)->end(Link::Lane::then,
                 {.reply = [this, reply = std::move(reply)](
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
    reading.value = std::move(stored->value);
    return reading;
}

// ---- swaps ----

void RedisEngine::swap(const cas::Swap& swap, Callback<Result<cas::Swapped>> reply) {
    const std::string key = keys_.kept(swap.kind, swap.name);
    const auto link = link_for(key.size() + swap.bytes.size() + swap.notice.size() + swaps_.bytes());
    if (!link) return fail(std::move(reply), link.error());
    if (swaps_under_way_ >= options_.max_calls)
        return fail(std::move(reply), unavailable("too much is under way at the engine already"));
    auto call = std::make_shared<SwapCall>();
    call->expected = swap.expected;
    if (swap.kind == Kind::record)
        if (const auto planned = plan_indices(swap, call); !planned) return fail(std::move(reply), planned.error());
    call->reply = std::move(reply);
    ++swaps_under_way_;
    SwapBatch alone = swap_alone(swap, key, call);
    if (nodes_->in_cluster() && call->missing > 0)
        call->held_back = std::make_unique<SwapBatch>(std::move(alone));
    else
        send_with_others(std::move(alone));
}

RedisEngine::SwapBatch RedisEngine::swap_alone(const cas::Swap& swap, std::string_view key, SwapPointer call) const {
    SwapBatch batch;
    batch.latest = micros_down(nodes_->master().clock.at_most(store_clock_now()) + lingers());
    batch.marker = swap.marker;
    batch.position = swap.position;
    std::string window;
    if (const Micros until = micros_down(swap.until); swap.from != EngineTime::min() || until < batch.latest)
        window = std::to_string(micros_up(swap.from)) + ' ' + std::to_string(until);
    CommandWriter::append(batch.keys, {key});
    std::string& out = batch.arguments;
    CommandWriter::append(out, {swap.expected == 0 ? std::string_view{} : std::string_view(mark_of(swap.expected))});
    if (swap.bytes.empty())
        CommandWriter::append(out, {{}});
    else
        CommandWriter::append_joined(out, stored_header(swap.becomes, swap.written_at, swap.due), swap.bytes);
    CommandWriter::append(out, {window, swap.kind == Kind::record ? expiry_of(swap.keep_until) : "", swap.notice});
    batch.calls.push_back(std::move(call));
    return batch;
}

/// Adds the swap to this turn's batch.
void RedisEngine::send_with_others(SwapBatch batch) {
    if (swaps_.marker != batch.marker) send_swaps();
    if (swaps_.calls.empty()) {
        swaps_ = std::move(batch);
    } else {
        swaps_.keys += batch.keys;
        swaps_.arguments += batch.arguments;
        swaps_.latest = std::min(swaps_.latest, batch.latest);
        swaps_.position = std::max(swaps_.position, batch.position);
        swaps_.calls.push_back(std::move(batch.calls[0]));
    }
    if (swaps_.calls.size() >= max_swaps || swaps_.bytes() >= max_swap_bytes) return send_swaps();
    nodes_->master().link->wake();
}

/// Sends this turn's batch.
void RedisEngine::send_swaps() {
    if (swaps_.calls.empty()) return;
    const SwapBatch batch = std::exchange(swaps_, {});
    const std::size_t swaps = batch.calls.size();
    Link& link = *nodes_->master().link;
    std::string& out = link.begin(Link::Lane::then);
    CommandWriter writer(out, nodes_->master().facts.scripts, Script::swap, swaps + keys_of_all,
                         words_of_all + words_each * swaps);
    out += batch.keys;
    writer.add(keys_.kept(Kind::record, cas::marker_name)).add(keys_.position());
    writer.add(notices_).add(batch.latest);
    writer.add(batch.marker == WriteId{} ? std::string() : mark_of(batch.marker)).add(std::to_string(batch.position));
    out += batch.arguments;
    link.end(Link::Lane::then,
             {.reply = [this, calls = batch.calls](
                           Result<codec::resp::Value> answer) { swaps_answered(calls, std::move(answer)); },
              .script = Script::swap,
              .confirmed = true});
}

/// All outcomes are read before the first callback: a callback may close the connection, and with it the command being
/// answered.
void RedisEngine::swaps_answered(const std::vector<SwapPointer>& calls, Result<codec::resp::Value> answer) {
    const auto read = answer ? read_swaps(calls, *answer) : Result<void>(answer.error());
    for (const SwapPointer& call : calls) {
        if (!read) call->outcome = read.error();
        swap_answered(call);
    }
}

Result<void> RedisEngine::read_swaps(const std::vector<SwapPointer>& calls, codec::resp::Value& answer) {
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
        calls[i]->outcome = read_swap(letters[i], value, i);
        if (!calls[i]->outcome) continue;
        calls[i]->outcome->now = *now;
        calls[i]->outcome->position = *position;
        if (letters[i] == SwapLetter::time) calls[i]->outcome->found.write = calls[i]->expected;
    }
    return {};
}

Result<cas::Swapped> RedisEngine::read_swap(char letter, codec::resp::Value& value, std::size_t index) {
    const auto lost = [&](std::string_view why) {
        return Error{std::string(cas::store_lost),
                     fmt::format("{}: {}", nodes_->master().link->address().shown(), why)};
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
                swapped.found = std::move(stored->value);
            else
                return stored.error();
            return swapped;
        default:
            return unreadable("malformed reply to the swap script", index);
    }
}

void RedisEngine::swap_answered(const SwapPointer& call) {
    call->is_answered = true;
    if (!call->outcome) return finish(*call, call->outcome.error());
    if (call->missing == 0) finish_answered(*call);
}

/// The swap and its index writes have been answered.
void RedisEngine::finish_answered(SwapCall& call) {
    if (call.outcome->done && call.index_error) return finish(call, *call.index_error);
    finish(call, std::move(call.outcome));
}

void RedisEngine::finish(SwapCall& call, Result<cas::Swapped> outcome) {
    --swaps_under_way_;
    learn(call, outcome);
    auto reply = std::exchange(call.reply, {});
    reply(std::move(outcome));
}

std::string RedisEngine::status() const {
    namespace json = boost::json;
    json::object out{{"engine", "redis"},
                     {"address", options_.address.shown()},
                     {"version", nodes_->version()},
                     {"reachable", nodes_->is_up()},
                     {"cluster", nodes_->in_cluster()},
                     {"replicas_waited_for", options_.wait},
                     {"round_trip_us", std::chrono::floor<std::chrono::microseconds>(nodes_->round_trip()).count()}};
    if (!nodes_->is_up()) out["why"] = nodes_->why_down().message;
    return json::serialize(out);
}

}  // namespace holdfast::store::redis

namespace holdfast::store::redis {

std::unique_ptr<cas::Engine> make_redis_engine(boost::asio::io_context& loop, RedisEngineOptions options) {
    return std::make_unique<RedisEngine>(loop, std::move(options));
}

}  // namespace holdfast::store::redis
