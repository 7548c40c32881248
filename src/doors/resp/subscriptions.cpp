#include "doors/resp/subscriptions.h"

#include <algorithm>

#include "authority/event_json.h"
#include "base/clock.h"
#include "base/glob.h"
#include "doors/resp/session.h"

namespace holdfast::doors::resp {

using authority::EventKind;

std::string_view channel_of(EventKind kind) {
    switch (kind) {
        case EventKind::granted:
            return "lease:granted";
        case EventKind::renewed:
            return "lease:renewed";
        case EventKind::released:
            return "lease:released";
        case EventKind::expired:
            return "lease:expired";
        case EventKind::revoked:
            break;
    }
    return "lease:revoked";
}

namespace {

std::optional<EventKind> kind_of(std::string_view channel) {
    for (const EventKind kind : event_kinds)
        if (channel_of(kind) == channel) return kind;
    return std::nullopt;
}

}  // namespace

bool Subscriptions::add_channel(std::string_view name) {
    if (channels_.find(name) != channels_.end()) return true;
    if (size() >= most) return false;
    channels_.emplace(name);
    if (const auto kind = kind_of(name)) routes_[static_cast<std::size_t>(*kind)].by_name = true;
    return true;
}

bool Subscriptions::add_pattern(std::string_view pattern) {
    if (patterns_.find(pattern) != patterns_.end()) return true;
    if (size() >= most) return false;
    const std::string& kept = *patterns_.emplace(pattern).first;
    for (const EventKind kind : event_kinds) {
        ++comparisons_;
        if (glob_matches(kept, channel_of(kind))) routes_[static_cast<std::size_t>(kind)].patterns.insert(kept);
    }
    return true;
}

void Subscriptions::remove_channel(std::string_view name) {
    const auto found = channels_.find(name);
    if (found == channels_.end()) return;
    if (const auto kind = kind_of(name)) routes_[static_cast<std::size_t>(*kind)].by_name = false;
    channels_.erase(found);
}

void Subscriptions::remove_pattern(std::string_view pattern) {
    const auto found = patterns_.find(pattern);
    if (found == patterns_.end()) return;
    for (Route& route : routes_)
        route.patterns.erase(*found);
    patterns_.erase(found);
}

void Subscriptions::clear() {
    routes_ = {};
    channels_.clear();
    patterns_.clear();
}

void SubscriberHub::join(RespSession& session) {
    if (std::find(sessions_.begin(), sessions_.end(), &session) != sessions_.end()) return;
    sessions_.push_back(&session);
    if (!subscription_)
        subscription_ = authority_.events().subscribe([this](const authority::Event& event) { tell(event); });
}

void SubscriberHub::leave(RespSession& session) {
    std::erase(sessions_, &session);
    if (sessions_.empty()) shut();
}

void SubscriberHub::shut() {
    if (subscription_) authority_.events().unsubscribe(*subscription_);
    subscription_.reset();
    sessions_.clear();
}

void SubscriberHub::tell(const authority::Event& event) {
    std::string payload;
    for (RespSession* session : sessions_) {
        const Subscriptions::Route& route = session->subscriptions().route(event.kind);
        if (!route.any()) continue;
        if (payload.empty()) payload = authority::event_json(event, shown_wall_ms(event.at));
        message_.clear();
        codec::resp::ReplyWriter writer(message_, session->client().protocol);
        if (route.by_name) {
            writer.push(3);
            writer.bulk("message");
            writer.bulk(channel_of(event.kind));
            writer.bulk(payload);
        }
        for (const std::string_view pattern : route.patterns) {
            if (message_.size() > RespSession::max_pushes_bytes) break;  // the session closes instead of sending it
            writer.push(4);
            writer.bulk("pmessage");
            writer.bulk(pattern);
            writer.bulk(channel_of(event.kind));
            writer.bulk(payload);
        }
        session->push(message_);
    }
}

}  // namespace holdfast::doors::resp
