#include "client/sessions/membership.h"

#include <algorithm>
#include <utility>

#include "client/sessions/lease_commands.h"

namespace holdfast::client::sessions {

namespace {

constexpr std::size_t max_nodes = 10'000;
/// Enough for a hundred million keys, if the store scans a thousand per page.
constexpr std::size_t max_pages = 100'000;
/// Delay after a heartbeat's end, so that it is gone when the list is read.
constexpr Duration just_after = 20ms;
constexpr Duration refresh_pause_min = 100ms;

}  // namespace

std::vector<Membership::Request> Membership::take_due(HolderInstant now) {
    std::vector<Request> due;
    if (now >= heartbeat_at_) {
        due.push_back({Ask::heartbeat});
        heartbeat_at_ = origin_ + ((now - origin_) / rules_.heartbeat_every + 1) * rules_.heartbeat_every;
    }
    if (under_way_) return due;
    if (!scanning_ && unmeasured_.empty() && now >= refresh_at_) {
        scanning_ = true;
        cursor_.assign(1, '0');
        pages_ = 0;
        found_ = {rules_.instance};
        shortest_ = Duration::max();
    }
    if (scanning_) {
        due.push_back({Ask::scan, cursor_});
        under_way_ = true;
    } else if (!unmeasured_.empty()) {
        measuring_ = unmeasured_.size();
        for (std::string& instance : std::exchange(unmeasured_, {}))
            due.push_back({Ask::ttl, std::move(instance)});
        under_way_ = true;
    }
    return due;
}

void Membership::answer(const Request& request, const codec::resp::Value& value, HolderInstant now) {
    switch (request.ask) {
        case Ask::heartbeat:
            if (value.is_error()) heartbeat_at_ = now + rules_.heartbeat_every / 10;
            return;
        case Ask::scan:
            under_way_ = false;
            return scanned(value, now);
        case Ask::ttl:
            if (value.type == codec::resp::Value::Type::integer && value.number > 0)
                shortest_ = std::min<Duration>(shortest_, std::chrono::milliseconds{value.number});
            if (--measuring_ > 0) return;
            under_way_ = false;
            refresh_at_ =
                now + std::clamp<Duration>(shortest_ == Duration::max() ? shortest_ : shortest_ + just_after,
                                           std::min(refresh_pause_min, rules_.refresh_every), rules_.refresh_every);
            return;
    }
}

void Membership::scanned(const codec::resp::Value& value, HolderInstant now) {
    using Type = codec::resp::Value::Type;
    const bool whole = value.type == Type::array && value.items.size() == 2 && value.items[0].is_text() &&
                       value.items[1].type == Type::array;
    if (!whole) return start_over(now + rules_.refresh_every / 10);
    for (const codec::resp::Value& key : value.items[1].items)
        if (key.is_text() && key.text.starts_with(node_key_prefix))
            found_.insert(key.text.substr(node_key_prefix.size()));
    if (found_.size() > max_nodes || ++pages_ > max_pages) {
        endless_ = true;
        return start_over(now + rules_.refresh_every);
    }
    cursor_ = value.items[0].text;
    if (cursor_ == "0") finish(now);
}

void Membership::finish(HolderInstant now) {
    scanning_ = false;
    live_ = found_;
    news_ = true;
    found_.erase(rules_.instance);
    unmeasured_.assign(found_.begin(), found_.end());
    if (unmeasured_.empty()) refresh_at_ = now + rules_.refresh_every;
}

void Membership::start_over(HolderInstant at) {
    scanning_ = under_way_ = false;
    measuring_ = 0;
    unmeasured_.clear();
    refresh_at_ = at;
}

void Membership::unanswered(HolderInstant now) {
    heartbeat_at_ = now;
    start_over(now);
}

HolderInstant Membership::next() const {
    if (under_way_) return heartbeat_at_;
    if (scanning_ || !unmeasured_.empty()) return HolderInstant{};
    return std::min(heartbeat_at_, refresh_at_);
}

}  // namespace holdfast::client::sessions
