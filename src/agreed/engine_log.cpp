#include "agreed/engine_log.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <utility>

#include "base/encodings.h"
#include "base/text.h"

namespace holdfast::agreed {
namespace {

constexpr Duration look_every = 1s;
constexpr std::size_t entries_at_once = 64;
constexpr std::string_view entry_prefix = "log/";
constexpr std::string_view snapshot_prefix = "snapshot/";

std::string hex(std::uint64_t number) {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number));
    return digits.data();
}

std::string entry_name(consensus::LogIndex index) {
    return std::string(entry_prefix) + hex(index);
}

}  // namespace

/// `END BELOW CHUNKS NAME`: the snapshot NAME contains all entries up to and including END, in CHUNKS pieces; entries
/// before BELOW may be deleted.
struct EngineLog::Mark {
    consensus::LogIndex end = 0;
    consensus::LogIndex below = 0;
    std::uint64_t chunks = 0;
    std::string name;

    static Mark parse(std::string_view text) {
        Mark mark;
        std::array<std::uint64_t*, 3> numbers{&mark.end, &mark.below, &mark.chunks};
        for (std::uint64_t* number : numbers) {
            const std::size_t blank = text.find(' ');
            if (blank == std::string_view::npos) return {};
            *number = parse_number(text.substr(0, blank)).value_or(0);
            text.remove_prefix(blank + 1);
        }
        mark.name = text;
        return mark;
    }
    std::string text() const { return fmt::format("{} {} {} {}", end, below, chunks, name); }
    std::string chunk(std::uint64_t i) const { return fmt::format("{}/{}", name, i); }
};

/// One pass of reading new entries.
struct EngineLog::Looking {
    std::size_t asked = 1;  ///< entries per request; grows while there are many
    std::size_t missing = 0;
    std::vector<std::string> found;
    std::optional<Error> failure;
    Mark mark{};  ///< of the snapshot being loaded
};

struct EngineLog::Saving {
    Mark mark;
    std::string bytes;
    std::uint64_t written = 0;
};

EngineLog::EngineLog(Parts parts) : parts_(std::move(parts)), mark_({parts_.engine, parts_.next_write, "snapshot"}) {}

EngineLog::~EngineLog() = default;

// ---- reading ----

void EngineLog::catch_up(Callback<Result<void>> done) {
    until_looked_.push_back(std::move(done));
    look();
}

void EngineLog::on_notice() {
    look();
}

void EngineLog::advance(Instant now) {
    now_ = now;
    if (now >= look_at_) look();
}

Instant EngineLog::next_due() const {
    return look_at_;
}

void EngineLog::look() {
    look_at_ = Instant::max();
    if (looking_ || appending_now_) {
        look_again_ = true;
        return;
    }
    looking_ = true;
    look_again_ = false;
    look_at_entries(std::make_shared<Looking>());
}

void EngineLog::look_at_entries(const std::shared_ptr<Looking>& looking) {
    looking->missing = looking->asked;
    looking->found.assign(looking->asked, {});
    for (std::size_t i = 0; i < looking->asked; ++i)
        parts_.engine.fetch(store::cas::Kind::document, entry_name(applied_ + 1 + i),
                            alive_.guard([this, looking, i](Result<store::cas::Reading> found) {
                                if (found)
                                    looking->found[i] = std::move(found->value.bytes);
                                else
                                    looking->failure = found.error();
                                if (--looking->missing == 0) saw_entries(looking);
                            }));
}

void EngineLog::saw_entries(const std::shared_ptr<Looking>& looking) {
    if (looking->failure) return looked(*looking->failure);
    for (const std::string& entry : looking->found) {
        if (entry.empty()) return look_at_mark(looking);
        parts_.machine.apply(++applied_, entry);
    }
    looking->asked = std::min(2 * looking->asked, entries_at_once);
    look_at_entries(looking);
}

/// The next entry does not exist: it was not written yet, or it is in a snapshot.
void EngineLog::look_at_mark(const std::shared_ptr<Looking>& looking) {
    mark_.read(alive_.guard([this, looking](const Result<store::cas::Reading>& found) {
        if (!found) return looked(found.error());
        looking->mark = Mark::parse(found->value.bytes);
        saved_ = std::max(saved_, looking->mark.end);
        if (looking->mark.end <= applied_) return looked({});
        load(looking);
    }));
}

void EngineLog::load(const std::shared_ptr<Looking>& looking) {
    looking->missing = looking->mark.chunks;
    looking->found.assign(looking->mark.chunks, {});
    for (std::size_t i = 0; i < looking->mark.chunks; ++i)
        parts_.engine.fetch(store::cas::Kind::document, looking->mark.chunk(i),
                            alive_.guard([this, looking, i](Result<store::cas::Reading> found) {
                                if (found)
                                    looking->found[i] = std::move(found->value.bytes);
                                else
                                    looking->failure = found.error();
                                if (--looking->missing > 0) return;
                                if (looking->failure) return looked(*looking->failure);
                                std::string whole;
                                for (const std::string& chunk : looking->found) {
                                    if (chunk.empty())
                                        return look_at_mark(looking);  // a newer snapshot has replaced it meanwhile
                                    whole += chunk;
                                }
                                if (const auto installed = parts_.machine.install(whole); !installed)
                                    return looked(installed.error());
                                applied_ = looking->mark.end;
                                looking->asked = 1;
                                look_at_entries(looking);
                            }));
}

