#include "doors/http/event_stream.h"

#include <algorithm>

#include "authority/event_json.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "doors/http/session.h"
#include "lease/manifest.h"

namespace holdfast::doors::http {
namespace {

constexpr std::size_t texts_kept = 1024;  // texts of events, shared by streams that lag behind

std::string id_line(std::string_view epoch, std::uint64_t sequence) {
    std::string line = "id: ";
    line += epoch;
    line += '-';
    line += std::to_string(sequence);
    line += '\n';
    return line;
}

}  // namespace

std::string event_text(const authority::Event& event, std::string_view epoch) {
    std::string text;
    if (event.sequence != 0) text += id_line(epoch, event.sequence);
    text += "event: ";
    text += to_string(event.kind);
    text += "\ndata: ";
    text += authority::event_json(event, shown_wall_ms(event.at));
    text += "\n\n";
    return text;
}

EventStream::EventStream(authority::Authority& authority, std::string epoch, EventFilter filter)
    : authority_(authority), epoch_(std::move(epoch)), filter_(std::move(filter)) {}

std::optional<std::uint64_t> EventStream::sequence_in(std::string_view id) const {
    const std::size_t dash = id.rfind('-');
    if (dash == std::string_view::npos || id.substr(0, dash) != epoch_) return std::nullopt;
    return parse_number(id.substr(dash + 1));
}

std::string EventStream::missed() {
    told_ = authority_.events().latest();
    live_ = true;
    return id_line(epoch_, told_) + "event: missed\ndata: {\"type\":\"missed\"}\n\n";
}

std::string EventStream::start(const std::optional<std::string>& last_event_id) {
    const authority::Events& events = authority_.events();
    if (!last_event_id) {
        // An id without data is not an event, but a client that reconnects before the first event sends it back.
        told_ = events.latest();
        live_ = true;
        return id_line(epoch_, told_) + "\n";
    }
    const auto sequence = sequence_in(*last_event_id);
    if (!sequence || *sequence > events.latest() || !events.keeps_all_after(*sequence)) return missed();
    told_ = *sequence;
    live_ = told_ == events.latest();
    return ": resumed\n\n";
}

std::string EventStream::pull(std::size_t room, const Text& text_of) {
    const authority::Events& events = authority_.events();
    if (!events.keeps_all_after(told_)) return missed();
    std::string text;
    events.replay(told_, [&](const authority::Event& event) {
        if (text.size() >= room) return;
        told_ = event.sequence;
        if (matches(event)) text += text_of(event);
    });
    live_ = told_ == events.latest();
    return text;
}

bool EventStream::fall_behind() {
    if (!live_ || filter_.renewed) return false;
    live_ = false;
    fell_behind_ = true;
    return true;
}

bool EventStream::wants(const authority::Event& event) {
    if (!live_) return false;
    if (event.sequence != 0) told_ = event.sequence;
    return matches(event);
}

bool EventStream::matches(const authority::Event& event) const {
    if (event.kind == authority::EventKind::renewed && !filter_.renewed) return false;
    if (!filter_.holder.empty() && event.holder != filter_.holder) return false;
    const lease::SplitName split = lease::split_name(event.resource);
    return (filter_.name_space.empty() || split.name_space == filter_.name_space) &&
           split.resource.starts_with(filter_.prefix);
}

EventHub::EventHub(authority::Authority& authority) : authority_(authority), epoch_(random_hex(4)) {}

EventHub::~EventHub() {
    shut();
}

void EventHub::shut() {
    if (subscription_) authority_.events().unsubscribe(*subscription_);
    subscription_.reset();
    sessions_.clear();
}

/// Subscribes with the first stream, so that renewals cost nothing while there is no stream.
void EventHub::join(Session& session) {
    sessions_.push_back(&session);
    if (!subscription_)
        subscription_ = authority_.events().subscribe([this](const authority::Event& event) { tell(event); });
}

void EventHub::leave(Session& session) {
    std::replace(sessions_.begin(), sessions_.end(), &session, static_cast<Session*>(nullptr));
    if (!telling_) std::erase(sessions_, nullptr);
}

void EventHub::tell(const authority::Event& event) {
    if (sessions_.empty()) return;
    passing_text_.clear();
    telling_ = true;
    for (std::size_t i = 0; i < sessions_.size(); ++i)
        if (sessions_[i] != nullptr) sessions_[i]->on_event(event);
    telling_ = false;
    std::erase(sessions_, nullptr);
}

const std::string& EventHub::text_of(const authority::Event& event) {
    if (event.sequence == 0) {
        if (passing_text_.empty()) passing_text_ = event_text(event, epoch_);
        return passing_text_;
    }
    texts_.resize(texts_kept);
    Text& kept = texts_[event.sequence % texts_kept];
    if (kept.sequence != event.sequence) kept = {event.sequence, event_text(event, epoch_)};
    return kept.text;
}

}  // namespace holdfast::doors::http
