#include <boost/json/object.hpp>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/relay_place.h"
#include "cli/screen.h"
#include "cli/stop_on_signal.h"
#include "discovery/publisher/host_port.h"
#include "discovery/publisher/publisher_loop.h"

namespace holdfast {
namespace {

namespace json = boost::json;

int fail(const Screen& screen, const Error& error, int code) {
    if (screen.json())
        screen.show(json::object{{"error", {{"code", error.code}, {"message", error.message}}}});
    else
        screen.complain(error.message);
    return code;
}

void tell(const Screen& screen, const discovery::PublisherEvent& event) {
    if (!screen.json()) return screen.note(event.message);
    json::object line{{"event", to_string(event.what)}, {"message", event.message}};
    if (!event.service.empty()) line["service"] = event.service;
    if (!event.code.empty()) line["code"] = event.code;
    if (event.token != 0) line["token"] = event.token;
    if (event.retry_in > Duration{0}) line["retry_in_ms"] = to_ms_up(event.retry_in);
    screen.show(line);
}

Result<discovery::Served> service_of(const AdvertiseArguments& given) {
    if (given.name.empty() != given.unnamed)
        return Error{"invalid_argument", "a service has a NAME, or is --unnamed; say one of the two"};
    discovery::Served service{{given.name, given.ttl, given.address, given.alpn, given.metadata},
                              *discovery::parse_host_port(given.target)};
    if (const auto checked = check(service.what); !checked) return checked.error();
    return service;
}

}  // namespace

int advertise_command(const Arguments& arguments) {
    const AdvertiseArguments& given = arguments.advertise;
    const Screen screen{arguments.common};
    auto service = service_of(given);
    if (!service) return fail(screen, service.error(), exit_usage);
    const std::string file = given.identity.empty() ? default_identity_file() : given.identity;
    const auto found = load_or_make_identity(file);
    if (!found) return fail(screen, found.error(), exit_failed);
    if (found->made) screen.note("made a new identity, " + found->identity.id() + ", in " + file);

    std::string last_code;
    discovery::PublisherLoop loop{{.identity = found->identity,
                                   .relays = relay_places(given.relay, arguments.common),
                                   .services = {std::move(*service)},
                                   .max_streams = given.streams,
                                   .on_event = [&](const discovery::PublisherEvent& event) {
                                       last_code = event.code;
                                       tell(screen, event);
                                   }}};
    const StopOnSignal stop{[&] { loop.stop(); }};
    if (loop.run()) return exit_ok;
    if (!screen.json()) screen.complain("gave up: the relay can never accept this (" + last_code + ")");
    return exit_code_of(last_code);
}

}  // namespace holdfast
