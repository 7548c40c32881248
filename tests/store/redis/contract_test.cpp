#include "store/contract/contract.h"

#include "store/contract/engine_under_test.h"
#include "store/redis/clock_file.h"
#include "store/redis/redis_cluster.h"
#include "store/redis/redis_engine.h"
#include "support/redis_process.h"
#include "support/tcp_proxy.h"

namespace holdfast::core {
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

EngineUnderTest engine_on(const std::string& url) {
    EngineUnderTest engine;
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

std::unique_ptr<StoreUnderTest> one(const ContractShape& shape) {
    clock_file().set(0);
    const auto proxy = std::make_shared<TcpProxy>(server().port());
    EngineUnderTest engine = engine_on("redis://127.0.0.1:" + std::to_string(proxy->port()) + fresh_prefix());
    engine.restart = [] {
        server().kill();
        server().start();
    };
    engine.reach = [](bool reachable) { reachable ? server().thaw() : server().freeze(); };
    engine.slow = [proxy](Duration by) { proxy->delay_answers(by); };
    engine.keeps = proxy;
    return under_test(std::move(engine), shape);
}

std::unique_ptr<StoreUnderTest> three(const ContractShape& shape) {
    clock_file().set(0);
    const std::string parameter = fresh_prefix();
    EngineUnderTest engine = engine_on(cluster().url() + parameter);
    engine.restart = [] { cluster().restart(); };
    const std::string prefix = parameter.substr(parameter.find('=') + 1);
    const std::size_t home = redis_engine::slot_of(prefix) * cluster().size() / redis_engine::slot_count;
    engine.reach = [home](bool reachable) { reachable ? cluster().node(home).thaw() : cluster().node(home).freeze(); };
    engine.why_not[Ordeal::engine_slow] = "its nodes are not reached through a proxy";
    return under_test(std::move(engine), shape);
}

INSTANTIATE_TEST_SUITE_P(Redis, StoreContract,
                         testing::Values(ContractStore{"redis", one}, ContractStore{"redis_cluster", three}),
                         contract_name);

}  // namespace
}  // namespace holdfast::core
