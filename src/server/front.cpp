#include "server/front.h"

#include <algorithm>
#include <fmt/format.h>

#include "authority/authority.h"
#include "base/text.h"

namespace holdfast::server {
namespace {

constexpr Duration pause_after_failure = 500ms;
constexpr Duration raise_every = 1s;
constexpr std::uint64_t numbers = 1ULL << 23;  // range of front numbers

bool may_heal(const Error& error) {
    return error.code == Code::store_unavailable;
}

}  // namespace

Front::Front(Parts parts)
    : parts_(std::move(parts)),
      random_(parts_.seed),
      last_write_(parts_.last_write),
      remembered_(parts_.remembered),
      guard_({parts_.engine,
              [this](const std::string& why) {
                  met_loss_ = true;
                  on_lost(why);
              }}),
      numbers_({guard_, [this] { return next_write(); }, "fronts"}),
      watch_({.engine = parts_.engine,
              .next_write = [this] { return next_write(); },
              .on_doubt = [this](Duration lasts, const std::string& why) { doubt(lasts, why); },
              .synchronous = parts_.synchronous,
              .new_store = parts_.new_store,
              .remembered = parts_.remembered}),
      marker_({.engine = parts_.engine,
               .guard = guard_,
               .random = parts_.incarnation,
               .on_time =
                   [this](Instant sent, store::cas::EngineTime now) {
                       if (store_) store_->on_time(sent, now);
                   },
               .now = [this] { return parts_.clock ? parts_.clock() : now_; },
               .new_store = parts_.new_store,
               .remembered = parts_.remembered}),
      tokens_({guard_, [this] { return next_write(); }, parts_.wall_ms}),
      agreement_(agreement_parts()),
      log_({.engine = guard_, .next_write = [this] { return next_write(); }, .machine = agreement_.machine()}) {}

Front::~Front() = default;

/// The longest TTL is recorded for all fronts before any lease is granted for that long (engine_watch.h).
agreed::Agreement::Parts Front::agreement_parts() {
    return {.reserves_tokens = false,  // the store does
            .before_policy =
                [this](const lease::Policy& policy, Callback<Result<void>> done) {
                    watch_.expect_ttl(policy.longest_ttl(), std::move(done));
                },
            .on_policy = [this](const lease::Policy& policy) { watch_.know_ttl(policy.longest_ttl()); },
            .on_failure = [this](const Error& error) { parts_.warn(error.message); },
            .unavailable = Code::store_unavailable,
            .first_id = random_.next()};
}

store::cas::WriteId Front::next_write() {
    return ++last_write_;
}

// ---- before it can serve ----

void Front::prepare(Callback<Result<void>> ready) {
    ready_ = std::move(ready);
    parts_.engine.start(*this);
}

void Front::on_reachable(const store::cas::EngineHello& hello) {
    reachable_ = true;
    hello_ = hello;
    if (hello.lost) suspicion_ = "the engine is not where it was in its history";
    check_engine();
}

/// Determines what the engine may have lost before any request reaches it.
void Front::check_engine() {
    check_at_ = Instant::max();
    if (checking_ || stopped_) return;
    checking_ = true;
    guard_.close();
    watch_.on_reachable(hello_, [this](const Result<std::string>& why) {
        if (!why) return checked(why.error());
        settle_marker(why->empty() ? std::exchange(suspicion_, {}) : *why);
    });
}

void Front::settle_marker(const std::string& why) {
    const bool was_met = std::exchange(met_loss_, false);
    marker_.settle({.why = why,
                    .was_met = was_met,
                    .is_over = [this](std::uint64_t incarnation) { return watch_.is_over(incarnation); },
                    .declare = [this](const std::string& reason, const std::vector<std::uint64_t>& over,
                                      Callback<Result<void>> done) { watch_.declare(reason, over, std::move(done)); }},
                   [this, why, was_met](const Result<void>& outcome) {
                       raise_at_ = now_ + raise_every;
                       if (!outcome && suspicion_.empty()) suspicion_ = why;
                       if (!outcome) met_loss_ |= was_met;
                       checked(outcome);
                   });
}

/// A request met a loss. It is refused, and so is everything else under way.
void Front::on_lost(const std::string& why) {
    if (!reachable_ || stopped_) return;
    trouble_ = Error{Code::store_unavailable, why};
    parts_.warn("the store may have lost leases: " + why);
    if (store_) store_->on_lost(*trouble_);
    check_engine();
}

/// Leases may have been lost, by evidence other than the engine's position in its history.
void Front::suspect(const std::string& why) {
    suspicion_ = why;
    on_lost(why);
}

void Front::checked(const Result<void>& outcome) {
    checking_ = false;
    if (!reachable_ || stopped_) return;
    if (!outcome && ready_ && !may_heal(outcome.error())) return finish(outcome);
    if (!outcome) {
        trouble_ = outcome.error();
        check_at_ = now_ + pause_after_failure;
        return;
    }
    if (!suspicion_.empty()) return check_engine();  // raised during the check
    remember();                                      // before anything is granted
    if (ready_) return number_ == 0 ? take_number() : load();
    if (trouble_) parts_.log("the store can be reached again");
    trouble_.reset();
    store_->on_reachable();
    log_.on_notice();  // some may have been missed
    if (std::exchange(restores_policy_, false)) log_.save();
}

void Front::take_number() {
    numbers_.change(
        [this](const store::cas::Reading& found) {
            const auto last = parse_number(found.value.bytes);
            const std::uint64_t next = last ? *last % (numbers - 1) + 1 : random_.below(numbers - 1) + 1;
            return std::to_string(next);
        },
        [this](const Result<store::cas::Reading>& taken) {
            if (!taken) return finish(taken.error());
            number_ = parse_number(taken->value.bytes).value_or(0);
            load();
        });
}

void Front::load() {
    log_.catch_up([this](const Result<void>& read) {
        const Result<void> loaded = read ? agreement_.begin(log_) : read;
        if (!loaded) return finish(loaded);
        watch_.expect_ttl(agreement_.policy().longest_ttl(), [this](const Result<void>& expected) {
            if (!expected) return finish(expected);
            loaded_ = true;
            advance(now_);
        });
    });
}

void Front::finish(const Result<void>& outcome) {
    if (!ready_ || stopped_) return;
    if (!outcome && may_heal(outcome.error())) {
        trouble_ = outcome.error();
        check_at_ = now_ + pause_after_failure;
        return;
    }
    trouble_.reset();
    std::exchange(ready_, {})(outcome);
}

// ---- from then on ----

store::cas::EngineStore& Front::open(authority::Authority& authority, store::StoreListener& listener) {
    authority_ = &authority;
    agreement_.use(authority);
    store_ = std::make_unique<store::cas::EngineStore>(store::cas::EngineStore::Parts{
        .engine = guard_,
        .listener = listener,
        .hash_key = {random_.next(), random_.next()},
        .front = number_,
        .last_write = store::cas::WriteId{last_write_.start, last_write_.count + (1ULL << 63)},
        .seed = random_.next(),
        .last_token = [this] { return tokens_.last(); },
        .why_no_token = [this] { return tokens_.trouble() ? tokens_.trouble()->message : ""; },
        .on_token_given = [this](lease::Token token) { tokens_.given(token); },
        .on_clock_stepped =
            [this](Duration ahead) {
                suspect(fmt::format(
                    "the engine's clock went ahead by {}, so leases that it considers expired may still be held",
                    format_duration(ahead)));
            },
        .on_vanished =
            [this](std::string_view resource) {
                suspect(
                    fmt::format("a lease on `{}` disappeared from the engine before its end, and nobody ended it: "
                                "records were deleted there, or the engine lost its latest writes",
                                resource));
            },
        .clock = parts_.clock,
        .clock_offset = parts_.remembered.clock,
        .shown_wall_ms = parts_.shown_wall_ms});
    if (reachable_) store_->on_reachable();
    return *store_;
}

void Front::advance(Instant now) {
    now_ = now;
    if (stopped_) return;
    if (now >= check_at_ && reachable_) check_engine();
    if (number_ != 0) tokens_.advance(now, reachable_ && !checking_);
    if (now >= raise_at_ && reachable_ && !checking_) {
        raise_at_ = now + raise_every;
        remember();
        marker_.raise();
        if (doubting_ && now >= recovering_until_) {
            doubting_ = false;
            watch_.end_doubt();
        }
    }
    if (loaded_ && ready_ && tokens_.last()) finish({});
    if (authority_ != nullptr) agreement_.advance(now);
}

Instant Front::next_due() const {
    if (stopped_) return Instant::max();
    Instant due = check_at_;
    if (number_ != 0 && reachable_ && !checking_) due = std::min(due, tokens_.next_due());
    if (reachable_ && !checking_) due = std::min(due, raise_at_);
    if (authority_ != nullptr) due = std::min(due, agreement_.next_due());
    return due;
}

void Front::on_unreachable(const Error& why) {
    const bool known = !reachable_ && trouble_ && trouble_->message == why.message;
    reachable_ = false;
    check_at_ = Instant::max();
    trouble_ = why;
    if (!known) parts_.warn("the store cannot be used: " + why.message);
    if (store_) store_->on_unreachable(why);
}

void Front::on_notice(std::string_view notice) {
    if (stopped_ || !store_) return;
    if (notice == agreed::EngineLog::notice) return log_.on_notice();
    store_->on_notice(notice);
}

void Front::doubt(Duration lasts, const std::string& why) {
    parts_.warn(fmt::format("{}; nothing is granted for {}", why, format_duration(lasts)));
    recovering_until_ = std::max(recovering_until_, now_ + lasts);
    doubting_ = restores_policy_ = true;
    recovering_why_ = why + "; leases that it has forgotten may be held, so nothing is granted until they have ended";
    // A request admitted before must not be granted now, even if its outcome was unknown when the engine became
    // unreachable.
    if (store_) store_->on_lost({Code::store_unavailable, why});
    if (authority_ != nullptr) authority_->recover_until(recovering_until_, recovering_why_);
}

store::cas::FrontMemory Front::memory() const {
    const bool has_clock = store_ && parts_.engine.rho() == 0;
    return {.place = marker_.seen(),
            .longest = watch_.longest(),
            .clock = has_clock ? store_->clock_offset() : std::nullopt,
            .boot = {}};
}

void Front::remember() {
    const store::cas::FrontMemory is = memory();
    if (!parts_.remember || is.is_empty() || is == remembered_) return;
    remembered_ = is;
    parts_.remember(is);
}

void Front::stop() {
    if (!std::exchange(stopped_, true)) remember();
    agreement_.stop();
    if (store_) store_->stop();
    parts_.engine.stop();
}

}  // namespace holdfast::server
