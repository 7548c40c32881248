#include "store/contract/contract.h"

#include "store/contract/engine_under_test.h"
#include "store/postgres/engine_user.h"
#include "support/tcp_proxy.h"

namespace holdfast::store::postgres {
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

std::unique_ptr<contract::StoreUnderTest> make(const contract::ContractShape& shape) {
    const auto between = std::make_shared<Between>();
    contract::EngineUnderTest engine;
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
    return contract::under_test(std::move(engine), shape);
}

using contract::StoreContract;
INSTANTIATE_TEST_SUITE_P(Postgres, StoreContract, testing::Values(contract::ContractStore{"postgres", make}),
                         contract::contract_name);

// ---- on a server whose commits wait for a standby ----

struct Pair {
    ~Pair() { standby.thaw(); }
    PostgresProcess primary{{.settings = {"synchronous_standby_names=*"}}};
    PostgresProcess standby{{.primary = &primary}};
};

std::unique_ptr<contract::StoreUnderTest> make_with_standby(const contract::ContractShape& shape) {
    const auto pair = std::make_shared<Pair>();
    contract::EngineUnderTest engine;
    engine.make_engine = [pair](boost::asio::io_context& loop, Duration answer_within) {
        auto options = *parse_postgres_engine(pair->primary.url("?pool=32"));
        options.answer_within = answer_within;
        return make_postgres_engine(loop, std::move(options));
    };
    engine.reach = [pair](bool reachable) { reachable ? pair->standby.thaw() : pair->standby.freeze(); };
    engine.keeps = pair;
    return contract::under_test(std::move(engine), shape);
}

class PostgresStandbyContract : public contract::StoreContract {
 protected:
    /// Somebody asks for `r` while the standby does not answer, which stays so for a while.
    void fail_to_acquire(Duration hangs) {
        ASSERT_NE(acquire(0, "other", {"alice"}), 0U);
        tested->reach_engine(false);
        const auto failed = ask(0, "r", {"alice", 300s});
        ASSERT_TRUE(until([&] { return failed->done; }));
        EXPECT_EQ(failed->error, Code::store_unavailable);
        pass(hangs);
        tested->reach_engine(true);
    }
    /// True as soon as somebody else has it.
    bool becomes_free() {
        const Duration start = tested->elapsed();
        const bool free = until(
            [&] {
                const auto asked = ask(1, "r", {"bob", 300s});
                return until([&] { return asked->done; }) && asked->value.value_or(0) != 0;
            },
            60s);
        RecordProperty("ms_until_free", std::to_string((tested->elapsed() - start) / 1ms));
        return free;
    }
};

TEST_P(PostgresStandbyContract, keeps_nothing_of_an_acquire_that_failed_when_the_standby_goes_on_soon) {
    HOLDFAST_SET_UP({contract::Ordeal::several_fronts, contract::Ordeal::engine_unreachable}, {.patience = 2s});
    ASSERT_NO_FATAL_FAILURE(fail_to_acquire(1s));
    EXPECT_TRUE(becomes_free());
    EXPECT_EQ(leases_of(1, "alice").size(), 1U);
}

TEST_P(PostgresStandbyContract, keeps_nothing_of_an_acquire_that_failed_when_the_standby_was_away_for_long) {
    HOLDFAST_SET_UP({contract::Ordeal::several_fronts, contract::Ordeal::engine_unreachable}, {.patience = 2s});
    ASSERT_NO_FATAL_FAILURE(fail_to_acquire(10s));
    EXPECT_TRUE(becomes_free());
    EXPECT_EQ(leases_of(1, "alice").size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Postgres, PostgresStandbyContract,
                         testing::Values(contract::ContractStore{"with_standby", make_with_standby}),
                         contract::contract_name);

}  // namespace
}  // namespace holdfast::store::postgres
