#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "authority/authority.h"
#include "server/front.h"
#include "store/cas/sim_engine.h"

namespace holdfast::server {

/// A simulated engine, and write ids that no two users of it share.
class FrontWorld {
 public:
    FrontWorld() : server(time, 1) {}

    /// Lets time pass until it is done, for a minute at most.
    void run_until(const std::function<bool()>& done);
    void pass(Duration passing);

    std::function<store::cas::WriteId()> writes() {
        return [this] { return ++last_write_; };
    }
    Instant local() const { return Instant{time.now()}; }

    store::cas::SimTime time;
    store::cas::SimServer server;
    std::function<void(Instant)> each_step;  ///< what is told the time

 private:
    store::cas::WriteId last_write_ = 0;
};

/// A whole front with its authority.
class FrontUnderTest {
 public:
    struct Shape {
        std::uint64_t seed = 1;
        bool new_store = true;
        bool synchronous = false;
        store::cas::FrontMemory remembered{};
    };
    FrontUnderTest(FrontWorld& world, const Shape& shape);
    ~FrontUnderTest();

    authority::Authority& authority() { return *authority_; }
    Front& front() { return *front_; }
    void advance(Instant now);

    std::vector<std::string> said;
    store::cas::FrontMemory remembered;  ///< last

 private:
    store::cas::SimEngine engine_;
    std::optional<Front> front_;
    std::optional<authority::Authority> authority_;
};

}  // namespace holdfast::server
