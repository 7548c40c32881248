#include "server/start_checks.h"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <unistd.h>

#include "base/text.h"
#include "base/time.h"

namespace holdfast::server {
namespace {

bool is_loopback(std::string_view host) {
    if (host == "localhost") return true;
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    boost::system::error_code not_an_address;
    const auto address = boost::asio::ip::make_address(std::string(host), not_an_address);
    return !not_an_address && address.is_loopback();
}

constexpr std::size_t max_host_bytes = 253;  // of a name in DNS

/// In lower case and without the trailing dot of a fully qualified name; empty if it is not a host name.
std::string host_name_from(std::string_view text) {
    static constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
    std::string name(text);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (name.ends_with('.')) name.pop_back();
    const bool fits = name.size() <= max_host_bytes && !name.starts_with('.');
    return fits && name.find_first_not_of(allowed) == std::string::npos ? name : std::string{};
}

}  // namespace

Result<void> check_listen_address(std::string_view address, bool insecure) {
    const auto colon = address.rfind(':');
    const auto port = colon == std::string_view::npos ? std::nullopt : parse_number(address.substr(colon + 1));
    if (!port || *port > 65535 || colon == 0)
        return Error{Code::invalid_argument,
                     fmt::format("'{}' is not an address to listen on; write HOST:PORT", address)};
    if (insecure || is_loopback(address.substr(0, colon))) return {};
    return Error{Code::insecure_address,
                 fmt::format("listening on {} would let anyone who can reach this machine take and revoke leases. "
                             "Listen on 127.0.0.1, or add --insecure if the network is one you trust",
                             address)};
}

std::string exposure(const BoundDoors& doors) {
    const auto beyond = [](const std::string& address) {
        return !address.empty() && !is_loopback(std::string_view(address).substr(0, address.rfind(':')));
    };
    std::string text;
    if (beyond(doors.http))
        text += " http://" + doors.http +
                " can take, release and revoke any lease, change the policy, and stop backends and drones;" +
                (doors.allow_spawn ? " it can run commands on every drone (--allow-spawn);" : "");
    if (beyond(doors.resp)) text += " redis://" + doors.resp + " can take and end leases;";
    if (beyond(doors.relay)) text += " relay " + doors.relay + " can advertise services and use those of others;";
    if (text.empty()) return text;
    return "--insecure: there are no passwords and nothing is encrypted. Anyone who reaches" + text +
           " allow only clients that you trust with this";
}

std::string address_beside(std::string_view http, unsigned above) {
    const auto colon = http.rfind(':');
    const auto port = parse_number(http.substr(colon + 1)).value_or(0);
    const bool is_free = port == 0 || port + above > 65535;
    return std::string(http.substr(0, colon + 1)) + std::to_string(is_free ? 0 : port + above);
}

std::string name_of_this_machine() {
    std::array<char, 256> room{};
    return ::gethostname(room.data(), room.size() - 1) == 0 ? std::string(room.data()) : std::string{};
}

Result<std::vector<std::string>> allowed_hosts(const ServeOptions& options, std::string_view machine) {
    std::vector<std::string> names;
    const auto add = [&names](std::string name) {
        if (!name.empty()) names.push_back(std::move(name));
    };
    add(host_name_from(machine));
    add(host_name_from(machine.substr(0, machine.find('.'))));
    add(host_name_from(options.http.substr(0, options.http.rfind(':'))));
    for (const std::string& asked : options.allowed_hosts) {
        if (host_name_from(asked).empty())
            return Error{
                Code::invalid_argument,
                fmt::format("--allow-host takes the name of a host, without a port and without *, not '{}'", asked)};
        add(host_name_from(asked));
    }
    return names;
}

Result<void> check_wall_clock(std::int64_t wall_ms) {
    constexpr std::int64_t max_ms = std::numeric_limits<Duration::rep>::max() / 1'000'000;
    if (wall_ms >= 0 && wall_ms < max_ms) return {};
    return Error{Code::clock_unusable,
                 fmt::format("the clock of this machine is {} s from 1970; it must be between 1970 "
                             "and April 2262. Set it and start again",
                             wall_ms / 1000)};
}

}  // namespace holdfast::server
