#include <boost/json.hpp>

#include "base/random.h"
#include "store/redis/engine_impl.h"

namespace holdfast::redis_engine {
namespace {

constexpr std::size_t command_bytes = 512;  // around what it carries

/// Of an answer that begins with the time: in a cluster too, where what is passed on as the engine's is not the time.
std::int64_t wall_ms_in(const resp::Value& answer) {
    constexpr Micros micros_per_ms = 1000;
    return read_time(answer.items[0].text, answer.items[1].text).value_or(0) / micros_per_ms;
}

HashKey hash_key() {
    return {random_seed(), random_seed()};
}

}  // namespace

RedisEngine::RedisEngine(boost::asio::io_context& loop, RedisEngineOptions options)
    : loop_(loop),
      options_(std::move(options)),
      keys_(options_.prefix, options_.address.database),
      front_(random_hex(Keys::front_bytes / 2)),
      nodes_(std::make_shared<Nodes>(loop, options_, keys_.notices(),
                                     Nodes::Hooks{.on_up = [this] { forget_all(); },
                                                  .before_sending = [this](Node& node) { send_batches(node); },
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

/// Error: not now.
Result<Node*> RedisEngine::node_of(std::string_view key, std::size_t bytes) {
    if (!nodes_->is_up()) return nodes_->why_down();
    Node* const node = nodes_->of_key(key);
    if (node == nullptr) return unavailable("no node of the Redis cluster has the slot of the key");
    if (node->link->is_full(bytes + command_bytes)) return unavailable("too much is under way at the engine already");
    return node;
}

Error RedisEngine::unreadable(const Node& node, std::string_view what, std::size_t index) const {
    const std::string key = key_of(node.link->asked(), index);
    return unavailable(node.link->address().shown() + ", key " + quoted(key) + ": " + std::string(what));
}

Result<EngineTime> RedisEngine::time_in(const resp::Value& answer, bool passed_on) {
    Node& node = nodes_->answering();
    const auto said = answer.type == resp::Value::Type::array && answer.items.size() >= 2
                          ? read_time(answer.items[0].text, answer.items[1].text)
                          : std::nullopt;
    if (!said) return unreadable(node, "the answer does not begin with the time");
    nodes_->observe(node, *said, passed_on);
    return node.clock.seen(from_micros(*said));
}

Result<Stored> RedisEngine::stored_in(resp::Value& value, std::size_t index) {
    const Node& node = nodes_->answering();
    const bool older = value.is_text() && is_of_older_version(value.text);
    auto stored = value.is_text() ? read_stored(std::move(value.text)) : std::nullopt;
    if (older)
        return core::other_format(node.link->address().shown() + ", key " + quoted(key_of(node.link->asked(), index)));
    if (!stored) return unreadable(node, "what is there was not written by Holdfast", index);
    stored->kept.written_at = node.clock.seen(stored->kept.written_at);
    if (stored->due) stored->due = node.clock.seen(*stored->due);
    return std::move(*stored);
}

void RedisEngine::fetch(Kind kind, std::string_view name, Callback<Result<core::Reading>> reply) {
    const std::string key = keys_.kept(kind, name);
    const auto node = node_of(key, key.size());
    if (!node) return fail(std::move(reply), node.error());
    Link& link = *(*node)->link;
    CommandWriter(link.begin(Link::Lane::then), (*node)->facts.scripts, Script::fetch, key, 0);
    link.end(Link::Lane::then, {.reply =
                                    [this, reply = std::move(reply)](Result<resp::Value> answer) mutable {
                                        if (!answer) return reply(answer.error());
                                        const auto now = time_in(*answer, true);
                                        if (!now) return reply(now.error());
                                        core::Reading reading{{}, *now, wall_ms_in(*answer)};
                                        if (answer->items.size() == 2) return reply(std::move(reading));
                                        auto stored = stored_in(answer->items[2]);
                                        if (!stored) return reply(stored.error());
                                        reading.kept = std::move(stored->kept);
                                        reply(std::move(reading));
                                    },
                                .script = Script::fetch});
}

std::string RedisEngine::status() const {
    namespace json = boost::json;
    json::object out{{"engine", "redis"},
                     {"address", options_.address.shown()},
                     {"version", nodes_->version()},
                     {"reachable", nodes_->is_up()},
                     {"cluster", nodes_->in_cluster()},
                     {"durable", !nodes_->hello().life.empty() && !nodes_->hello().forgets},
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
