#include "keys/drone/drone.h"

#include <CLI/CLI.hpp>
#include <boost/json/object.hpp>
#include <cstdio>

#include "base/text.h"
#include "cli/api.h"
#include "cli/app_commands.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "client/http_connection.h"
#include "keys/drone/drone_core.h"
#include "keys/drone/messages.h"
#include "server/logger.h"
#include "server/service_manager.h"

namespace holdfast {
namespace {

const CLI::Validator is_server_list{[](std::string& urls) {
                                        const auto servers = parse_servers(urls);
                                        if (servers) urls = *servers;
                                        return servers ? std::string{} : servers.error().message;
                                    },
                                    "", "server"};

const CLI::Validator is_drone_name{
    [](std::string& name) {
        return drone::is_name(name) ? std::string{} : "a name is 1 to 128 letters, digits, '-', '_' and '.'";
    },
    "", "name"};

}  // namespace

void add_drone_options(CLI::App* command, DroneArguments& options) {
    command
        ->add_option("--controller", options.controllers,
                     "the servers that order backends, all nodes of a cluster with commas; default --server")
        ->type_name("URL[,URL...]")
        ->transform(is_server_list)
        ->envname("HOLDFAST_CONTROLLER");
    command->add_option("--pool", options.pool, "which orders it takes")
        ->type_name("NAME")
        ->check(is_drone_name & CLI::Validator(
                                    [](std::string& name) {
                                        return name.size() <= 64 ? std::string{}
                                                                 : "a pool's name has at most 64 characters";
                                    },
                                    "", "length"))
        ->capture_default_str()
        ->envname("HOLDFAST_DRONE_POOL");
    command->add_option("--id", options.id, "its name; default one that its state directory keeps")
        ->type_name("NAME")
        ->check(is_drone_name)
        ->envname("HOLDFAST_DRONE_ID");
    command->add_option("--capacity", options.capacity, "backends at one time")
        ->check(CLI::Range(std::size_t{1}, drone::DroneCore::max_capacity))
        ->type_name("NUMBER")
        ->capture_default_str()
        ->envname("HOLDFAST_DRONE_CAPACITY");
    command
        ->add_option("--state-dir", options.state_dir,
                     "where its logs and its list of backends are kept; default drone/ in your state home")
        ->type_name("DIR")
        ->envname("HOLDFAST_DRONE_STATE_DIR");
    command
        ->add_option("--address", options.address,
                     "the host under which its backends are reached; default 127.0.0.1 if all servers are here")
        ->type_name("HOST")
        ->envname("HOLDFAST_DRONE_ADDRESS");
    command->add_option("--log-level", options.log_level, "what to log")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
        ->capture_default_str()
        ->envname("HOLDFAST_LOG_LEVEL");
}

void add_drone_drain_options(CLI::App* command, DroneArguments& options) {
    command->add_option("DRONE", options.named, "which")->required();
    command->add_flag("--undo", options.undo, "let it take new work again")->envname("HOLDFAST_DRONE_UNDO");
}

namespace {

namespace json = boost::json;

Table::Row drone_row(const json::value& drone) {
    const bool healthy = flag_of(drone, "healthy");
    const bool draining = flag_of(drone, "draining");
    const std::string state = draining ? "draining" : healthy ? "healthy" : "silent";
    return {{text_of(drone, "id"), Colour::bold},
            {text_of(drone, "pool")},
            {state, healthy && !draining ? Colour::green : Colour::yellow},
            {count_of(drone, "backends")},
            {count_of(drone, "capacity")},
            {text_of(drone, "address")}};
}

}  // namespace

int drone_command(const Arguments& arguments) {
    const DroneArguments& given = arguments.drone;
    auto log = Logger::open({.level = given.log_level, .json = arguments.common.json});
    if (!log) return exit_usage;
    const drone::DroneOptions options{
        .controllers = given.controllers.empty() ? arguments.common.server : given.controllers,
        .pool = given.pool,
        .id = given.id,
        .capacity = given.capacity,
        .state_dir = given.state_dir,
        .address = given.address};
    const auto ran = drone::run_drone(options, {.info = [&](const std::string& text) { log->info(text); },
                                                .warn = [&](const std::string& text) { log->warn(text); },
                                                .ready = [] { tell_service_manager("READY=1"); }});
    if (ran) return exit_ok;
    log->error(ran.error().message);
    if (!arguments.common.json) std::fprintf(stderr, "holdfast: %s\n", printable(ran.error().message).c_str());
    return exit_failed;
}

int drone_list_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const auto answer = api.get_all("/v1/drones?limit=1000", "drones");
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    Table table{{"DRONE", "POOL", "STATE", "BACKENDS", "CAPACITY", "ADDRESS"}};
    for (const json::value& drone : array_of(answer->body, "drones"))
        table.add(drone_row(drone));
    if (screen.json())
        screen.show(answer->body);
    else if (array_of(answer->body, "drones").empty())
        screen.note("no drone is known");
    else
        screen.show(table);
    return exit_ok;
}

int drone_drain_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& id = arguments.drone.named;
    const bool draining = !arguments.drone.undo;
    const auto answer =
        api.send("POST", "/v1/drones/" + percent_encode(id) + "/drain", json::object{{"draining", draining}});
    if (!answer) return fail(screen, answer.error());
    if (!answer->ok()) return fail(screen, *answer);
    if (screen.json())
        screen.show(answer->body);
    else
        screen.line(printable(id) + (draining ? " takes no new work; what it runs goes on" : " takes new work again"));
    return exit_ok;
}

}  // namespace holdfast
