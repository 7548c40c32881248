#include "store/contract/contract.h"

#include "store/contract/engine_under_test.h"
#include "store/postgres/engine_user.h"
#include "support/tcp_proxy.h"

namespace holdfast::core {
namespace {

PostgresProcess& server() {
    static PostgresProcess server({.own_clock = true});
    return server;
}

/// Between the fronts of one test and the server, which is as it was when the test is over.
struct Between {
    ~Between() {
        server().thaw();
        server().set_clock_ahead(0);
    }
    std::string url() const {
        return "postgres://holdfast@127.0.0.1:" + std::to_string(proxy.port()) + "/postgres?schema=" + schema;
    }
    TcpProxy proxy{server().port()};
    std::string schema = fresh_schema();
    Duration ahead{};
};

std::unique_ptr<StoreUnderTest> make(const ContractShape& shape) {
    const auto between = std::make_shared<Between>();
    EngineUnderTest engine;
    engine.make_engine = [between](boost::asio::io_context& loop, Duration answer_within) {
        auto options = *parse_postgres_engine(between->url());
        options.answer_within = answer_within;
        return make_postgres_engine(loop, std::move(options));
    };
    engine.restart = [] {
        server().stop();
        server().start();
    };
    engine.reach = [](bool reachable) { reachable ? server().thaw() : server().freeze(); };
    engine.slow = [between](Duration by) { between->proxy.delay_answers(by); };
    engine.step_clock = [between](Duration by) {
        between->ahead += by;
        server().set_clock_ahead(std::chrono::duration<double>(between->ahead).count());
    };
    engine.keeps = between;
    return under_test(std::move(engine), shape);
}

INSTANTIATE_TEST_SUITE_P(Postgres, StoreContract, testing::Values(ContractStore{"postgres", make}), contract_name);

}  // namespace
}  // namespace holdfast::core
