#include "front/front.h"

#include <algorithm>

#include "authority/authority.h"
#include "base/text.h"

namespace holdfast::core {
namespace {

constexpr Duration pause_after_failure = 500ms;
constexpr Duration raise_every = 1s;
constexpr std::uint64_t numbers = 1ULL << 23;  // of fronts

bool may_heal(const Error& error) {
    return error.code == "store_unavailable";
}

}  // namespace

Front::Front(Parts parts)
    : parts_(std::move(parts)),
      random_(parts_.seed),
      last_write_(parts_.last_write),
      guard_({parts_.engine, [this](const std::string& why) { on_lost(why); }}),
      numbers_({guard_, [this] { return next_write(); }, "fronts"}),
      watch_({parts_.engine, [this] { return next_write(); },
              [this](Duration lasts, const std::string& why) { doubt(lasts, why); }}),
      marker_({parts_.engine, guard_, parts_.incarnation}),
      tokens_({guard_, [this] { return next_write(); }, parts_.wall_ms}) {}

Front::~Front() = default;

WriteId Front::next_write() {
    return ++last_write_;
}

// ---- before it can serve ----

void Front::prepare(Callback<Result<void>> ready) {
    ready_ = std::move(ready);
    parts_.engine.start(*this);
}

void Front::on_reachable(const EngineHello& hello) {
    reachable_ = true;
    hello_ = hello;
    check_engine();
}

/// What the engine may have lost is known before anything is asked of it.
void Front::check_engine() {
    check_at_ = Instant::max();
    if (checking_ || stopped_) return;
    checking_ = true;
    guard_.close();
    watch_.on_reachable(hello_, [this](const Result<void>& outcome) { outcome ? settle_marker() : checked(outcome); });
}

void Front::settle_marker() {
    marker_.settle({.is_known = [this] { return watch_.in_doubt(); },
                    .declare = [this](const std::string& why,
                                      Callback<Result<void>> done) { watch_.declare(why, std::move(done)); }},
                   [this](const Result<void>& outcome) {
                       raise_at_ = now_ + raise_every;
                       checked(outcome);
                   });
}

/// By what a request met: it is refused, and so is whatever else is under way.
void Front::on_lost(const std::string& why) {
    if (!reachable_ || stopped_) return;
    trouble_ = Error{"store_unavailable", why};
    parts_.warn("the store may have lost leases: " + why);
    if (store_) store_->on_lost(*trouble_);
    check_engine();
}

void Front::on_clock_stepped(Duration ahead) {
    watch_.on_clock_stepped(ahead, [this](const Result<void>& written) {
        if (written) marker_.renew();
    });
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
    if (ready_) return number_ == 0 ? take_number() : load();
    if (trouble_) parts_.log("the store can be reached again");
    trouble_.reset();
    store_->on_reachable();
    durable_->on_reachable();
}

void Front::take_number() {
    numbers_.change(
        [this](const Reading& found) {
            const auto last = parse_number(found.kept.bytes);
            const std::uint64_t next = last ? *last % (numbers - 1) + 1 : random_.below(numbers - 1) + 1;
            return std::to_string(next);
        },
        [this](const Result<Reading>& taken) {
            if (!taken) return finish(taken.error());
            number_ = parse_number(taken->kept.bytes).value_or(0);
            load();
        });
}

void Front::load() {
    durable_ = std::make_unique<EngineDurable>(
        EngineDurable::Parts{.engine = guard_,
                             .next_write = [this] { return next_write(); },
                             .watch = watch_,
                             .first_id = random_.next(),
                             .on_failure = [this](const Error& error) { parts_.warn(error.message); }});
    durable_->load([this](const Result<void>& loaded) {
        if (!loaded) return finish(loaded);
        watch_.expect_ttl(durable_->policy().ttl_max, [this](const Result<void>& expected) {
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

EngineStore& Front::open(Authority& authority, StoreListener& listener) {
    authority_ = &authority;
    durable_->use(authority);
    store_ = std::make_unique<EngineStore>(
        EngineStore::Parts{.engine = guard_,
                           .listener = listener,
                           .hash_key = {random_.next(), random_.next()},
                           .front = number_,
                           .last_write = WriteId{last_write_.start, last_write_.count + (1ULL << 63)},
                           .seed = random_.next(),
                           .last_token = [this] { return tokens_.last(); },
                           .on_token_given = [this](Token token) { tokens_.given(token); },
                           .on_clock_stepped = [this](Duration ahead) { on_clock_stepped(ahead); },
                           .clock = parts_.clock,
                           .shown_wall_ms = parts_.shown_wall_ms});
    if (reachable_) store_->on_reachable();
    return *store_;
}

void Front::advance(Instant now) {
    now_ = now;
    if (stopped_) return;
    if (now >= check_at_ && reachable_) check_engine();
    if (number_ != 0 && reachable_) tokens_.advance(now);
    if (now >= raise_at_ && reachable_ && !checking_) {
        raise_at_ = now + raise_every;
        marker_.raise();
    }
    if (loaded_ && ready_ && tokens_.last()) finish({});
    if (authority_ != nullptr) durable_->advance(now);
}

Instant Front::next_due() const {
    if (stopped_) return Instant::max();
    Instant due = check_at_;
    if (number_ != 0 && reachable_) due = std::min(due, tokens_.next_due());
    if (reachable_ && !checking_) due = std::min(due, raise_at_);
    if (authority_ != nullptr) due = std::min(due, durable_->next_due());
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
    if (stopped_ || !store_ || durable_->on_notice(notice)) return;
    store_->on_notice(notice);
}

void Front::doubt(Duration lasts, const std::string& why) {
    parts_.warn(why + "; nothing is granted for " + format_duration(lasts));
    recovering_until_ = std::max(recovering_until_, now_ + lasts);
    recovering_why_ = why + "; leases that it has forgotten may be held, so nothing is granted until they have ended";
    if (authority_ != nullptr) authority_->recover_until(recovering_until_, recovering_why_);
}

void Front::stop() {
    stopped_ = true;
    if (durable_) durable_->stop();
    if (store_) store_->stop();
    parts_.engine.stop();
}

}  // namespace holdfast::core
