#include "server/front/front_world.h"

#include <gtest/gtest.h>

#include "store/cas/request_number.h"

namespace holdfast::server {

void FrontWorld::run_until(const std::function<bool()>& done) {
    const Duration end = time.now() + 1min;
    while (!done() && time.now() < end) {
        time.move_to(time.now() + 1ms);
        if (each_step) each_step(local());
    }
    EXPECT_TRUE(done()) << "did not happen in a minute";
}

void FrontWorld::pass(Duration passing) {
    const Duration end = time.now() + passing;
    while (time.now() < end) {
        time.move_to(std::min(end, time.now() + 10ms));
        if (each_step) each_step(local());
    }
}

FrontUnderTest::FrontUnderTest(FrontWorld& world, const Shape& shape) : engine_(world.server) {
    front_.emplace(Front::Parts{.engine = engine_,
                                .seed = shape.seed,
                                .last_write = store::cas::WriteId{shape.seed, 0},
                                .incarnation = [random = Random(shape.seed)]() mutable { return random.next(); },
                                .wall_ms = [&world] { return 1'800'000'000'000 + to_ms(world.time.now()); },
                                .clock = [&world] { return world.local(); },
                                .log = [this](const std::string& line) { said.push_back(line); },
                                .warn = [this](const std::string& line) { said.push_back(line); },
                                .synchronous = shape.synchronous,
                                .new_store = shape.new_store,
                                .remembered = shape.remembered,
                                .remember = [this](const store::cas::FrontMemory& memory) { remembered = memory; }});
    std::optional<Result<void>> ready;
    const auto before = std::exchange(world.each_step, [this](Instant now) { front_->advance(now); });
    front_->advance(world.local());
    front_->prepare([&ready](Result<void> outcome) { ready = std::move(outcome); });
    world.run_until([&] { return ready.has_value(); });
    EXPECT_TRUE(ready && *ready);
    world.each_step = before;
    authority_.emplace(authority::Authority::Parts{.durable = front_->agreement(),
                                                   .policy = front_->agreement().policy(),
                                                   .wall_ms = 1'800'000'000'000,
                                                   .started_at = world.local(),
                                                   .recovering_until = front_->recovering_until(),
                                                   .recovering_why = front_->recovering_why(),
                                                   .agents = front_->agreement().agents(),
                                                   .first_request = store::cas::first_request_of(front_->number()),
                                                   .teller = authority::Events::Teller::store,
                                                   .store_gives_tokens = true});
    store::cas::EngineStore& store = front_->open(*authority_, authority_->listener());
    store.advance(world.local());
    authority_->use(store);
    authority_->advance(world.local());
}

FrontUnderTest::~FrontUnderTest() {
    front_->stop();
    front_->close();
}

void FrontUnderTest::advance(Instant now) {
    front_->advance(now);
    front_->store().advance(now);
    authority_->advance(now);
}

}  // namespace holdfast::server
