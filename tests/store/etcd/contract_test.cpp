#include "store/contract/contract.h"

#include <boost/asio/executor_work_guard.hpp>
#include <thread>

#include "relay.h"
#include "store/contract/engine_under_test.h"
#include "store/etcd/etcd_engine.h"
#include "support/etcd_process.h"

namespace holdfast::store::etcd {
namespace {

/// A relay that works while the loop of the fronts does not.
class RelayThread {
 public:
    explicit RelayThread(std::uint16_t target) : relay(io_, target), thread_([this] { io_.run(); }) {}
    ~RelayThread() {
        io_.stop();
        thread_.join();
    }

 private:
    boost::asio::io_context io_;

 public:
    Relay relay;

 private:
    std::thread thread_;
};

/// One etcd for all tests: each has keys of its own.
struct Server {
    EtcdProcess etcd;
    RelayThread way{etcd.port()};
    int tests = 0;
};

std::unique_ptr<contract::StoreUnderTest> make(const contract::ContractShape& shape) {
    static const auto server = std::make_unique<Server>();
    server->way.relay.delay_ms = 0;
    const std::string url = server->way.relay.url() + "/contract-" + std::to_string(++server->tests);
    contract::EngineUnderTest engine;
    engine.make_engine = [url](boost::asio::io_context& loop, Duration answer_within) {
        auto options = *parse_etcd_engine(url);
        options.answer_within = answer_within;
        return make_etcd_engine(loop, std::move(options));
    };
    engine.why_not[contract::Ordeal::engine_clock_stepped] = "etcd has no clock: each front goes by its own";
    engine.restart = [] {
        server->etcd.kill();
        server->etcd.start();
    };
    engine.reach = [](bool reachable) { reachable ? server->etcd.thaw() : server->etcd.freeze(); };
    engine.slow = [](Duration by) { server->way.relay.delay_ms = to_ms(by); };
    return contract::under_test(std::move(engine), shape);
}

using contract::StoreContract;
INSTANTIATE_TEST_SUITE_P(Etcd, StoreContract, testing::Values(contract::ContractStore{"etcd", make}),
                         contract::contract_name);

}  // namespace
}  // namespace holdfast::store::etcd
