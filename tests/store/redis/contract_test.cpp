#include "store/contract/contract.h"

#include "store/contract/engine_under_test.h"
#include "store/redis/clock_file.h"
#include "store/redis/redis_cluster.h"
#include "store/redis/redis_engine.h"
#include "support/redis_process.h"
#include "support/tcp_proxy.h"

namespace holdfast::store::redis {
namespace {

const std::vector<std::string> durable{"--appendonly", "yes", "--appendfsync", "always"};

/// All tests share a server; each has a prefix of its own.
std::string fresh_prefix() {
    static int number = 0;
    return "?prefix=test" + std::to_string(++number);
}

ClockFile& clock_file() {
    static ClockFile file;
    return file;
}

RedisProcess& server() {
    static RedisProcess server{durable, clock_file().environment()};
    return server;
}

RedisCluster& cluster() {
    static RedisCluster cluster{{.environments = {{0, clock_file().environment()},
                                                  {1, clock_file().environment()},
                                                  {2, clock_file().environment()}},
                                 .options = durable}};
    return cluster;
}

contract::EngineUnderTest engine_on(const std::string& url) {
    contract::EngineUnderTest engine;
    engine.make_engine = [url](boost::asio::io_context& loop, Duration answer_within) {
        auto options = *parse_redis_engine(url);
        options.answer_within = answer_within;
        return make_redis_engine(loop, std::move(options));
    };
    engine.step_clock = [ahead = Duration{}](Duration by) mutable {
        ahead += by;
        clock_file().set(ahead / 1s);
    };
    return engine;
}

std::unique_ptr<contract::StoreUnderTest> one(const contract::ContractShape& shape) {
    clock_file().set(0);
    const auto proxy = std::make_shared<TcpProxy>(server().port());
    contract::EngineUnderTest engine = engine_on("redis://127.0.0.1:" + std::to_string(proxy->port()) + fresh_prefix());
    engine.restart = [] {
        server().kill();
        server().start();
    };
    engine.reach = [](bool reachable) { reachable ? server().thaw() : server().freeze(); };
    engine.slow = [proxy](Duration by) { proxy->delay_answers(by); };
    engine.keeps = proxy;
    return contract::under_test(std::move(engine), shape);
}

std::unique_ptr<contract::StoreUnderTest> three(const contract::ContractShape& shape) {
    clock_file().set(0);
    const std::string parameter = fresh_prefix();
    contract::EngineUnderTest engine = engine_on(cluster().url() + parameter);
    engine.restart = [] { cluster().restart(); };
    const std::string prefix = parameter.substr(parameter.find('=') + 1);
    const std::size_t home = slot_of(prefix) * cluster().size() / slot_count;
    engine.reach = [home](bool reachable) { reachable ? cluster().node(home).thaw() : cluster().node(home).freeze(); };
    engine.why_not[contract::Ordeal::engine_slow] = "its nodes are not reached through a proxy";
    return contract::under_test(std::move(engine), shape);
}

using contract::StoreContract;
INSTANTIATE_TEST_SUITE_P(Redis, StoreContract,
                         testing::Values(contract::ContractStore{"redis", one},
                                         contract::ContractStore{"redis_cluster", three}),
                         contract::contract_name);

}  // namespace
}  // namespace holdfast::store::redis
