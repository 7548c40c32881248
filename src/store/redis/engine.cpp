#include <boost/json.hpp>

#include "base/clock.h"
#include "store/redis/engine_impl.h"

namespace holdfast::redis_engine {
namespace {

constexpr std::size_t command_bytes = 512;  // around what it carries

std::string text_of(Micros micros) {
    return std::to_string(micros);
}

/// From then on Redis may forget it; never before.
std::string expiry_of(EngineTime keep_until) {
    if (keep_until == EngineTime::max()) return {};
    return std::to_string(
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(keep_until.time_since_epoch()).count()));
}

}  // namespace

RedisEngine::RedisEngine(boost::asio::io_context& loop, RedisEngineOptions options)
    : loop_(loop),
      options_(std::move(options)),
      keys_(options_.prefix, options_.address.database),
      nodes_(std::make_shared<Nodes>(loop, options_, keys_.notices(),
                                     Nodes::Hooks{.on_up = [this] { memory_.clear(); },
                                                  .before_sending = [this](Node& node) { send_batches(node); },
                                                  .on_clock_step = [this] { memory_.clear(); },
                                                  .on_closed = [this] { drop_batches(); }})),
      memory_(IndexMemory::Limits{}) {}

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

Error RedisEngine::unreadable(const Node& node, std::string_view what) const {
    const std::string key = key_of(node.link->asked());
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

Result<Stored> RedisEngine::stored_in(resp::Value& value) {
    const Node& node = nodes_->answering();
    auto stored = value.is_text() ? read_stored(std::move(value.text)) : std::nullopt;
    if (!stored) return unreadable(node, "what is there was not written by Holdfast");
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
                                        if (answer->items.size() == 2) return reply(core::Reading{{}, *now});
                                        auto stored = stored_in(answer->items[2]);
                                        if (!stored) return reply(stored.error());
                                        reply(core::Reading{std::move(stored->kept), *now});
                                    },
                                .script = Script::fetch});
}

void RedisEngine::swap(const core::Swap& swap, Callback<Result<core::Swapped>> reply) {
    std::string key = keys_.kept(swap.kind, swap.name);
    const auto node = node_of(key, key.size() + swap.bytes.size() + swap.notice.size());
    if (!node) return fail(std::move(reply), node.error());
    auto call = std::make_shared<SwapCall>();
    call->expected = swap.expected;
    call->becomes = swap.becomes;
    if (swap.kind == Kind::record)
        if (const auto planned = plan_indices(swap, call, **node); !planned)
            return fail(std::move(reply), planned.error());
    call->reply = std::move(reply);
    if (nodes_->in_cluster() && call->missing > 0) {
        write_swap(call->command, **node, swap, key);
        call->key = std::move(key);
        return;
    }
    // Redis does what it is asked on one connection in that order: the indices are written first.
    write_swap((*node)->link->begin(Link::Lane::then), **node, swap, key);
    send_swap(call, **node);
}

void RedisEngine::write_swap(std::string& out, const Node& node, const core::Swap& swap, std::string_view key) {
    const NodeClock& clock = node.clock;
    const EngineTime latest = clock.at_most(store_clock_now()) + lingers();
    const EngineTime until = std::min(clock.at_node(swap.until), latest);
    CommandWriter writer(out, node.facts.scripts, Script::swap, key, 7);
    writer.add(swap.expected == 0 ? std::string() : mark_of(swap.expected));
    if (swap.bytes.empty())
        writer.add(std::string_view{});
    else
        writer.add_joined(stored_header(swap.becomes, clock.at_node(swap.written_at), clock.at_node(swap.due)),
                          swap.bytes);
    writer.add(text_of(micros_up(clock.at_node(swap.from)))).add(text_of(micros_down(until)));
    writer.add(swap.kind == Kind::record ? expiry_of(clock.at_node(swap.keep_until)) : std::string());
    writer.add(swap.notice).add(keys_.notices());
}

void RedisEngine::send_swap(const SwapPointer& call, Node& node) {
    node.link->end(Link::Lane::then,
                   {.reply = [this, call](Result<resp::Value> answer) { swap_answered(call, std::move(answer)); },
                    .script = Script::swap,
                    .confirmed = true});
}

void RedisEngine::swap_answered(const SwapPointer& call, Result<resp::Value> answer) {
    if (!answer) return call->reply(answer.error());
    auto swapped = read_swapped(*call, std::move(*answer));
    if (!swapped) return call->reply(swapped.error());
    call->swapped = std::move(*swapped);
    call->is_answered = true;
    if (call->missing == 0) finish(*call);
}

Result<core::Swapped> RedisEngine::read_swapped(const SwapCall& call, resp::Value answer) {
    const auto now = time_in(answer, true);
    if (!now) return now.error();
    const std::string_view how = answer.items.size() > 2 ? std::string_view(answer.items[2].text) : "";
    core::Swapped swapped{how == "done", *now, {}};
    if (how == "done") return swapped;
    if (how == "time") {
        swapped.found.write = call.expected;
        return swapped;
    }
    if (how != "other") return unreadable(nodes_->answering(), "the answer to a swap is none");
    if (answer.items.size() == 3) return swapped;
    auto stored = stored_in(answer.items[3]);
    if (!stored) return stored.error();
    swapped.found = std::move(stored->kept);
    return swapped;
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
