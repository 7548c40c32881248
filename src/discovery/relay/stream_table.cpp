#include "discovery/relay/stream_table.h"

#include <algorithm>

#include "base/assert.h"

namespace holdfast::discovery::relay {
namespace {

constexpr auto remembered_for = 60s;  // so that short streams cannot each get a full bucket

template <class Parties>
std::size_t streams_of(const Parties& parties, const std::string& name) {
    const auto found = parties.find(name);
    return found == parties.end() ? 0 : found->second.streams;
}

StreamTable::Carried carried_by(const TrafficShare& share) {
    return {share.to_publisher.load(std::memory_order_relaxed), share.to_consumer.load(std::memory_order_relaxed)};
}

void add(StreamTable::Carried& sum, const StreamTable::Carried& more) {
    sum.to_publisher += more.to_publisher;
    sum.to_consumer += more.to_consumer;
}

}  // namespace

// ---- offers ----

bool StreamTable::has_room(const StreamWish& wish) const {
    const auto offered = by_publisher_.find(wish.publisher);
    const std::size_t offers = offered == by_publisher_.end() ? 0 : offered->second.size();
    return offers < limits_.offers_per_publisher && offers_.size() + open_.size() < limits_.max_streams &&
           streams_of(services_, wish.service) < limits_.per_service &&
           streams_of(identities_, wish.identity) < limits_.per_identity;
}

bool StreamTable::offer(StreamWish wish, const std::string& ticket, Time now) {
    now_ = std::max(now_, now);
    if (!has_room(wish)) {
        ++refused_by_limit_;
        return false;
    }
    count(wish);
    const auto made = offers_.insert(offers_.end(), {ticket, std::move(wish), now_ + limits_.ticket_life});
    const bool is_new =
        by_ticket_.emplace(ticket, made).second && by_consumer_.emplace(made->wish.consumer, made).second;
    HOLDFAST_ASSERT(is_new);
    by_publisher_[made->wish.publisher].emplace(made->wish.consumer, made);
    return true;
}

StreamTable::Offers::iterator StreamTable::find(std::string_view ticket) {
    const auto found = by_ticket_.find(std::string(ticket));
    return found == by_ticket_.end() ? offers_.end() : found->second;
}

StreamWish StreamTable::take_out(Offers::iterator offer) {
    by_ticket_.erase(offer->ticket);
    by_consumer_.erase(offer->wish.consumer);
    const auto of_publisher = by_publisher_.find(offer->wish.publisher);
    of_publisher->second.erase(offer->wish.consumer);
    if (of_publisher->second.empty()) by_publisher_.erase(of_publisher);
    StreamWish wish = std::move(offer->wish);
    offers_.erase(offer);
    return wish;
}

std::optional<StreamTable::Opened> StreamTable::redeem(std::string_view ticket, Time now) {
    now_ = std::max(now_, now);
    const auto offer = find(ticket);
    if (offer == offers_.end() || now_ >= offer->expires_at) return std::nullopt;
    StreamWish wish = take_out(offer);
    Party& service = services_.at(wish.service);
    ++service.total;
    Opened opened{next_stream_++, wish.consumer, service.share, identities_.at(wish.identity).share};
    open_.emplace(opened.stream, std::move(wish));
    return opened;
}

std::optional<StreamTable::RefusedOffer> StreamTable::refuse(std::string_view ticket, std::uint64_t publisher) {
    const auto offer = find(ticket);
    if (offer == offers_.end() || offer->wish.publisher != publisher) return std::nullopt;
    const StreamWish wish = take_out(offer);
    discount(wish);
    return RefusedOffer{wish.consumer, wish.service};
}

void StreamTable::give_up(std::uint64_t consumer) {
    const auto found = by_consumer_.find(consumer);
    if (found != by_consumer_.end()) discount(take_out(found->second));
}

std::vector<std::uint64_t> StreamTable::publisher_gone(std::uint64_t publisher) {
    std::vector<std::uint64_t> consumers;
    const auto found = by_publisher_.find(publisher);
    if (found == by_publisher_.end()) return consumers;
    for (const auto& entry : found->second)
        consumers.push_back(entry.first);
    for (const std::uint64_t consumer : consumers)
        give_up(consumer);
    return consumers;
}

std::vector<std::uint64_t> StreamTable::advance(Time now, std::size_t most) {
    now_ = std::max(now_, now);
    std::vector<std::uint64_t> unanswered;
    while (!offers_.empty() && now_ >= offers_.front().expires_at && unanswered.size() < most) {
        const StreamWish wish = take_out(offers_.begin());
        discount(wish);
        unanswered.push_back(wish.consumer);
    }
    unanswered_ += unanswered.size();
    if (now_ >= forget_at_) forget_idle(now_);
    return unanswered;
}

void StreamTable::ended(std::uint64_t stream) {
    const auto found = open_.find(stream);
    if (found == open_.end()) return;
    discount(found->second);
    open_.erase(found);
}

// ---- services and identities ----

void StreamTable::count(const StreamWish& wish) {
    const auto join = [](Parties& parties, const std::string& name, std::uint64_t rate) {
        Party& party = parties[name];
        if (!party.share) party.share = std::make_shared<TrafficShare>(rate);
        ++party.streams;
    };
    join(services_, wish.service, limits_.rate_per_service);
    join(identities_, wish.identity, limits_.rate_per_identity);
}

void StreamTable::discount(const StreamWish& wish) {
    for (Party* party : {&services_.at(wish.service), &identities_.at(wish.identity)})
        if (--party->streams == 0) party->idle_since = now_;
}

void StreamTable::forget_idle(Time now) {
    forget_at_ = now + remembered_for / 2;
    const auto is_idle = [now](const Party& party) {
        return party.streams == 0 && now >= party.idle_since + remembered_for;
    };
    std::erase_if(services_, [&](const auto& entry) {
        if (is_idle(entry.second)) add(forgotten_, carried_by(*entry.second.share));
        return is_idle(entry.second);
    });
    std::erase_if(identities_, [&](const auto& entry) { return is_idle(entry.second); });
}

// ---- counts ----

StreamTable::Counts StreamTable::counts() const {
    return {.waiting = offers_.size(),
            .open = open_.size(),
            .total = next_stream_ - 1,
            .refused_by_limit = refused_by_limit_,
            .unanswered = unanswered_};
}

StreamTable::Carried StreamTable::carried() const {
    Carried sum = forgotten_;
    for (const auto& entry : services_)
        add(sum, carried_by(*entry.second.share));
    return sum;
}

void StreamTable::for_each_service(const Visitor& visit) const {
    for (const auto& [name, party] : services_)
        visit(name, ServiceTraffic{party.streams, party.total, carried_by(*party.share)});
}

}  // namespace holdfast::discovery::relay
