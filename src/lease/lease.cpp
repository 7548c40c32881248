#include "lease/lease.h"

#include "base/text.h"

namespace holdfast::lease {

std::string_view to_string(LeaseState state) {
    switch (state) {
        case LeaseState::active:
            return "ACTIVE";
        case LeaseState::grace:
            return "GRACE";
        case LeaseState::released:
            return "RELEASED";
        case LeaseState::expired:
            return "EXPIRED";
        case LeaseState::revoked:
            return "REVOKED";
        case LeaseState::unknown:
            break;
    }
    return "UNKNOWN";
}

LeaseState state_of(Ending ending) {
    switch (ending) {
        case Ending::released:
            return LeaseState::released;
        case Ending::expired:
            return LeaseState::expired;
        case Ending::revoked:
            break;
    }
    return LeaseState::revoked;
}

std::string to_string(const LeaseName& name) {
    return name.resource + '#' + std::to_string(name.token);
}

std::optional<LeaseName> parse_lease_name(std::string_view text) {
    const std::size_t hash = text.rfind('#');
    if (hash == std::string_view::npos || hash == 0) return std::nullopt;
    const auto token = parse_number(text.substr(hash + 1));
    if (!token || *token == 0 || *token >= token_limit) return std::nullopt;
    return LeaseName{std::string(text.substr(0, hash)), *token};
}

}  // namespace holdfast::lease
