#include "cli/app_commands.h"
#include "cli/option_kinds.h"

namespace holdfast {
namespace {

/// The parser never sees the command and so cannot describe it.
class ConnectFormatter : public CLI::Formatter {
 public:
    std::string make_usage(const CLI::App*, std::string) const override {
        return "Usage: holdfast backend connect [KEY] [OPTIONS] [-- COMMAND [ARGUMENT...]]\n";
    }
};

std::string ready_complaint(const std::string& text) {
    const bool known = text == "tcp" || text == "started" || text.starts_with("http:/");
    return known ? "" : "--ready is tcp, started, or http:/path";
}

void add_spawn_options(CLI::App* command, BackendArguments& options) {
    add_text(command, "--spawn", options.spawn, "what a drone starts if nobody serves the key: a shell's command line")
        ->type_name("'COMMAND'")
        ->envname("HOLDFAST_CONNECT_SPAWN");
    command
        ->add_option("--spawn-file", options.spawn_file,
                     "the same as JSON, word by word, as in docs/http-api.md; - for standard input")
        ->type_name("FILE")
        ->envname("HOLDFAST_CONNECT_SPAWN_FILE");
    add_text(command, "--pool", options.pool, "on which drones; default 'default'")
        ->type_name("NAME")
        ->envname("HOLDFAST_CONNECT_POOL");
    command->add_option("--env", options.env, "a variable of the backend's environment; may be given again")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false)
        ->check(CLI::Validator(
            [](std::string& text) {
                const std::size_t equals = text.find('=');
                return equals != 0 && equals != std::string::npos ? std::string{} : "--env takes NAME=VALUE";
            },
            "", "variable"))
        ->envname("HOLDFAST_CONNECT_ENV");
    command->add_option("--cwd", options.cwd, "where it is started; default the drone's own folder")
        ->type_name("DIR")
        ->envname("HOLDFAST_CONNECT_CWD");
    command->add_option("--port", options.port, "the port it listens on; default a free one")
        ->check(CLI::Range(1, 65'535))
        ->type_name("NUMBER")
        ->envname("HOLDFAST_CONNECT_PORT");
    command->add_option("--ready", options.ready, "when it is ready: its port takes connections; default tcp")
        ->type_name("tcp|started|http:/path")
        ->check(CLI::Validator([](std::string& text) { return ready_complaint(text); }, "", "readiness"))
        ->envname("HOLDFAST_CONNECT_READY");
    add_duration(command, "--max-idle", options.max_idle, "stop it after so long without a connection")
        ->envname("HOLDFAST_CONNECT_MAX_IDLE");
    add_duration(command, "--lifetime", options.lifetime, "stop it after so long in any case")
        ->envname("HOLDFAST_CONNECT_LIFETIME");
    add_duration(command, "--start-timeout", options.start_timeout, "how long it may take to be ready; default 60s")
        ->envname("HOLDFAST_CONNECT_START_TIMEOUT");
}

}  // namespace

void add_connect_options(CLI::App* command, BackendArguments& options) {
    command->formatter(std::make_shared<ConnectFormatter>());
    command->add_option("KEY", options.key, "what one backend serves: a document, a room; none: a random one");
    add_text(command, "--namespace", options.name_space, "the namespace of the key")->envname("HOLDFAST_NAMESPACE");
    add_text(command, "--tag", options.tag, "what kind of backend; a key that is held with another tag is refused")
        ->envname("HOLDFAST_CONNECT_TAG");
    add_spawn_options(command, options);
    add_duration(command, "--ttl", options.ttl,
                 "how long the key lasts without renewal, if this takes it; else the policy's default")
        ->envname("HOLDFAST_CONNECT_TTL");
    add_text(command, "--user", options.user, "for whom; recorded with the backend")->envname("HOLDFAST_CONNECT_USER");
    add_duration(command, "--wait", options.wait, "how long to wait until it is ready; 0s: not at all")
        ->default_str("30s")
        ->envname("HOLDFAST_CONNECT_WAIT");
}

void add_backend_list_options(CLI::App* command, BackendArguments& options) {
    add_text(command, "--key", options.key, "only of this key")->envname("HOLDFAST_BACKEND_LIST_KEY");
    add_text(command, "--namespace", options.name_space, "only of keys in this namespace")
        ->envname("HOLDFAST_BACKEND_LIST_NAMESPACE");
    add_text(command, "--drone", options.drone, "only of this drone")->envname("HOLDFAST_BACKEND_LIST_DRONE");
    add_text(command, "--state", options.state, "only in this state")
        ->check(CLI::IsMember(
            {"scheduled", "loading", "starting", "waiting", "ready", "terminating", "hard_terminating", "terminated"}))
        ->envname("HOLDFAST_BACKEND_LIST_STATE");
}

void add_backend_id(CLI::App* command, BackendArguments& options) {
    command->add_option("ID", options.id, "the backend, as connect and list name it")->required();
}

void add_key_bar_options(CLI::App* command, BackendArguments& options) {
    command->add_option("KEY", options.key, "which")->required();
    add_text(command, "--namespace", options.name_space, "the namespace of the key")->envname("HOLDFAST_NAMESPACE");
}

}  // namespace holdfast