void EngineLog::looked(const Result<void>& outcome) {
    looking_ = false;
    look_at_ = now_ + look_every;
    for (Callback<Result<void>>& waiting : std::exchange(until_looked_, {}))
        waiting(outcome);
    if (!outcome && !to_append_.empty()) return finish(outcome);
    if (look_again_) return look();
    append_next();
}

// ---- appending ----

void EngineLog::append(std::string entry, Callback<Result<void>> done) {
    to_append_.push_back({std::move(entry), std::move(done)});
    append_next();
}

void EngineLog::append_next() {
    if (to_append_.empty() || appending_now_ || looking_) return;
    appending_now_ = true;
    store::cas::Swap swap;
    const std::string name = entry_name(applied_ + 1);
    swap.kind = store::cas::Kind::document;
    swap.name = name;
    swap.becomes = parts_.next_write();
    swap.bytes = to_append_.front().entry;
    swap.notice = notice;
    swap.notice_must_arrive = true;
    parts_.engine.swap(swap, alive_.guard([this, write = swap.becomes](const Result<store::cas::Swapped>& swapped) {
        on_swapped(write, swapped);
    }));
}

void EngineLog::on_swapped(store::cas::WriteId write, const Result<store::cas::Swapped>& swapped) {
    if (swapped && (swapped->done || swapped->found.write == write)) return confirm();
    appending_now_ = false;
    if (!swapped) return finish(swapped.error());
    look();  // the index is taken by another front; read it and use the next
}

/// The index may have been free because its entry was deleted long ago.
void EngineLog::confirm() {
    mark_.read(alive_.guard([this](const Result<store::cas::Reading>& found) {
        appending_now_ = false;
        if (!found) return finish(found.error());
        if (Mark::parse(found->value.bytes).below > applied_ + 1) return look();
        parts_.machine.apply(++applied_, to_append_.front().entry);
        save_if_long();
        finish({});
    }));
}

void EngineLog::finish(Result<void> outcome) {
    Appending appended = std::move(to_append_.front());
    to_append_.pop_front();
    appended.done(std::move(outcome));
    if (look_again_) return look();
    append_next();
}

// ---- snapshots ----

void EngineLog::save_if_long() {
    if (applied_ >= saved_ + parts_.entries_before_snapshot) save();
}

void EngineLog::save() {
    if (saving_ || applied_ == 0) return;
    saving_ = true;
    const auto saving = std::make_shared<Saving>();
    saving->bytes = parts_.machine.snapshot();
    saving->mark.end = applied_;
    saving->mark.below = applied_ > kept_behind ? applied_ - kept_behind : 0;
    saving->mark.chunks = (saving->bytes.size() + parts_.chunk_bytes - 1) / parts_.chunk_bytes;
    saving->mark.name = std::string(snapshot_prefix) + hex(applied_) + "-" + to_hex(parts_.next_write().bytes());
    save_chunk(saving);
}

void EngineLog::save_chunk(const std::shared_ptr<Saving>& saving) {
    if (saving->written == saving->mark.chunks) return save_mark(saving);
    store::cas::Swap swap;
    const std::string name = saving->mark.chunk(saving->written);
    swap.kind = store::cas::Kind::document;
    swap.name = name;
    swap.becomes = parts_.next_write();
    swap.bytes = std::string_view(saving->bytes).substr(saving->written * parts_.chunk_bytes, parts_.chunk_bytes);
    parts_.engine.swap(swap, alive_.guard([this, saving](const Result<store::cas::Swapped>& swapped) {
        saving_ = swapped && swapped->done;
        if (!saving_) return;  // retried with one of the next entries
        ++saving->written;
        save_chunk(saving);
    }));
}

void EngineLog::save_mark(const std::shared_ptr<Saving>& saving) {
    mark_.change(
        [saving](const store::cas::Reading& found) {
            return Mark::parse(found.value.bytes).end >= saving->mark.end ? std::string() : saving->mark.text();
        },
        alive_.guard([this](const Result<store::cas::Reading>& marked) {
            saving_ = false;
            if (!marked) return;
            const Mark mark = Mark::parse(marked->value.bytes);
            saved_ = std::max(saved_, mark.end);
            tidy(std::string(entry_prefix),
                 [below = entry_name(mark.below)](std::string_view name) { return name < below; }, {});
            tidy(std::string(snapshot_prefix),
                 [mark](std::string_view name) { return !name.starts_with(mark.name) && name < mark.name; }, {});
        }));
}

void EngineLog::tidy(std::string prefix, IsOld is_old, const std::string& after) {
    const std::string searched = prefix;
    parts_.engine.scan(store::cas::Kind::document, searched, after, 256,
                       alive_.guard([this, prefix = std::move(prefix),
                                     is_old = std::move(is_old)](Result<store::cas::Page> page) mutable {
                           if (!page) return;  // left to the next snapshot
                           for (const store::cas::NamedValue& entry : page->entries) {
                               if (!is_old(entry.name)) continue;
                               store::cas::Swap swap;
                               swap.kind = store::cas::Kind::document;
                               swap.name = entry.name;
                               swap.expected = entry.value.write;
                               swap.becomes = parts_.next_write();
                               parts_.engine.swap(swap, [](const Result<store::cas::Swapped>&) {});
                           }
                           const std::string next = page->next;
                           if (!next.empty()) tidy(std::move(prefix), std::move(is_old), next);
                       }));
}

}  // namespace holdfast::agreed
