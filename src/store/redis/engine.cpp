#include <boost/json.hpp>

#include "base/random.h"
#include "store/redis/engine_impl.h"

namespace holdfast::redis_engine {
namespace {

constexpr std::size_t command_bytes = 512;  // overhead of a command

/// Channels are not separated by database, so the name contains it.
std::string channel_of(const RedisEngineOptions& options) {
    const auto database = options.address.database;
    return options.prefix + (database == 0 ? "" : ":" + std::to_string(database)) + ":notices";
}

HashKey hash_key() {
    return {random_seed(), random_seed()};
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

void RedisEngine::start(core::EngineListener& listener) {
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
    return unavailable(link.address().shown() + ", key " + quoted(key) + ": " + std::string(what));
}

Result<EngineTime> RedisEngine::time_in(const resp::Value& answer) {
    const auto said = answer.type == resp::Value::Type::array && answer.items.size() >= 2
                          ? read_time(answer.items[0].text, answer.items[1].text)
                          : std::nullopt;
    if (!said) return unreadable("the answer does not begin with the time");
    nodes_->observe(nodes_->master(), *said);
    return from_micros(*said);
}

/// The position follows the time in a reply.
Result<core::Position> RedisEngine::position_in(const resp::Value& answer) const {
    const bool said = answer.items.size() > 2 && answer.items[2].type == resp::Value::Type::integer;
    if (!said || answer.items[2].number < 0) return unreadable("the answer does not say the position");
    return static_cast<core::Position>(answer.items[2].number);
}

Result<Stored> RedisEngine::stored_in(resp::Value& value, std::size_t index) {
    const bool older = value.is_text() && is_of_older_version(value.text);
    auto stored = value.is_text() ? read_stored(std::move(value.text)) : std::nullopt;
    const Link& link = *nodes_->master().link;
    if (older) return core::other_format(link.address().shown() + ", key " + quoted(key_of(link.asked(), index)));
    if (!stored) return unreadable("what is there was not written by Holdfast", index);
    return std::move(*stored);
}

void RedisEngine::fetch(Kind kind, std::string_view name, Callback<Result<core::Reading>> reply) {
    const std::string key = keys_.kept(kind, name);
    const auto link = link_for(key.size());
    if (!link) return fail(std::move(reply), link.error());
    CommandWriter((*link)->begin(Link::Lane::then), nodes_->master().facts.scripts, Script::fetch, std::size_t{2}, 0)
        .add(key)
        .add(keys_.position());
    (*link)->end(Link::Lane::then,
                 {.reply = [this, reply = std::move(reply)](
                               Result<resp::Value> answer) mutable { reply(read_fetched(std::move(answer))); },
                  .script = Script::fetch});
}

Result<core::Reading> RedisEngine::read_fetched(Result<resp::Value> answer) {
    if (!answer) return answer.error();
    const auto now = time_in(*answer);
    if (!now) return now.error();
    const auto position = position_in(*answer);
    if (!position) return position.error();
    core::Reading reading{{}, *now, now->time_since_epoch() / 1ms, *position};
    if (answer->items.size() == 3) return reading;
    auto stored = stored_in(answer->items[3]);
    if (!stored) return stored.error();
    reading.kept = std::move(stored->kept);
    return reading;
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

}  // namespace holdfast::redis_engine

namespace holdfast {

std::unique_ptr<core::Engine> make_redis_engine(boost::asio::io_context& loop, RedisEngineOptions options) {
    return std::make_unique<redis_engine::RedisEngine>(loop, std::move(options));
}

}  // namespace holdfast
