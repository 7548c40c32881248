#include "cli/app_commands.h"
#include "discovery/publisher/host_port.h"

namespace holdfast {
namespace {

const CLI::Validator is_host_port{[](std::string& text) {
                                      const auto parsed = discovery::parse_host_port(text);
                                      return parsed ? std::string{} : parsed.error().message;
                                  },
                                  "", "host and port"};

void add_relay(CLI::App* command, std::string& relay) {
    const CLI::Validator is_relay{[](std::string& text) {
                                      const auto parsed = discovery::parse_relays(text);
                                      return parsed ? std::string{} : parsed.error().message;
                                  },
                                  "", "relay"};
    command
        ->add_option("--relay", relay,
                     "the relay, or several: the next if one is lost; default those of --server, three ports above")
        ->type_name("HOST[:PORT][,...]")
        ->check(is_relay)
        ->envname("HOLDFAST_RELAY_SERVER");
}

void add_streams(CLI::App* command, std::size_t& streams, const std::string& variable) {
    command->add_option("--streams", streams, "at one time, at most")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000}))
        ->type_name("NUMBER")
        ->capture_default_str()
        ->envname(variable);
}

void read_pair(AdvertiseArguments& options, const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw CLI::ValidationError("'" + text + "' is not KEY=VALUE");
    options.metadata.emplace_back(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace

void add_identity_file(CLI::App* command, std::string& file) {
    command->add_option("FILE", file, "the file of the key; default HOLDFAST_IDENTITY, or the user's own");
}

void add_advertise_options(CLI::App* command, AdvertiseArguments& options) {
    command->add_option("NAME", options.name, "what the service is found by");
    command->add_flag("--unnamed", options.unnamed, "no name: the relay gives one that collides with none")
        ->envname("HOLDFAST_ADVERTISE_UNNAMED");
    command->add_option("--to", options.target, "where the service listens")
        ->type_name("HOST:PORT")
        ->required()
        ->check(is_host_port)
        ->envname("HOLDFAST_ADVERTISE_TO");
    command->add_option("--alpn", options.alpn, "a protocol that it speaks; may be repeated")
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
            "shown to consumers; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false)
        ->envname("HOLDFAST_ADVERTISE_META");
    command->add_option("--address", options.address, "where it may be reached without the relay; shown to consumers")
        ->type_name("HOST:PORT")
        ->check(is_host_port)
        ->envname("HOLDFAST_ADVERTISE_ADDRESS");
    add_relay(command, options.relay);
    add_duration(command, "--ttl", options.ttl, "how long it stays listed if this machine vanishes; default 30s")
        ->envname("HOLDFAST_ADVERTISE_TTL");
    command->add_option("--identity", options.identity, "the file of the key; made if it is not there")
        ->type_name("FILE")
        ->envname("HOLDFAST_IDENTITY");
    add_streams(command, options.streams, "HOLDFAST_ADVERTISE_STREAMS");
}

void add_service_connect_options(CLI::App* command, ServiceConnectArguments& options) {
    const CLI::Validator is_listen{
        [](std::string& text) {
            if (parse_number(text)) text = "127.0.0.1:" + text;
            const std::size_t colon = text.rfind(':');
            const auto port = parse_number(text.substr(colon == std::string::npos ? 0 : colon + 1));
            const bool good = colon != std::string::npos && colon > 0 && port && *port <= 65535;
            return good ? std::string{} : "'" + text + "' is not [HOST:]PORT";
        },
        "", "place to listen"};
    command->add_option("NAME", options.name, "the service")->required();
    command
        ->add_option("--listen", options.listen,
                     "a stream for each connection to here; without it one, on standard input and output")
        ->type_name("[HOST:]PORT")
        ->transform(is_listen)
        ->envname("HOLDFAST_CONNECT_LISTEN");
    add_relay(command, options.relay);
    add_streams(command, options.streams, "HOLDFAST_CONNECT_STREAMS");
}

}  // namespace holdfast
