#include "keys/drone/drone.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/api.h"
#include "cli/app_commands.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "client/http_connection.h"
#include "keys/drone/drone_core.h"
#include "keys/protocol.h"
#include "server/logger.h"
#include "server/service_manager.h"

namespace holdfast::cli {
namespace {

const CLI::Validator is_drone_name{
    [](std::string& name) {
        return keys::is_plain_name(name) ? std::string{} : "a name has 1 to 128 letters, digits, '-', '_' and '.'";
    },
    "", "name"};

Table::Row drone_row(const JsonValue& drone) {
    const bool healthy = drone["healthy"].truth;
    const bool draining = drone["draining"].truth;
    const std::string state = draining ? "draining" : healthy ? "healthy" : "silent";
    return {{drone["id"].text, Colour::bold},
            {drone["pool"].text},
            {state, healthy && !draining ? Colour::green : Colour::yellow},
            {drone["backends"].text},
            {drone["capacity"].text},
            {drone["address"].text}};
}

}  // namespace

void add_drone_options(CLI::App* command, DroneArguments& options) {
    command
        ->add_option(
            "--controller", options.controllers,
            "the servers that order backends: all nodes of a cluster, separated by commas; default: those of --server")
        ->type_name("URL[,URL...]")
        ->transform(server_list())
        ->envname("HOLDFAST_CONTROLLER");
    command->add_option("--pool", options.pool, "the pool of drones that this one belongs to")
        ->type_name("NAME")
        ->check(is_drone_name & CLI::Validator(
                                    [](std::string& name) {
                                        return name.size() <= 64 ? std::string{}
                                                                 : "a pool's name has at most 64 characters";
                                    },
                                    "", "length"))
        ->capture_default_str()
        ->envname("HOLDFAST_DRONE_POOL");
    command
        ->add_option("--id", options.id, "the name of this drone; default: a random one, kept in its state directory")
        ->type_name("NAME")
        ->check(is_drone_name)
        ->envname("HOLDFAST_DRONE_ID");
    add_count(command, options.capacity,
              {"--capacity", "the largest number of backends at one time", keys::drone::DroneCore::max_capacity})
        ->envname("HOLDFAST_DRONE_CAPACITY");
    command
        ->add_option("--state-dir", options.state_dir,
                     "the directory of its logs and its list of backends; default: drone/ in your state home")
        ->type_name("DIR")
        ->envname("HOLDFAST_DRONE_STATE_DIR");
    command
        ->add_option(
            "--address", options.address,
            "the host at which its backends are reached; default: 127.0.0.1 if all servers are on this machine")
        ->type_name("HOST")
        ->envname("HOLDFAST_DRONE_ADDRESS");
    add_log_level(command, options.log_level);
}

void add_drone_drain_options(CLI::App* command, DroneArguments& options) {
    command->add_option("DRONE", options.named, "the name of the drone")->required();
    command->add_flag("--undo", options.undo, "give it new work again")->envname("HOLDFAST_DRONE_UNDO");
}

int drone_command(const Arguments& arguments) {
    const DroneArguments& given = arguments.drone;
    auto log = server::Logger::open({.level = given.log_level, .json = arguments.common.json});
    if (!log) return exit_usage;
    const keys::drone::DroneOptions options{
        .controllers = given.controllers.empty() ? arguments.common.server : given.controllers,
        .pool = given.pool,
        .id = given.id,
        .capacity = given.capacity,
        .state_dir = given.state_dir,
        .address = given.address};
    const auto ran = keys::drone::run_drone(options, {.info = [&](const std::string& text) { log->info(text); },
                                                      .warn = [&](const std::string& text) { log->warn(text); },
                                                      .ready = [] { server::tell_service_manager("READY=1"); }});
    if (ran) return exit_ok;
    log->error(ran.error().message);
    if (!arguments.common.json) std::fprintf(stderr, "holdfast: %s\n", printable(ran.error().message).c_str());
    return exit_failed;
}

int drone_list_command(const Arguments& arguments) {
    return show_list(arguments.common, {.target = "/v1/drones?limit=1000",
                                        .items = "drones",
                                        .headings = {"DRONE", "POOL", "STATE", "BACKENDS", "CAPACITY", "ADDRESS"},
                                        .row = drone_row,
                                        .none = "no drone is known"});
}

int drone_drain_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    Api api{arguments.common};
    const std::string& id = arguments.drone.named;
    const bool draining = !arguments.drone.undo;
    const auto answer = api.send("POST", fmt::format("/v1/drones/{}/drain", percent_encode(id)),
                                 JsonValue::object({{"draining", draining}}));
    return show_done(screen, answer,
                     id + (draining ? " gets no new work; its backends keep running" : " gets new work again"));
}

}  // namespace holdfast::cli
