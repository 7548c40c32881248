#include "auth/verb.h"

#include <array>
#include <fmt/format.h>

#include "base/code.h"
#include "base/text.h"
#include "lease/owner.h"

namespace holdfast::auth {
namespace {

constexpr std::array<std::string_view, verb_count> verb_names{
    "hold",         "read",         "connect",    "drone",         "advertise", "reach",
    "admin.leases", "admin.policy", "admin.auth", "admin.cluster", "metrics"};

}  // namespace

std::string_view name_of(Verb verb) {
    return verb_names[static_cast<std::size_t>(verb)];
}

std::optional<Verb> verb_in(std::string_view name) {
    for (std::size_t i = 0; i < verb_count; ++i)
        if (verb_names[i] == name) return static_cast<Verb>(i);
    return std::nullopt;
}

std::optional<Verbs> Verbs::from_bits(std::uint32_t bits) {
    if ((bits & ~all().bits_) != 0) return std::nullopt;
    return Verbs(bits);
}

std::string to_string(Verbs verbs) {
    std::string text;
    for (std::size_t i = 0; i < verb_count; ++i) {
        if (!verbs.has(static_cast<Verb>(i))) continue;
        if (!text.empty()) text += ',';
        text += verb_names[i];
    }
    return text;
}

Result<Verbs> parse_verbs(std::string_view names) {
    Verbs verbs;
    while (true) {
        const std::size_t comma = names.find(',');
        const std::string_view name = names.substr(0, comma);
        const auto verb = verb_in(name);
        if (!verb)
            return Error{Code::invalid_argument,
                         fmt::format("'{}' is not a verb; the verbs are {}", excerpt(name), to_string(Verbs::all()))};
        verbs = verbs.with({*verb});
        if (comma == std::string_view::npos) return verbs;
        names.remove_prefix(comma + 1);
    }
}

Verb verb_to_hold(std::string_view full_name) {
    switch (lease::owner_of(full_name)) {
        case lease::Owner::keys:
            return Verb::drone;
        case lease::Owner::directory:
            return Verb::advertise;
        case lease::Owner::log:
            return Verb::admin_cluster;
        case lease::Owner::leaders:
        case lease::Owner::nobody:
            break;
    }
    return Verb::hold;
}

}  // namespace holdfast::auth
