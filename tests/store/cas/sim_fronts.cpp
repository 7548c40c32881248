#include "store/cas/sim_fronts.h"

#include <algorithm>

namespace holdfast::store::cas {

/// One life of a front.
struct SimFronts::Life final : EngineListener {
    Life(SimFronts& all, std::size_t index)
        : fronts(all),
          front(index),
          engine(all.server),
          store({.engine = engine,
                 .listener = all.told_[index],
                 .hash_key = {1, 2},
                 .front = all.numbers_[index],
                 .last_write = WriteId{all.numbers_[index], 0},
                 .seed = all.shape_.seed + all.numbers_[index],
                 .give_up_after = all.shape_.give_up_after,
                 .max_records = all.shape_.max_records,
                 .last_token = [&all]() -> std::optional<lease::Token> {
                     if (!all.may_give_tokens) return std::nullopt;
                     return all.last_token;
                 },
                 .on_token_given = [&all](lease::Token token) { all.last_token = std::max(all.last_token, token); },
                 .on_clock_stepped = [&all, index](Duration) { ++all.steps_[index]; },
                 .on_vanished = [&all](std::string_view resource) { all.vanished_.emplace_back(resource); },
                 .clock = [&all, index] { return all.local_time(index); },
                 .shown_wall_ms =
                     [index](Instant instant) {
                         // No two fronts have the same wall clock.
                         return to_ms(instant.time_since_epoch()) + 1'000'000 * static_cast<std::int64_t>(index + 1);
                     }}) {
        store.advance(all.local_time(index));
        engine.start(*this);
    }
    ~Life() override {
        engine.stop();
        store.stop();
    }

    void on_reachable(const EngineHello&) override { timed().on_reachable(); }
    void on_unreachable(const Error& why) override { timed().on_unreachable(why); }
    void on_notice(std::string_view notice) override { timed().on_notice(notice); }
    EngineStore& timed() {
        store.advance(fronts.local_time(front), 0);
        return store;
    }

    SimFronts& fronts;
    std::size_t front;
    SimEngine engine;
    EngineStore store;
};

SimFronts::SimFronts(const Shape& shape)
    : server(time, shape.seed),
      shape_(shape),
      told_(shape.fronts),
      steps_(shape.fronts),
      numbers_(shape.fronts),
      lives_(shape.fronts) {
    server.clock = shape.engine_clock;
    server.latency = shape.latency;
    for (std::size_t i = 0; i < size(); ++i)
        start(i);
    pass(10ms + 2 * shape.latency);
}

SimFronts::~SimFronts() = default;

Instant SimFronts::local_time(std::size_t front) const {
    const SimClock clock = front < shape_.clocks.size() ? shape_.clocks[front] : SimClock{};
    return Instant{clock.at(time.now())};
}

EngineStore& SimFronts::store(std::size_t front) {
    wake(front);
    return lives_[front]->store;
}

void SimFronts::wake(std::size_t front) {
    while (lives_[front]->store.advance(local_time(front))) {
    }
}

void SimFronts::kill(std::size_t front) {
    lives_[front].reset();
}

void SimFronts::start(std::size_t front) {
    numbers_[front] = ++last_number_;
    lives_[front] = std::make_unique<Life>(*this, front);
}

Duration SimFronts::next_due() const {
    Duration next = time.next();
    for (std::size_t i = 0; i < size(); ++i) {
        if (!lives_[i]) continue;
        const Instant due = lives_[i]->store.next_due();
        if (due == Instant::max()) continue;
        const double rate = i < shape_.clocks.size() ? shape_.clocks[i].rate : 1;
        const auto left = static_cast<double>((due - local_time(i)).count()) / rate;
        next = std::min(next, time.now() + std::max<Duration>(1us, Duration{static_cast<Duration::rep>(left) + 1}));
    }
    return next;
}

void SimFronts::pass(Duration passing) {
    const Duration end = time.now() + passing;
    run_until([&] { return time.now() >= end; }, passing);
}

bool SimFronts::run_until(const std::function<bool()>& condition, Duration limit) {
    constexpr Duration step = 5ms;
    for (const Duration end = time.now() + limit; !condition();) {
        if (time.now() >= end) return false;
        time.move_to(std::min({end, time.now() + step, next_due()}));
        for (std::size_t i = 0; i < size(); ++i)
            if (lives_[i]) wake(i);
    }
    return true;
}

}  // namespace holdfast::store::cas
