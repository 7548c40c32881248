#include <CLI/CLI.hpp>

#include "cli/app_commands.h"
#include "client/http_connection.h"
#include "keys/drone/drone_core.h"
#include "keys/drone/messages.h"

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

}  // namespace holdfast
