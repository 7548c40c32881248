#include "base/clock.h"
#include "store/redis/engine_impl.h"

namespace holdfast::redis_engine {
namespace {

// Of one call of the script: everybody else at this Redis waits for it.
constexpr std::size_t swaps_most = 64;
constexpr std::size_t swap_bytes_most = 64 << 10;
constexpr std::size_t words_of_all = 3;
constexpr std::size_t words_each = 5;

/// From then on Redis may forget it; never before.
std::string expiry_of(EngineTime keep_until) {
    if (keep_until == EngineTime::max()) return {};
    return std::to_string(
        std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(keep_until.time_since_epoch()).count()));
}

}  // namespace

void RedisEngine::swap(const core::Swap& swap, Callback<Result<core::Swapped>> reply) {
    std::string key = keys_.kept(swap.kind, swap.name);
    const auto found = node_of(
        key, key.size() + swap.bytes.size() + swap.notice.size() + swaps_.keys.size() + swaps_.arguments.size());
    if (!found) return fail(std::move(reply), found.error());
    if (swaps_under_way_ >= options_.calls_most)
        return fail(std::move(reply), unavailable("too much is under way at the engine already"));
    Node& node = **found;
    auto call = std::make_shared<SwapCall>();
    call->expected = swap.expected;
    if (swap.kind == Kind::record)
        if (const auto planned = plan_indices(swap, call, node); !planned)
            return fail(std::move(reply), planned.error());
    call->reply = std::move(reply);
    ++swaps_under_way_;
    if (nodes_->in_cluster()) {
        SwapBatch alone;
        add_swap(alone, node, swap, key);
        call->key = std::move(key);
        write_swaps(call->missing > 0 ? call->command : node.link->begin(Link::Lane::then), node, alone);
        if (call->missing == 0) end_swaps(node, {call});
        return;
    }
    // Redis does what it is asked on one connection in that order: the indices are written first.
    if (swaps_.marker != swap.marker) send_swaps();
    add_swap(swaps_, node, swap, key);
    swaps_.calls.push_back(std::move(call));
    if (swaps_.calls.size() >= swaps_most || swaps_.keys.size() + swaps_.arguments.size() >= swap_bytes_most)
        return send_swaps();
    node.link->wake();
}

void RedisEngine::add_swap(SwapBatch& batch, const Node& node, const core::Swap& swap, std::string_view key) const {
    const NodeClock& clock = node.clock;
    if (batch.keys.empty()) batch.latest = micros_down(clock.at_most(store_clock_now()) + lingers());
    if (!nodes_->in_cluster()) batch.marker = swap.marker;
    std::string window;
    if (const Micros until = micros_down(clock.at_node(swap.until));
        swap.from != EngineTime::min() || until < batch.latest)
        window = std::to_string(micros_up(clock.at_node(swap.from))) + ' ' + std::to_string(until);
    CommandWriter::append(batch.keys, {key});
    std::string& out = batch.arguments;
    CommandWriter::append(out, {swap.expected == 0 ? std::string_view{} : std::string_view(mark_of(swap.expected))});
    if (swap.bytes.empty())
        CommandWriter::append(out, {{}});
    else
        CommandWriter::append_joined(
            out, stored_header(swap.becomes, clock.at_node(swap.written_at), clock.at_node(swap.due)), swap.bytes);
    CommandWriter::append(
        out, {window, swap.kind == Kind::record ? expiry_of(clock.at_node(swap.keep_until)) : "", swap.notice});
}

void RedisEngine::write_swaps(std::string& out, const Node& node, const SwapBatch& batch) const {
    const std::size_t swaps = std::max<std::size_t>(1, batch.calls.size());
    const bool marked = batch.marker != WriteId{};
    CommandWriter writer(out, node.facts.scripts, Script::swap, swaps + (marked ? 1 : 0),
                         words_of_all + words_each * swaps);
    out += batch.keys;
    if (marked) writer.add(keys_.kept(Kind::record, core::marker_name));
    writer.add(keys_.notices()).add(batch.latest).add(marked ? mark_of(batch.marker) : std::string());
    out += batch.arguments;
}

