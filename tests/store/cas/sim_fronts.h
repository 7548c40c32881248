#pragma once

#include <memory>
#include <optional>

#include "store/cas/sim_engine.h"

namespace holdfast::store::cas {

/// Some fronts on a simulated engine, each with a clock of its own.
class SimFronts {
 public:
    struct Shape {
        std::size_t fronts = 2;
        std::uint64_t seed = 1;
        std::vector<SimClock> clocks{};
        SimClock engine_clock{5000s, 1};
        Duration latency = 500us;
        Duration give_up_after = 2s;
        std::size_t max_records = 1000;
    };
    explicit SimFronts(const Shape& shape);
    SimFronts() : SimFronts(Shape{}) {}
    ~SimFronts();

    SimTime time;
    SimServer server;

    EngineStore& store(std::size_t front);
    contract::Told& told(std::size_t front) { return told_[front]; }
    bool up(std::size_t front) const { return lives_[front] != nullptr; }
    std::uint64_t number(std::size_t front) const { return numbers_[front]; }
    std::size_t clock_steps(std::size_t front) const { return steps_[front]; }
    /// Resources of which a front says that somebody deleted the record.
    const std::vector<std::string>& vanished() const { return vanished_; }
    Instant local_time(std::size_t front) const;

    /// Moves true time on by so much, or until the condition holds; everybody does what is due on the way.
    void pass(Duration passing);
    bool run_until(const std::function<bool()>& condition, Duration limit);

    void kill(std::size_t front);
    void start(std::size_t front);
    std::size_t size() const { return lives_.size(); }

    lease::Token last_token = 0;  ///< that was given, by whichever front
    bool may_give_tokens = true;

 private:
    struct Life;
    void wake(std::size_t front);
    Duration next_due() const;

    Shape shape_;
    std::vector<contract::Told> told_;
    std::vector<std::size_t> steps_;
    std::vector<std::string> vanished_;
    std::vector<std::uint64_t> numbers_;
    std::vector<std::unique_ptr<Life>> lives_;
    std::uint64_t last_number_ = 0;
};

}  // namespace holdfast::store::cas
