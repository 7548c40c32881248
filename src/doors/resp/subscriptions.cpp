#include "doors/resp/subscriptions.h"

#include <algorithm>

#include "base/clock.h"
#include "doors/http/answers.h"
#include "doors/resp/session.h"
#include "services/glob.h"

namespace holdfast {

using core::EventKind;

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

bool Subscriptions::add(Names& names, std::string_view name) {
    if (names.find(name) != names.end()) return true;
    if (size() >= most) return false;
    names.emplace(name);
    find_routes();
    return true;
}

void Subscriptions::remove(Names& names, std::string_view name) {
    const auto found = names.find(name);
    if (found == names.end()) return;
    names.erase(found);
    find_routes();
}

void Subscriptions::clear() {
    channels_.clear();
    patterns_.clear();
    find_routes();
}

void Subscriptions::find_routes() {
    for (const EventKind kind : event_kinds) {
        Route& route = routes_[static_cast<std::size_t>(kind)];
        route.by_name = channels_.find(channel_of(kind)) != channels_.end();
        route.patterns.clear();
        for (const std::string& pattern : patterns_)
            if (redis::glob_matches(pattern, channel_of(kind))) route.patterns.push_back(pattern);
    }
}

void SubscriberHub::join(RespSession& session) {
    if (std::find(sessions_.begin(), sessions_.end(), &session) != sessions_.end()) return;
    sessions_.push_back(&session);
    if (!subscription_)
        subscription_ = authority_.events().subscribe([this](const core::Event& event) { tell(event); });
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

void SubscriberHub::tell(const core::Event& event) {
    std::string payload;
    for (RespSession* session : sessions_) {
        const Subscriptions::Route& route = session->subscriptions().route(event.kind);
        if (!route.any()) continue;
        if (payload.empty()) payload = http::event_json(event, {authority_.now(), wall_clock_ms()});
        message_.clear();
        resp::ReplyWriter writer(message_, session->client().protocol);
        if (route.by_name) {
            writer.push(3);
            writer.bulk("message");
            writer.bulk(channel_of(event.kind));
            writer.bulk(payload);
        }
        for (const std::string& pattern : route.patterns) {
            writer.push(4);
            writer.bulk("pmessage");
            writer.bulk(pattern);
            writer.bulk(channel_of(event.kind));
            writer.bulk(payload);
        }
        session->push(message_);
    }
}

}  // namespace holdfast
