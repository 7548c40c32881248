#include "discovery/publisher/publisher_core.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"

namespace holdfast::discovery::publisher {
namespace {

constexpr Duration connect_timeout = 10s;
/// How long to wait for the responses to the last messages.
constexpr Duration farewell = 2s;

}  // namespace

PublisherCore::PublisherCore(Settings settings)
    : identity_(settings.identity), random_(settings.seed), relays_(settings.relays) {
    HOLDFAST_ASSERT(relays_ > 0);
    HOLDFAST_ASSERT(settings.services.size() <= max_services);
    for (Advertisement& service : settings.services)
        adverts_.emplace_back(std::move(service));
}

std::vector<Effect> PublisherCore::step(HolderInstant now) {
    for (Advert& advert : adverts_)
        advert.settle(now, events_);
    const bool silent = link_ == Link::up &&
                        std::ranges::any_of(adverts_, [&](const Advert& advert) { return advert.unanswered(now); });
    if (silent)
        drop("the relay does not answer", now);
    else if (link_ != Link::none && link_ != Link::up && now >= link_due_)
        drop(link_ == Link::connecting ? "no connection in time" : "the relay does not say hello", now);
    if (link_ == Link::up)
        for (Advert& advert : adverts_)
            if (advert.wants_to_ask(now)) ask(advert, now);
    if (link_ == Link::none && now >= link_due_ && !stopping_ && !gave_up()) {
        link_ = Link::connecting;
        link_due_ = now + connect_timeout;
        effects_.emplace_back(Connect{at_relay_});
    }
    for (PublisherEvent& event : events_)
        effects_.emplace_back(std::move(event));
    events_.clear();
    return std::exchange(effects_, {});
}

HolderInstant PublisherCore::next_due() const {
    HolderInstant next = stopping_ ? stop_until_ : HolderInstant::max();
    if (link_ != Link::up && !stopping_ && !gave_up()) next = std::min(next, link_due_);
    if (link_ == Link::up)
        for (const Advert& advert : adverts_)
            next = std::min(next, advert.next_due());
    return next;
}

void PublisherCore::on_connected(HolderInstant now) {
    if (link_ != Link::connecting) return;
    link_ = Link::greeting;
    link_due_ = now + answer_timeout;
    effects_.emplace_back(Send{PublisherHello{}});
}

void PublisherCore::on_disconnected(const std::string& why, HolderInstant now) {
    if (link_ != Link::none) lost(why, now);
}

void PublisherCore::drop(const std::string& why, HolderInstant now) {
    effects_.emplace_back(Disconnect{});
    lost(why, now);
}

void PublisherCore::lost(const std::string& why, HolderInstant now) {
    const bool was_up = link_ == Link::up;
    link_ = Link::none;
    at_relay_ = (at_relay_ + 1) % relays_;
    // The backoff grows per round through all relays, not per relay.
    const int rounds = failures_++ / static_cast<int>(relays_);
    const Duration wait = soon.after(rounds + 1, random_);
    link_due_ = now + wait;
    if (was_up || failures_ <= static_cast<int>(relays_))
        events_.push_back(
            {.what = PublisherEventKind::disconnected,
             .message = (was_up ? "the connection to the relay is lost: " : "no connection to the relay: ") + why +
                        (relays_ > 1 ? "; trying the next in " : "; trying again in ") + format_duration(wait),
             .retry_in = wait});
    for (Advert& advert : adverts_)
        advert.on_connection_lost(now, events_);
}

void PublisherCore::on_message(const Message& message, HolderInstant now) {
    if (link_ == Link::greeting) {
        if (const auto* hello = std::get_if<RelayHello>(&message)) return greeted(*hello, now);
        if (const auto* failed = std::get_if<StreamFailed>(&message))
            return drop(
                "the relay refuses: " + (failed->message.empty() ? std::string(failed->code.name()) : failed->message),
                now);
        return drop("what answers is not a relay", now);
    }
    if (link_ != Link::up) return;
    if (const auto* response = std::get_if<UpdateResponse>(&message)) return heard(*response, now);
    if (const auto* withdrawn = std::get_if<Withdrawn>(&message)) return heard(*withdrawn, now);
    if (const auto* may_retry = std::get_if<MayRetry>(&message)) return heard(*may_retry, now);
    if (const auto* offer = std::get_if<StreamOffer>(&message)) return heard(*offer, now);
    drop("the relay says what is not for a publisher", now);
}

void PublisherCore::greeted(const RelayHello& hello, HolderInstant now) {
    if (hello.version != protocol_version)
        return drop(fmt::format("the relay speaks version {} of the protocol, and this is version {}", hello.version,
                                protocol_version),
                    now);
    link_ = Link::up;
    learn(hello.relay, hello.time_ms, now);
    events_.push_back({.what = PublisherEventKind::connected, .message = "connected to the relay"});
}

void PublisherCore::learn(std::uint64_t relay, std::int64_t time_ms, HolderInstant now) {
    if (relay == 0) return;
    relay_ = relay;
    relay_ms_ = time_ms;
    relay_heard_at_ = now;
}

/// The last time received from the relay, advanced by this clock, so that the clocks need not agree (T1).
std::int64_t PublisherCore::relay_time_ms(HolderInstant now) const {
    return relay_ms_ + to_ms(now - relay_heard_at_);
}

void PublisherCore::ask(Advert& advert, HolderInstant now) {
    Update update = advert.ask(++last_number_, now);
    update.relay = relay_;
    update.time_ms = relay_time_ms(now);
    update.nonce = random_.next();
    SignedUpdate message{.request = encode(update), .public_key = identity_.public_key(), .number = last_number_};
    message.signature = identity_.sign(identity::update_purpose, message.request);
    effects_.emplace_back(Send{std::move(message)});
}

void PublisherCore::heard(const UpdateResponse& response, HolderInstant now) {
    learn(response.relay, response.time_ms, now);
    for (Advert& advert : adverts_) {
        if (!advert.awaits(response.number)) continue;
        advert.on_answer(response, now, random_, events_);
        if (!response.refused) failures_ = 0;
        return;
    }
}

void PublisherCore::heard(const Withdrawn& withdrawn, HolderInstant now) {
    for (Advert& advert : adverts_)
        if (advert.name() == withdrawn.name) advert.on_withdrawn(withdrawn, now, random_, events_);
}

void PublisherCore::heard(const MayRetry& may_retry, HolderInstant now) {
    for (Advert& advert : adverts_)
        advert.on_may_retry(may_retry, now, random_);
}

/// Only for a held service: a relay may offer a stream for a name that was lost a moment ago.
void PublisherCore::heard(const StreamOffer& offer, HolderInstant now) {
    for (std::size_t i = 0; i < adverts_.size(); ++i) {
        if (adverts_[i].name() != offer.name || !adverts_[i].held(now)) continue;
        effects_.emplace_back(Serve{offer, i, at_relay_});
        return;
    }
    effects_.emplace_back(
        Send{StreamRefused{offer.ticket, fmt::format("this publisher does not hold {} now", offer.name), true}});
}

void PublisherCore::stop(HolderInstant now) {
    if (stopping_) return;
    stopping_ = true;
    stop_until_ = now + farewell;
    for (Advert& advert : adverts_)
        advert.stop(now);
}

bool PublisherCore::finished(HolderInstant now) const {
    if (!stopping_) return gave_up();
    return link_ != Link::up || now >= stop_until_ ||
           std::ranges::all_of(adverts_, [](const Advert& advert) { return advert.over(); });
}

bool PublisherCore::gave_up() const {
    return std::ranges::all_of(adverts_, [](const Advert& advert) { return advert.gave_up(); });
}

}  // namespace holdfast::discovery::publisher
