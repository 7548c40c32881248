#include "store/postgres/status.h"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace holdfast::postgres {
namespace {

std::string parameter(const PostgresEngineOptions& options, std::string_view wanted, const char* otherwise) {
    for (const auto& [name, value] : options.parameters)
        if (name == wanted) return value;
    return otherwise;
}

std::string address_of(const PostgresEngineOptions& options) {
    const std::string host = parameter(options, "host", "");
    const std::string where = host.empty() ? parameter(options, "hostaddr", "this machine") : host;
    return where + ":" + parameter(options, "port", "5432") + "/" + parameter(options, "dbname", "");
}

}  // namespace

std::string status_of(const PostgresEngineOptions& options, const Pool& pool, const Hello& hello) {
    boost::json::object status{
        {"engine", "postgres"},     {"address", address_of(options)}, {"schema", options.schema},
        {"version", hello.version}, {"history", hello.history},       {"reachable", pool.reachable()},
        {"pool", options.pool},     {"connections", pool.open()},     {"round_trip_us", pool.round_trip() / 1us}};
    if (!pool.reachable()) status["why"] = pool.why_not();
    return boost::json::serialize(status);
}

}  // namespace holdfast::postgres
