#include "server/host_names.h"

#include <algorithm>
#include <array>
#include <unistd.h>

namespace holdfast {
namespace {

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
            return Error{"invalid_argument",
                         "--allow-host takes the name of a host, without a port and without *, not '" + asked + "'"};
        add(host_name_from(asked));
    }
    return names;
}

}  // namespace holdfast
