#include "keys/drone/drone.h"

#include <boost/json/object.hpp>
#include <cstdio>

#include "base/text.h"
#include "cli/api.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "server/logger.h"
#include "server/service_manager.h"

namespace holdfast {
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
