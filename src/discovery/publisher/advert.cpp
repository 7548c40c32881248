#include "discovery/publisher/advert.h"

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "discovery/directory/service_limits.h"

namespace holdfast::discovery::publisher {
namespace {

constexpr HolderInstant never = HolderInstant::max();
/// Spreads the renewals of services that registered together, as a share of the interval.
constexpr double renewal_jitter = 0.1;

PublisherEventKind kind_of(const ErrorCode& code) {
    return code == Code::superseded ? PublisherEventKind::superseded : PublisherEventKind::standing_by;
}

/// A relay states when to renew and when the lease expires; there is nothing to stop in between.
lease::HolderDeadlines deadlines_of(const UpdateResponse& granted, HolderInstant sent_at, HolderInstant now) {
    return lease::HolderDeadlines{
        lease::TimedAnswer{.sent_at = sent_at,
                           .arrived_at = now,
                           .timeline = {granted.renew_in, granted.expires_in, granted.expires_in, granted.expires_in},
                           .ttl = std::max(granted.ttl, granted.expires_in)}};
}

/// REQUIRES: it is a refusal.
std::string because(const UpdateResponse& response) {
    return response.message.empty() ? std::string(response.refused->name()) : response.message;
}

Result<void> check_alpn(const std::vector<std::string>& alpn) {
    if (alpn.size() > directory::limits::alpn_names)
        return Error{Code::invalid_alpn,
                     fmt::format("there are more than {} protocols", directory::limits::alpn_names)};
    for (const std::string& protocol : alpn)
        if (protocol.empty() || protocol.size() > directory::limits::alpn_name_bytes)
            return Error{Code::invalid_alpn, "the name of a protocol has 1 to 255 bytes"};
    return {};
}

Result<void> check_metadata(const std::vector<std::pair<std::string, std::string>>& metadata) {
    if (metadata.size() > directory::limits::service_metadata_pairs)
        return Error{Code::invalid_metadata, fmt::format("there are more than {} pairs of metadata",
                                                         directory::limits::service_metadata_pairs)};
    std::size_t bytes = 0;
    for (const auto& [key, value] : metadata) {
        if (key.empty() || key.size() > directory::limits::service_metadata_key_bytes)
            return Error{Code::invalid_metadata, "a key has 1 to 128 bytes"};
        if (!is_utf8(key) || !is_utf8(value))
            return Error{Code::invalid_metadata, fmt::format("'{}' is not UTF-8", key)};
        bytes += key.size() + value.size();
    }
    if (bytes > directory::limits::service_metadata_bytes)
        return Error{Code::invalid_metadata, "metadata has at most 4096 bytes together"};
    return {};
}

}  // namespace

Result<void> check(const Advertisement& what) {
    if (what.name.size() > directory::limits::service_name_bytes || !is_utf8(what.name) ||
        has_control_characters(what.name))
        return Error{Code::invalid_name, "a name is text of at most 255 bytes, without control characters"};
    if (what.address.size() > directory::limits::service_address_bytes)
        return Error{Code::invalid_argument, "the address is too long"};
    if (what.ttl < Duration{0} || what.ttl > 24h) return Error{Code::ttl_too_long, "a TTL is at most a day"};
    if (auto alpn = check_alpn(what.alpn); !alpn) return alpn;
    return check_metadata(what.metadata);
}

const char* to_string(PublisherEventKind kind) {
    switch (kind) {
        case PublisherEventKind::connected:
            return "connected";
        case PublisherEventKind::disconnected:
            return "disconnected";
        case PublisherEventKind::registered:
            return "registered";
        case PublisherEventKind::recovered:
            return "recovered";
        case PublisherEventKind::lost:
            return "lost";
        case PublisherEventKind::superseded:
            return "superseded";
        case PublisherEventKind::standing_by:
            return "standing_by";
        case PublisherEventKind::taken_again:
            return "taken_again";
        case PublisherEventKind::refused:
            return "refused";
        case PublisherEventKind::gave_up:
            return "gave_up";
        case PublisherEventKind::unregistered:
            return "unregistered";
        case PublisherEventKind::unserved:
            return "unserved";
    }
    return "unknown";
}

std::string Advert::label() const {
    return name().empty() ? "the service without a name" : name();
}

Update Advert::ask(std::uint32_t number, HolderInstant now) {
    HOLDFAST_ASSERT(wants_to_ask(now));
    Update update;
    update.name = name();
    if (given_up_) {
        update.action = Action::unregister;
        update.name = given_up_->name;
        update.token = given_up_->token;
        given_up_.reset();
    } else if (lease_) {
        update.action = stopping_ ? Action::unregister : Action::renew;
        update.token = lease_->token;
    } else {
        update.action = Action::enter;
        update.name = what_.name;
        update.returning = returning_;
        update.token = returning_ ? last_token_ : 0;
        update.address = what_.address;
        update.alpn = what_.alpn;
        update.metadata = what_.metadata;
    }
    update.ttl = what_.ttl;
    pending_ = Pending{number, update.action, now};
    return update;
}

void Advert::on_answer(const UpdateResponse& response, HolderInstant now, Random& random, PublisherEvents& events) {
    HOLDFAST_ASSERT(pending_);
    const Pending asked = *pending_;
    pending_.reset();
    if (asked.action == Action::unregister) {
        events.push_back({.what = PublisherEventKind::unregistered,
                          .service = name(),
                          .message = label() + " is not advertised any more",
                          .token = last_token_});
        lease_.reset();
        due_ = never;
        return;
    }
    if (!response.refused) return granted(response, asked.sent_at, now, random, events);
    refused(response, now, random, events);
    if (stopping_) due_ = lease_ ? now : never;
}

void Advert::granted(const UpdateResponse& response, HolderInstant sent_at, HolderInstant now, Random& random,
                     PublisherEvents& events) {
    const bool renewed = lease_ && lease_->token == response.token;
    const lease::HolderDeadlines answered = deadlines_of(response, sent_at, now);
    if (renewed && !lease_->deadlines.on_answer(answered, now)) return settle(now, events);
    if (!renewed) lease_ = Held{response.name, response.token, answered};
    lease_->deadlines.hasten(renewal_jitter * random.unit(), sent_at);
    last_token_ = response.token;
    renew_every_ = std::max<Duration>(response.renew_in, 100ms);
    due_ = stopping_ ? now : lease_->deadlines.renew_at();
    failures_ = 0;
    if (!renewed)
        tell(was_held_ ? PublisherEventKind::taken_again : PublisherEventKind::registered, response, {}, events);
    else if (in_trouble_)
        tell(PublisherEventKind::recovered, response, {}, events);
    in_trouble_ = false;
    told_.reset();
    returning_ = true;
    was_held_ = true;
    settle(now, events);
}

void Advert::refused(const UpdateResponse& response, HolderInstant now, Random& random, PublisherEvents& events) {
    const Duration wait = response.retry_in;
    ++failures_;
    refused_as_ = response.name;
    const ErrorCode& code = *response.refused;
    const Remedy remedy = remedy_for(code);
    switch (remedy) {
        case Remedy::sign_again:
            due_ = failures_ <= 2 ? now : now + soon.after(failures_, random);
            return;
        case Remedy::register_again:
            lose(because(response), code, events);
            if (failures_ == 1)
                due_ = now;
            else
                retry(soon, wait, now, random);
            return;
        case Remedy::stand_by:
            if (code == Code::superseded) returning_ = true;
            lose(because(response), code, events);
            return tell(kind_of(code), response, retry(as_stand_by, wait, now, random), events);
        case Remedy::ask_soon:
        case Remedy::ask_slowly: {
            // A lease is served until it expires, even if renewals fail: nobody else can get the name before.
            in_trouble_ = lease_.has_value();
            const Backoff& pace = remedy == Remedy::ask_soon ? soon : slowly;
            const Duration next = lease_ ? renew_again(now) : retry(pace, wait, now, random);
            return tell(PublisherEventKind::refused, response, next, events);
        }
        case Remedy::give_up:
            return give_up(response, now, events);
    }
}

void Advert::give_up(const UpdateResponse& response, HolderInstant now, PublisherEvents& events) {
    given_up_ = lease_;
    lose(because(response), *response.refused, events);
    gave_up_ = true;
    due_ = given_up_ ? now : never;
    tell(PublisherEventKind::gave_up, response, {}, events);
}

Duration Advert::retry(const Backoff& pace, Duration at_least, HolderInstant now, Random& random) {
    const Duration wait = std::max(pace.after(failures_, random), std::min(at_least, pace.most));
    due_ = now + wait;
    return wait;
}

/// At the normal renewal interval, so that the relay knows that the service is still served.
Duration Advert::renew_again(HolderInstant now) {
    due_ = now + renew_every_;
    return renew_every_;
}

void Advert::lose(const std::string& why, const ErrorCode& code, PublisherEvents& events) {
    if (!lease_) return;
    events.push_back({.what = PublisherEventKind::lost,
                      .service = lease_->name,
                      .code = code,
                      .message = fmt::format("{} is not held any more: {}", lease_->name, why),
                      .token = lease_->token});
    lease_.reset();
    in_trouble_ = false;
}

/// Reports each state once, not on every retry.
void Advert::tell(PublisherEventKind what, const UpdateResponse& response, Duration retry_in, PublisherEvents& events) {
    PublisherEvent event{.what = what, .service = name(), .retry_in = retry_in};
    if (!response.refused) {
        event.token = response.token;
        const char* happened = what == PublisherEventKind::registered    ? "is registered"
                               : what == PublisherEventKind::taken_again ? "is registered again"
                                                                         : "is renewed again, after trouble";
        event.message = fmt::format("{} {}, with token {}", label(), happened, response.token);
    } else {
        if (told_ == response.refused) return;
        told_ = response.refused;
        event.code = *response.refused;
        event.message = fmt::format("{}: {}", label(), because(response));
        if (retry_in > Duration{0}) event.message += "; trying again in " + format_duration(retry_in);
    }
    events.push_back(std::move(event));
}

void Advert::on_withdrawn(const Withdrawn& withdrawn, HolderInstant now, Random& random, PublisherEvents& events) {
    if (!lease_ || lease_->token != withdrawn.token) return;
    pending_.reset();  // the pending request about this lease is answered by this
    refused(UpdateResponse{.refused = withdrawn.code, .message = withdrawn.message, .name = withdrawn.name}, now,
            random, events);
    // A service hidden by an admin is still held, and shown again if that is lifted in time.
    if (!lease_ || remedy_for(withdrawn.code) == Remedy::ask_slowly) return;
    lose(std::string(withdrawn.code.name()), withdrawn.code, events);
    due_ = now;
}

void Advert::on_may_retry(const MayRetry& may_retry, HolderInstant now, Random& random) {
    if (may_retry.name != name() && may_retry.name != refused_as_) return;
    if (pending_ || stopping_ || gave_up_ || failures_ == 0) return;
    failures_ = 0;
    const double share = random.unit();
    const Duration wait{static_cast<Duration::rep>(static_cast<double>(may_retry.within.count()) * share)};
    due_ = std::min(due_, now + wait);
}

void Advert::on_connection_lost(HolderInstant now, PublisherEvents& events) {
    const bool asked = pending_.has_value();
    pending_.reset();
    if (gave_up_) {
        given_up_.reset();
        due_ = never;
        return;
    }
    if (lease_ || asked) due_ = now;
    lose("the connection to the relay is gone", {}, events);
    if (stopping_) due_ = never;
}

void Advert::settle(HolderInstant now, PublisherEvents& events) {
    if (!lease_ || lease_->deadlines.held(now)) return;
    lose("it expired before it was renewed", {}, events);
    due_ = stopping_ ? never : now;
}

void Advert::stop(HolderInstant now) {
    stopping_ = true;
    due_ = lease_ ? now : never;
}

HolderInstant Advert::next_due() const {
    HolderInstant next = pending_ ? pending_->sent_at + answer_timeout : due_;
    if (lease_) next = std::min(next, lease_->deadlines.end());
    return next;
}

}  // namespace holdfast::discovery::publisher
