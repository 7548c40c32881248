#include <algorithm>
#include <limits>

#include "base/clock.h"
#include "codec/resp/resp_number.h"
#include "lease/resource.h"
#include "store/redis/engine_impl.h"

namespace holdfast::store::redis {
namespace {

constexpr std::size_t max_words = 2000;  // in one command
constexpr Micros forever = std::numeric_limits<Micros>::max();

}  // namespace

/// Error: no room for the index writes.
Result<void> RedisEngine::plan_indices(const cas::Swap& swap, const SwapPointer& call) {
    if (batch_bytes_ > options_.max_unsent_bytes) return unavailable("too much is under way at the engine already");
    call->indexed = &memory_.use(swap.name);
    call->memory_life = memory_.life();
    call->name = std::string(swap.name);
    ++call->indexed->swaps;
    if (swap.bytes.empty()) return {};
    const Micros keep = swap.keep_until == EngineTime::max() ? forever : micros_up(swap.keep_until);
    cover_holders(swap, call, keep);
    cover_folders(swap, call, keep);
    set_due(swap, call);
    return {};
}

void RedisEngine::cover_holders(const cas::Swap& swap, const SwapPointer& call, Micros keep) {
    for (const std::string_view holder : swap.holders)
        call->named.push_back({.holder = std::string(holder)});
    std::ranges::sort(call->named, {}, &SwapCall::Named::holder);
    const auto same = std::ranges::unique(call->named, {}, &SwapCall::Named::holder);
    call->named.erase(same.begin(), same.end());
    for (SwapCall::Named& named : call->named) {
        const Indexed::Holder* const known = call->indexed->find(named.holder);
        if (known != nullptr && known->until >= keep) continue;
        named.until = keep == forever ? forever : keep + covered_ahead;
        named.score = cover(keys_.holder(named.holder), named.until, known != nullptr ? known->score : 0, call);
    }
}

void RedisEngine::cover_folders(const cas::Swap& swap, const SwapPointer& call, Micros keep) {
    const auto file = lease::file_path(swap.name);
    if (!file || call->indexed->folders_until >= keep) return;
    call->folders_until = keep == forever ? forever : keep + covered_ahead;
    for (const std::string_view folder : folders_above(file->path))
        cover(keys_.folder(file->scope, folder), call->folders_until, 0, call);
}

/// Returns the score, which is even. `own` is the score that this front is known to have given before.
std::int64_t RedisEngine::cover(const std::string& key, Micros until, std::int64_t own, const SwapPointer& call) {
    const std::string before = own == 0 || own == forever ? "" : std::to_string(own);
    if (until == forever) {
        add_to_batch(Script::cover, key, {"inf", before, call->name}, call);
        return forever;
    }
    const std::int64_t score = until + (until & 1);
    add_to_batch(Script::cover, key, {std::to_string(score), before, call->name}, call);
    return score;
}

/// True if no front takes an entry with this due time before every swap called now has either taken effect or never
/// will.
bool RedisEngine::is_ahead(Micros due, Micros now) const {
    constexpr Duration clocks_apart = 500ms;
    return due != 0 && due + overdue_after / 1us > now + (lingers() + clocks_apart) / 1us;
}

/// An entry that is due too late would not be seen in time; one that is due too early does no harm. With two swaps of
/// one resource in flight, neither can know what the other does to the entry, so neither relies on it.
void RedisEngine::set_due(const cas::Swap& swap, const SwapPointer& call) {
    if (swap.due == EngineTime::max()) return;
    Indexed& indexed = *call->indexed;
    const Micros due = micros_down(swap.due);
    const Micros now = micros_up(nodes_->master().clock.at_most(store_clock_now()));
    if (indexed.swaps == 1 && is_ahead(indexed.due, now) && indexed.due <= due) return;
    indexed.due = 0;
    add_to_batch(Script::due, keys_.due_of(swap.name), {std::to_string(due), front_ + call->name}, call);
}

void RedisEngine::add_to_batch(Script script, const std::string& key, std::initializer_list<std::string_view> words,
                               const SwapPointer& call) {
    const auto place = batch_of_.try_emplace(static_cast<char>(script) + key, batches_.size()).first;
    if (place->second == batches_.size() || batches_[place->second].words + words.size() > max_words) {
        place->second = batches_.size();
        batches_.push_back({.script = script, .key = key});
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
    nodes_->master().link->wake();
}

void RedisEngine::send_batches() {
    drop_freed();
    send_swaps();
    batch_of_.clear();
    for (IndexBatch& batch : std::exchange(batches_, {}))
        send_batch(std::move(batch));
}

void RedisEngine::send_batch(IndexBatch batch) {
    batch_bytes_ -= batch.arguments.size();
    Link& link = *nodes_->master().link;
    std::string& out = link.begin(Link::Lane::first);
    CommandWriter(out, nodes_->master().facts.scripts, batch.script, batch.key, batch.words);
    out += batch.arguments;
    const Script script = batch.script;
    batch.arguments.clear();
    link.end(Link::Lane::first,
             {.reply = [this, batch = std::move(batch)](
                           const Result<codec::resp::Value>& answer) { index_answered(batch, answer); },
              .script = script});
}

void RedisEngine::index_answered(const IndexBatch& batch, const Result<codec::resp::Value>& answer) {
    const bool is_due = batch.script == Script::due;
    const bool is_answer = answer && (is_due ? answer->items.size() == batch.calls.size() : answer->is_text());
    for (std::size_t i = 0; i < batch.calls.size(); ++i) {
        const SwapPointer& call = batch.calls[i];
        if (!answer)
            call->index_error = answer.error();
        else if (!is_answer)
            call->index_error = unavailable("malformed reply to the write of an index");
        else if (is_due)
            learn_due(*call, answer->items[i]);
        one_index_answered(call);
    }
}

void RedisEngine::one_index_answered(const SwapPointer& call) {
    if (--call->missing > 0 || !call->reply) return;
    if (call->is_answered) return finish_answered(*call);
    const auto held_back = std::exchange(call->held_back, nullptr);
    if (!held_back) return;
    if (call->index_error) return finish(*call, *call->index_error);
    const auto link = link_for(held_back->bytes());
    if (!link) return finish(*call, link.error());
    send_with_others(std::move(*held_back));
}

void RedisEngine::learn_due(SwapCall& call, const codec::resp::Value& score) {
    const auto said = codec::resp::parse_integer(score.text);
    if (!said)
        call.index_error = unavailable("malformed reply to the write of a due time");
    else if (call.indexed != nullptr && call.memory_life == memory_.life())
        call.indexed->due = *said;
}

/// The index entries exist whatever the swap's outcome. Which holders need them depends on the outcome.
void RedisEngine::learn(SwapCall& call, const Result<cas::Swapped>& outcome) {
    Indexed* const indexed = std::exchange(call.indexed, nullptr);
    if (indexed == nullptr || call.memory_life != memory_.life()) return;
    --indexed->swaps;
    const bool is_written = call.missing == 0 && !call.index_error;
    if (is_written) indexed->folders_until = std::max(indexed->folders_until, call.folders_until);
    for (const SwapCall::Named& named : call.named) {
        Indexed::Holder* entry = indexed->find(named.holder);
        if (is_written && named.until > (entry != nullptr ? entry->until : 0)) {
            if (entry == nullptr) entry = &memory_.add_holder(*indexed, named.holder);
            entry->until = named.until;
            entry->score = named.score;
        }
        if (entry != nullptr && !outcome) entry->held = true;  // perhaps
    }
    if (outcome && !outcome->done && outcome->found.write == 0 && call.expected != 0) distrust(*indexed);
    free_holders(call, *indexed, outcome && outcome->done);
}

/// A record that was expected is gone. It may have expired, or someone may have emptied the Redis.
void RedisEngine::distrust(Indexed& indexed) {
    indexed.folders_until = 0;
    indexed.due = 0;
    for (Indexed::Holder& entry : indexed.holders)
        entry.until = 0;
}

void RedisEngine::free_holders(const SwapCall& call, Indexed& indexed, bool done) {
    for (Indexed::Holder& entry : indexed.holders) {
        const bool was_held = entry.held;
        if (done) entry.held = std::ranges::binary_search(call.named, entry.name, {}, &SwapCall::Named::holder);
        if (entry.held || entry.score == forever || (entry.waits && !was_held)) continue;
        freed_.add(call.name, indexed, entry, store_clock_now());
    }
}

/// A dropped entry is needed neither by a swap in flight nor by the record that this front wrote last. If another front
/// needs it, it has another score.
void RedisEngine::drop_freed() {
    const Instant now = store_clock_now();
    if (!freed_.has_work(now) || !nodes_->is_up()) return;
    for (const FreedHolders::Dropped& one : freed_.take(memory_, now))
        add_to_batch(Script::drop, keys_.holder(one.holder), {std::to_string(one.score), one.resource}, nullptr);
}

/// Fails everything that is queued and not sent.
void RedisEngine::drop_batches() {
    batch_of_.clear();
    batch_bytes_ = 0;
    const auto calls = std::exchange(swaps_, {}).calls;
    for (const IndexBatch& batch : std::exchange(batches_, {}))
        index_answered(batch, nodes_->why_down());
    swaps_answered(calls, nodes_->why_down());
}

void RedisEngine::forget_all() {
    memory_.clear();
    freed_.clear();
}

}  // namespace holdfast::store::redis
