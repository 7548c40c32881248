#include <fmt/format.h>

#include "base/encodings.h"
#include "cli/api.h"
#include "cli/app_commands.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/stop_on_signal.h"
#include "discovery/publisher/host_port.h"
#include "discovery/publisher/publisher_loop.h"

namespace holdfast::cli {
namespace {

CLI::Validator host_and_port() {
    return parsed_by([](const std::string& text) { return discovery::publisher::parse_host_port(text); },
                     "host and port");
}

void read_pair(AdvertiseArguments& options, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
        throw CLI::ValidationError(fmt::format("'{}' is not KEY=VALUE", text));
    options.metadata.emplace_back(text.substr(0, equals), text.substr(equals + 1));
}

std::string identity_file_of(const Arguments& arguments) {
    return arguments.identity_file.empty() ? discovery::identity::default_identity_file() : arguments.identity_file;
}

void show_identity(const Screen& screen, const discovery::identity::Identity& identity, const std::string& file) {
    const std::string key = to_base64url(identity.public_key());
    if (screen.json())
        return screen.show(JsonValue::object({{"id", identity.id()}, {"public_key", key}, {"file", file}}));
    screen.line("id          " + identity.id());
    screen.line("public key  " + key);
    screen.line("file        " + file);
}

void show_event(const Screen& screen, const discovery::publisher::PublisherEvent& event) {
    if (!screen.json()) return screen.note(event.message);
    auto line = JsonValue::object({{"event", to_string(event.what)}, {"message", event.message}});
    if (!event.service.empty()) line.set("service", event.service);
    if (event.code != ErrorCode{}) line.set("code", event.code.name());
    if (event.token != 0) line.set("token", event.token);
    if (event.retry_in > Duration{0}) line.set("retry_in_ms", to_ms_up(event.retry_in));
    screen.show(line);
}

Result<discovery::publisher::Served> service_of(const AdvertiseArguments& given) {
    if (given.name.empty() != given.unnamed)
        return Error{Code::invalid_argument, "give the service a NAME, or else say --unnamed"};
    discovery::publisher::Served service{{given.name, given.ttl, given.address, given.alpn, given.metadata},
                                         *discovery::publisher::parse_host_port(given.target)};
    if (const auto checked = check(service.what); !checked) return checked.error();
    return service;
}

}  // namespace

void add_identity_file(CLI::App* command, std::string& file) {
    command->add_option("FILE", file, "the file of the signing key; default: HOLDFAST_IDENTITY, or the user's own");
}

void add_advertise_options(CLI::App* command, AdvertiseArguments& options) {
    command->add_option("NAME", options.name, "the name of the service");
    command->add_flag("--unnamed", options.unnamed, "let the relay choose a unique name")
        ->envname("HOLDFAST_ADVERTISE_UNNAMED");
    command->add_option("--to", options.target, "the address at which the service listens")
        ->type_name("HOST:PORT")
        ->required()
        ->check(host_and_port())
        ->envname("HOLDFAST_ADVERTISE_TO");
    command->add_option("--alpn", options.alpn, "a protocol that the service speaks; may be repeated")
        ->type_name("PROTOCOL")
        ->allow_extra_args(false)
        ->envname("HOLDFAST_ADVERTISE_ALPN");
    command
        ->add_option_function<std::vector<std::string>>(
            "--meta",
            [&options](const std::vector<std::string>& pairs) {
                for (const std::string& pair : pairs)
                    read_pair(options, pair);
            },
            "metadata, shown to consumers; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->envname("HOLDFAST_ADVERTISE_META");
    command
        ->add_option("--address", options.address,
                     "the address at which the service is reached without the relay; shown to consumers")
        ->type_name("HOST:PORT")
        ->check(host_and_port())
        ->envname("HOLDFAST_ADVERTISE_ADDRESS");
    add_relay(command, options.relay);
    add_duration(command, "--ttl", options.ttl,
                 "how long the service stays listed if this machine vanishes; default: 30s")
        ->envname("HOLDFAST_ADVERTISE_TTL");
    command->add_option("--identity", options.identity, "the file of the signing key; created if it does not exist")
        ->type_name("FILE")
        ->envname("HOLDFAST_IDENTITY");
    add_streams(command, options.streams)->envname("HOLDFAST_ADVERTISE_STREAMS");
}

int identity_new_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const std::string file = identity_file_of(arguments);
    const discovery::identity::Identity identity = discovery::identity::Identity::generate();
    if (const auto saved = identity.save_new(file); !saved) return fail(screen, saved.error(), exit_failed);
    show_identity(screen, identity, file);
    return exit_ok;
}

int identity_show_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const std::string file = identity_file_of(arguments);
    const auto identity = discovery::identity::Identity::load(file);
    if (!identity) return fail(screen, identity.error(), exit_failed);
    show_identity(screen, *identity, file);
    return exit_ok;
}

int advertise_command(const Arguments& arguments) {
    const AdvertiseArguments& given = arguments.advertise;
    const Screen screen{arguments.common};
    auto service = service_of(given);
    if (!service) return fail(screen, service.error(), exit_usage);
    const std::string file = given.identity.empty() ? discovery::identity::default_identity_file() : given.identity;
    const auto found = discovery::identity::load_or_make_identity(file);
    if (!found) return fail(screen, found.error(), exit_failed);
    if (found->made) screen.note(fmt::format("created a new identity, {}, in {}", found->identity.id(), file));

    ErrorCode last_code;
    discovery::publisher::PublisherLoop loop{{.identity = found->identity,
                                              .relays = relays_of(given.relay, arguments.common),
                                              .services = {std::move(*service)},
                                              .max_streams = given.streams,
                                              .on_event = [&](const discovery::publisher::PublisherEvent& event) {
                                                  last_code = event.code;
                                                  show_event(screen, event);
                                              }}};
    const StopOnSignal stop{[&] { loop.stop(); }};
    if (loop.run()) return exit_ok;
    if (!screen.json())
        screen.complain(
            fmt::format("gave up, because the relay will never accept this service ({})", last_code.name()));
    return exit_code_of(last_code);
}

}  // namespace holdfast::cli