/// Those of this turn.
void RedisEngine::send_swaps() {
    if (swaps_.calls.empty()) return;
    Node& node = *nodes_->masters()[0];
    write_swaps(node.link->begin(Link::Lane::then), node, swaps_);
    auto calls = std::exchange(swaps_.calls, {});
    swaps_.keys.clear();
    swaps_.arguments.clear();
    end_swaps(node, std::move(calls));
}

void RedisEngine::end_swaps(Node& node, std::vector<SwapPointer> calls) {
    node.link->end(Link::Lane::then,
                   {.reply = [this, calls = std::move(calls)](
                                 Result<resp::Value> answer) { swaps_answered(calls, std::move(answer)); },
                    .script = Script::swap,
                    .confirmed = true});
}

/// All are read before the first is told: whoever hears it may give the connection up, and what was asked with it.
void RedisEngine::swaps_answered(const std::vector<SwapPointer>& calls, Result<resp::Value> answer) {
    const auto read = answer ? read_swaps(calls, *answer) : Result<void>(answer.error());
    for (const SwapPointer& call : calls) {
        if (!read) call->outcome = read.error();
        swap_answered(call);
    }
}

Result<void> RedisEngine::read_swaps(const std::vector<SwapPointer>& calls, resp::Value& answer) {
    const auto now = time_in(answer, true);
    if (!now) return now.error();
    const std::string letters = answer.items.size() > 2 ? answer.items[2].text : "";
    if (letters.size() != calls.size()) return unreadable(nodes_->answering(), "the answer to a swap is none");
    resp::Value none;
    std::size_t next = 3;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const bool has_value = letters[i] == SwapLetter::other || letters[i] == SwapLetter::error;
        resp::Value& value = has_value && next < answer.items.size() ? answer.items[next++] : none;
        calls[i]->outcome = read_swap(letters[i], value, i);
        if (!calls[i]->outcome) continue;
        calls[i]->outcome->now = *now;
        if (letters[i] == SwapLetter::time) calls[i]->outcome->found.write = calls[i]->expected;
    }
    return {};
}

Result<core::Swapped> RedisEngine::read_swap(char letter, resp::Value& value, std::size_t index) {
    const Node& node = nodes_->answering();
    switch (letter) {
        case SwapLetter::done:
            return core::Swapped{.done = true, .now = {}, .found = {}};
        case SwapLetter::time:
        case SwapLetter::nothing:
            return core::Swapped{};
        case SwapLetter::lost:
            return Error{std::string(core::store_lost),
                         node.link->address().shown() + ": its marker is gone, or is not the one that was there"};
        case SwapLetter::error:
            return unreadable(node, quoted(value.text), index);
        case SwapLetter::other:
            if (auto stored = stored_in(value, index); stored)
                return core::Swapped{.done = false, .now = {}, .found = std::move(stored->kept)};
            else
                return stored.error();
        default:
            return unreadable(node, "the answer to a swap is none", index);
    }
}

void RedisEngine::swap_answered(const SwapPointer& call) {
    call->is_answered = true;
    if (!call->outcome) return finish(*call, call->outcome.error());
    if (call->missing == 0) finish_answered(*call);
}

/// Everything that the swap needs is answered.
void RedisEngine::finish_answered(SwapCall& call) {
    if (call.outcome->done && call.index_error) return finish(call, *call.index_error);
    finish(call, std::move(call.outcome));
}

void RedisEngine::finish(SwapCall& call, Result<core::Swapped> outcome) {
    --swaps_under_way_;
    learn(call, outcome);
    auto reply = std::exchange(call.reply, {});
    reply(std::move(outcome));
}

}  // namespace holdfast::redis_engine
