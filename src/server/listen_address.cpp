#include "server/listen_address.h"

#include <boost/asio/ip/address.hpp>
#include <string>

#include "base/text.h"

namespace holdfast {
namespace {

bool is_loopback(std::string_view host) {
    if (host == "localhost") return true;
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    boost::system::error_code not_an_address;
    const auto address = boost::asio::ip::make_address(std::string(host), not_an_address);
    return !not_an_address && address.is_loopback();
}

}  // namespace

Result<void> check_listen_address(std::string_view address, bool insecure) {
    const auto colon = address.rfind(':');
    const auto port = colon == std::string_view::npos ? std::nullopt : parse_number(address.substr(colon + 1));
    if (!port || *port > 65535 || colon == 0)
        return Error{"invalid_argument",
                     "'" + std::string(address) + "' is not an address to listen on; say HOST:PORT"};
    if (insecure || is_loopback(address.substr(0, colon))) return {};
    return Error{"insecure_address",
                 "listening on " + std::string(address) +
                     " would let anyone who can reach this machine take and revoke leases. Listen on 127.0.0.1, or add "
                     "--insecure if the network is one you trust"};
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
    return "--insecure: there are no passwords and nothing is encrypted. Whoever reaches" + text +
           " let only those connect whom you trust with that";
}

std::string address_beside(std::string_view http, unsigned above) {
    const auto colon = http.rfind(':');
    const auto port = parse_number(http.substr(colon + 1)).value_or(0);
    const bool is_free = port == 0 || port + above > 65535;
    return std::string(http.substr(0, colon + 1)) + std::to_string(is_free ? 0 : port + above);
}

}  // namespace holdfast
