#include "discovery/remedy.h"

namespace holdfast::discovery {
namespace {

struct Known {
    std::string_view code;
    Remedy remedy;
};
constexpr Known table[] = {
    {"unknown_lease", Remedy::register_again},  {"lease_expired", Remedy::register_again},
    {"lease_released", Remedy::register_again}, {"lease_revoked", Remedy::register_again},
    {"other_relay", Remedy::sign_again},        {"clock_apart", Remedy::sign_again},
    {"replayed", Remedy::sign_again},           {"superseded", Remedy::stand_by},
    {"name_taken", Remedy::stand_by},           {"banned", Remedy::ask_slowly},
    {"awaiting_approval", Remedy::ask_slowly},  {"name_refused", Remedy::ask_slowly},
    {"ttl_too_short", Remedy::ask_slowly},      {"ttl_too_long", Remedy::ask_slowly},
    {"too_many_services", Remedy::ask_slowly},  {"bad_signature", Remedy::ask_slowly},
    {"renewal_barred", Remedy::ask_slowly},     {"quota_exceeded", Remedy::ask_slowly},
    {"name_denied", Remedy::ask_slowly},
};

}  // namespace

Remedy remedy_for(std::string_view code) {
    for (const Known& known : table)
        if (known.code == code) return known.remedy;
    if (code.starts_with("invalid_")) return Remedy::give_up;
    return Remedy::ask_soon;
}

}  // namespace holdfast::discovery
