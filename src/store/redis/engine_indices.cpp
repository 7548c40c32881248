#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "lease/resource.h"
#include "store/redis/engine_impl.h"

namespace holdfast::redis_engine {
namespace {

constexpr std::size_t words_most = 2000;  // of one command
constexpr Micros forever = std::numeric_limits<Micros>::max();

}  // namespace

/// Error: there is no room for what it takes.
Result<void> RedisEngine::plan_indices(const core::Swap& swap, const SwapPointer& call, const Node& node) {
    if (batch_bytes_ > options_.unsent_bytes_most) return unavailable("too much is under way at the engine already");
    if (swap.expected != 0) call->indexed = memory_.take(swap.expected);
    if (!swap.bytes.empty()) {
        const Micros keep = swap.keep_until == EngineTime::max() ? forever : micros_up(swap.keep_until);
        cover_holders(swap, call, keep);
        cover_folders(swap, call, keep);
        set_due(swap, call, node);
    } else {
        call->dropped = std::exchange(call->indexed, {}).holders;
    }
    if (!call->dropped.empty()) call->name = std::string(swap.name);
    return {};
}

void RedisEngine::cover_holders(const core::Swap& swap, const SwapPointer& call, Micros keep) {
    auto known = std::exchange(call->indexed.holders, {});
    std::vector<std::string_view> holders(swap.holders.begin(), swap.holders.end());
    std::ranges::sort(holders);
    const auto same = std::ranges::unique(holders);
    holders.erase(same.begin(), same.end());
    auto next = known.begin();
    for (const std::string_view holder : holders) {
        for (; next != known.end() && next->name < holder; ++next)
            call->dropped.push_back(std::move(*next));
        if (next != known.end() && next->name == holder) {
            call->indexed.holders.push_back(std::move(*next++));
            if (call->indexed.holders.back().until >= keep) continue;
        } else {
            call->indexed.holders.push_back({.name = std::string(holder)});
        }
        Indexed::Holder& entry = call->indexed.holders.back();
        entry.until = keep == forever ? forever : keep + covered_ahead;
        entry.score = cover(keys_.holder(holder), entry.until, swap.name, call);
    }
    std::move(next, known.end(), std::back_inserter(call->dropped));
}

void RedisEngine::cover_folders(const core::Swap& swap, const SwapPointer& call, Micros keep) {
    const auto file = core::file_path(swap.name);
    if (!file || call->indexed.folders_until >= keep) return;
    const Micros until = keep == forever ? forever : keep + covered_ahead;
    for (const std::string_view folder : folders_above(file->path))
        cover(keys_.folder(file->scope, folder), until, swap.name, call);
    call->indexed.folders_until = until;
}

/// What a set says is due later than it is, nobody would look at in time; earlier does no harm. What was due already,
/// somebody may have taken and set to when it was due then.
void RedisEngine::set_due(const core::Swap& swap, const SwapPointer& call, const Node& node) {
    if (swap.due == EngineTime::max()) return;
    const Micros due = micros_down(swap.due);
    const Micros now = micros_up(node.clock.seen(node.clock.at_most(store_clock_now())));
    if (call->indexed.due > now && call->indexed.due <= due) return;
    const std::string key = keys_.due_of(swap.name);
    const Node* const at = nodes_->of_key(key);
    const Micros score = at == nullptr ? due : micros_down(at->clock.at_node(from_micros(due)));
    add_to_batch(Script::due, key, {std::to_string(score), swap.name}, call);
    call->indexed.due = due;
}

/// Returns the score.
std::int64_t RedisEngine::cover(const std::string& key, Micros until, std::string_view member,
                                const SwapPointer& call) {
    const Node* const at = nodes_->of_key(key);
    if (at == nullptr || until == forever) {
        add_to_batch(Script::cover, key, {"inf", member}, call);
        return forever;
    }
    const Micros score = micros_up(at->clock.at_node(from_micros(until)));
    add_to_batch(Script::cover, key, {std::to_string(score), member}, call);
    return score;
}

void RedisEngine::add_to_batch(Script script, const std::string& key, std::initializer_list<std::string_view> words,
                               const SwapPointer& call) {
    const auto place = batch_of_.try_emplace(static_cast<char>(script) + key, batches_.size()).first;
    if (place->second == batches_.size() || batches_[place->second].words + words.size() > words_most) {
        place->second = batches_.size();
        batches_.push_back({.script = script, .key = key, .node = nodes_->of_key(key)});
    }
    IndexBatch& batch = batches_[place->second];
    const std::size_t before = batch.arguments.size();
    CommandWriter::append(batch.arguments, words);
    batch_bytes_ += batch.arguments.size() - before;
    batch.words += words.size();
    if (call && (batch.calls.empty() || batch.calls.back() != call)) {
        batch.calls.push_back(call);
        ++call->missing;
    }
    (batch.node != nullptr ? *batch.node : *nodes_->masters()[0]).link->wake();
}

void RedisEngine::send_batches(Node& node) {
    if (batches_.empty()) return;
    auto all = std::exchange(batches_, {});
    batch_of_.clear();
    for (IndexBatch& batch : all) {
        if (batch.node == &node || batch.node == nullptr)
            send_batch(std::move(batch));
        else
            batches_.push_back(std::move(batch));  // and no longer added to
    }
}

void RedisEngine::send_batch(IndexBatch batch) {
    if (batch.node == nullptr) {
        batch_bytes_ -= batch.arguments.size();
        for (const SwapPointer& call : batch.calls)
            index_answered(call, unavailable("no node of the Redis cluster has the slot of an index"));
        return;
    }
    batch_bytes_ -= batch.arguments.size();
    Link& link = *batch.node->link;
    std::string& out = link.begin(Link::Lane::first);
    CommandWriter(out, batch.node->facts.scripts, batch.script, batch.key, batch.words);
    out += batch.arguments;
    link.end(Link::Lane::first, {.reply =
                                     [this, calls = std::move(batch.calls)](const Result<resp::Value>& answer) {
                                         for (const SwapPointer& call : calls)
                                             index_answered(call, answer);
                                     },
                                 .script = batch.script});
}

void RedisEngine::index_answered(const SwapPointer& call, const Result<resp::Value>& answer) {
    if (!answer)
        call->index_error = answer.error();
    else if (!answer->is_text())
        call->index_error = unavailable("Redis does not say that an index was written");
    if (--call->missing > 0) return;
    if (call->is_answered) return finish(*call);
    if (call->command.empty()) return;
    if (call->index_error) return call->reply(*call->index_error);
    const auto node = node_of(call->key, call->command.size());
    if (!node) return call->reply(node.error());
    (*node)->link->begin(Link::Lane::then) += call->command;
    send_swap(call, **node);
}

/// Everything that the swap needs is answered.
void RedisEngine::finish(SwapCall& call) {
    if (!call.swapped.done) return call.reply(std::move(call.swapped));
    if (call.index_error) return call.reply(*call.index_error);
    const bool worth = !call.indexed.holders.empty() || call.indexed.folders_until != 0 || call.indexed.due != 0;
    if (worth) memory_.put(call.becomes, std::move(call.indexed));
    for (const Indexed::Holder& holder : call.dropped)
        if (holder.score != forever && nodes_->is_up())
            add_to_batch(Script::drop, keys_.holder(holder.name), {std::to_string(holder.score), call.name}, nullptr);
    call.reply(std::move(call.swapped));
}

void RedisEngine::drop_batches() {
    batch_of_.clear();
    batch_bytes_ = 0;
    for (const IndexBatch& batch : std::exchange(batches_, {}))
        for (const SwapPointer& call : batch.calls)
            index_answered(call, nodes_->why_down());
}

}  // namespace holdfast::redis_engine
