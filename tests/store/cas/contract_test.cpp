#include "store/contract/contract.h"

#include "store/cas/request_number.h"
#include "store/cas/sim_fronts.h"

namespace holdfast::store::cas {
namespace {

class SimUnderTest final : public contract::StoreUnderTest {
 public:
    explicit SimUnderTest(const contract::ContractShape& shape) : fronts_(shape_of(shape)) {}

    Store& store(std::size_t front) override { return fronts_.store(front); }
    contract::Told& told(std::size_t front) override { return fronts_.told(front); }
    std::uint64_t first_request(std::size_t front) const override { return first_request_of(fronts_.number(front)); }
    bool run_until(const std::function<bool()>& condition, Duration limit) override {
        return fronts_.run_until(condition, limit);
    }
    Duration elapsed() const override { return fronts_.time.now(); }
    std::string why_not(contract::Ordeal) const override { return {}; }
    void kill_front(std::size_t front) override { fronts_.kill(front); }
    void start_front(std::size_t front) override { fronts_.start(front); }
    void restart_engine() override { fronts_.server.restart(true); }
    void reach_engine(bool reachable) override { fronts_.server.set_reachable(reachable); }
    void slow_engine(Duration by) override {
        fronts_.server.latency = 500us + by / 2;
        fronts_.server.answer_time = 2s;
    }
    void step_clock(Duration by) override { fronts_.server.clock.ahead += by; }
    std::size_t clock_steps_noticed(std::size_t front) const override { return fronts_.clock_steps(front); }

 private:
    static SimFronts::Shape shape_of(const contract::ContractShape& shape) {
        SimFronts::Shape made;
        made.fronts = shape.fronts;
        made.max_records = 5000;
        for (const Duration ahead : shape.clocks_ahead)
            made.clocks.push_back({ahead, 1});
        return made;
    }
    SimFronts fronts_;
};

using contract::StoreContract;
INSTANTIATE_TEST_SUITE_P(SimulatedEngine, StoreContract,
                         testing::Values(contract::ContractStore{"simulated_engine",
                                                                 [](const contract::ContractShape& shape) {
                                                                     return std::make_unique<SimUnderTest>(shape);
                                                                 }}),
                         contract::contract_name);

}  // namespace
}  // namespace holdfast::store::cas
