#include "store/cas/guarded_engine.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::store::cas {
namespace {

constexpr std::string_view not_believed = "the engine may have lost what was in it";

Error unavailable_for(const std::string& why) {
    return {Code::store_unavailable, why};
}

/// Empty if the engine has not gone back.
std::string why_lost(const Place& place, const Place& least) {
    if (place.marker == WriteId{}) return "the engine's marker is gone";
    if (place.marker.start != least.marker.start) return "the engine's marker is another";
    if (place.marker.count < least.marker.count) return "the engine's marker went back";
    if (place.position < least.position) return "the engine's position went back";
    return {};
}

template <class Found>
void leave_marker_out(Found& found) {
    std::erase_if(found.entries, [](const NamedValue& entry) { return entry.name == marker_name; });
}
void leave_marker_out(Reading&) {}

}  // namespace

void GuardedEngine::require(const Place& place) {
    required_ = place;
    open_ = true;
}

bool GuardedEngine::take(const Place& place, const Place& least, Is position) {
    if (!open_ || least.marker.start != required_.marker.start) return false;
    if (const std::string why = why_lost(place, least); !why.empty()) {
        lost(why);
        return false;
    }
    required_.marker = std::max(required_.marker, place.marker);
    if (position == Is::kept) required_.position = std::max(required_.position, place.position);
    return true;
}

void GuardedEngine::lost(const std::string& why) {
    if (std::exchange(open_, false)) parts_.on_lost(why);
}

template <class Answer>
bool GuardedEngine::refuses(Callback<Result<Answer>>& reply) {
    if (open_) return false;
    parts_.engine.fetch(Kind::record, marker_name, [reply = std::move(reply)](const Result<Reading>& reading) mutable {
        reply(reading ? unavailable_for(std::string(not_believed)) : reading.error());
    });
    return true;
}

void GuardedEngine::swap(const Swap& swap, Callback<Result<Swapped>> reply) {
    if (refuses(reply)) return;
    Swap guarded = swap;
    guarded.marker = required_.marker;
    guarded.position = required_.position;
    parts_.engine.swap(guarded, [this, alive = std::weak_ptr(alive_), least = required_,
                                 reply = std::move(reply)](Result<Swapped> swapped) mutable {
        if (alive.expired()) return reply(std::move(swapped));
        const bool is_lost = !swapped && swapped.error().code == Code::store_lost;
        if (!swapped && !is_lost) return reply(std::move(swapped));
        if (swapped && is_believed(*swapped, least)) return reply(std::move(swapped));
        const std::string why = swapped ? std::string(not_believed) : swapped.error().message;
        if (is_lost && least.marker.start == required_.marker.start) lost(why);  // else another is required by now
        reply(unavailable_for(why));
    });
}

/// An engine that reports its position only afterwards has not compared it.
bool GuardedEngine::is_believed(const Swapped& swapped, const Place& least) {
    if (swapped.position == 0) return true;
    return take({least.marker, swapped.position}, least, swapped.done ? Is::kept : Is::shown);
}

/// The answer to a read, and the engine's place at that time.
template <class Answer>
struct GuardedEngine::Checked {
    std::optional<Result<Answer>> answer;
    std::optional<Result<Reading>> marker;
    Place least;
    Callback<Result<Answer>> reply;
};

template <class Answer>
std::shared_ptr<GuardedEngine::Checked<Answer>> GuardedEngine::begin(Callback<Result<Answer>> reply) const {
    auto both = std::make_shared<Checked<Answer>>();
    both->least = required_;
    both->reply = std::move(reply);
    return both;
}

template <class Answer>
Callback<Result<Answer>> GuardedEngine::checked(std::shared_ptr<Checked<Answer>> both) {
    return [this, alive = std::weak_ptr(alive_), both = std::move(both)](Result<Answer> answered) {
        if (alive.expired()) return;
        both->answer = std::move(answered);
        if (both->marker) answer(*both);
    };
}

template <class Answer>
void GuardedEngine::ask_for_marker(const std::shared_ptr<Checked<Answer>>& both) {
    parts_.engine.fetch(Kind::record, marker_name, [this, alive = std::weak_ptr(alive_), both](Result<Reading> marker) {
        if (alive.expired()) return;
        both->marker = std::move(marker);
        if (both->answer) answer(*both);
    });
}

template <class Answer>
void GuardedEngine::answer(Checked<Answer>& both) {
    Result<Answer>& found = *both.answer;
    if (!found) return both.reply(std::move(found));
    if (!*both.marker) return both.reply(both.marker->error());
    const Reading& marker = **both.marker;
    if (!take({marker.value.write, marker.position}, both.least, Is::shown))
        return both.reply(unavailable_for(std::string(not_believed)));
    leave_marker_out(*found);
    both.reply(std::move(found));
}

void GuardedEngine::fetch(Kind kind, std::string_view name, Callback<Result<Reading>> reply) {
    if (refuses(reply)) return;
    const auto both = begin(std::move(reply));
    parts_.engine.fetch(kind, name, checked(both));
    ask_for_marker(both);
}

void GuardedEngine::overlapping(std::string_view resource, std::size_t most, Callback<Result<FoundRecords>> reply) {
    if (refuses(reply)) return;
    const auto both = begin(std::move(reply));
    parts_.engine.overlapping(resource, most, checked(both));
    ask_for_marker(both);
}

void GuardedEngine::of_holder(std::string_view holder, std::size_t most, Callback<Result<FoundRecords>> reply) {
    if (refuses(reply)) return;
    const auto both = begin(std::move(reply));
    parts_.engine.of_holder(holder, most, checked(both));
    ask_for_marker(both);
}

void GuardedEngine::scan(Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
                         Callback<Result<Page>> reply) {
    if (refuses(reply)) return;
    const auto both = begin(std::move(reply));
    parts_.engine.scan(kind, prefix, after, most, checked(both));
    ask_for_marker(both);
}

void GuardedEngine::overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) {
    if (!refuses(reply)) parts_.engine.overdue(most, std::move(reply));
}

}  // namespace holdfast::store::cas
