#include "discovery/publisher/remedy.h"

namespace holdfast::discovery::publisher {

Remedy remedy_for(const ErrorCode& code) {
    if (!code.known()) return Remedy::ask_soon;
    switch (*code.known()) {
        case Code::unknown_lease:
        case Code::lease_expired:
        case Code::lease_released:
        case Code::lease_revoked:
            return Remedy::register_again;
        case Code::other_relay:
        case Code::clock_apart:
        case Code::replayed:
            return Remedy::sign_again;
        case Code::superseded:
        case Code::name_taken:
            return Remedy::stand_by;
        case Code::banned:
        case Code::awaiting_approval:
        case Code::name_refused:
        case Code::name_denied:
        case Code::ttl_too_short:
        case Code::ttl_too_long:
        case Code::too_many_services:
        case Code::over_quota:
        case Code::bad_signature:
        case Code::renewal_barred:
            return Remedy::ask_slowly;
        case Code::invalid_identity:
        case Code::invalid_name:
        case Code::invalid_alpn:
        case Code::invalid_metadata:
        case Code::invalid_argument:
        case Code::reserved_namespace:
            return Remedy::give_up;
        default:
            return Remedy::ask_soon;
    }
}

}  // namespace holdfast::discovery::publisher
