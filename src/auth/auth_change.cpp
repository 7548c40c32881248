#include "auth/auth_change.h"

#include <fmt/format.h>

#include "base/text.h"

namespace holdfast::auth {
namespace {

constexpr std::size_t max_text_bytes = 1000;

std::string text_of(const IssuedApiToken& issued) {
    std::string text = fmt::format("API token {}", issued.token.id);
    if (issued.expires_wall_ms) text += fmt::format(" (expires {})", format_wall_time(*issued.expires_wall_ms));
    return text;
}

std::string text_of(const CreatePrincipal& change) {
    std::string text = fmt::format("create principal {}", change.name);
    for (const std::string& role : change.roles)
        text += fmt::format(", role {}", role);
    if (change.token) text += ", " + text_of(*change.token);
    return text;
}

std::string text_of(const RemovePrincipal& change) {
    return fmt::format("remove principal {}", change.name);
}

std::string text_of(const PutRole& change) {
    std::string text = fmt::format("set role {}:", change.role.name);
    for (const Grant& grant : change.role.grants)
        text += fmt::format(" [{}]", to_string(grant));
    return text;
}

std::string text_of(const RemoveRole& change) {
    return fmt::format("remove role {}", change.name);
}

std::string text_of(const GrantRole& change) {
    return fmt::format("grant role {} to {}", change.role, change.principal);
}

std::string text_of(const RevokeRole& change) {
    return fmt::format("revoke role {} from {}", change.role, change.principal);
}

std::string text_of(const AddApiToken& change) {
    return fmt::format("add to {}: {}", change.principal, text_of(change.token));
}

std::string text_of(const RotateApiToken& change) {
    return fmt::format("rotate of {}: {}, overlap {}", change.principal, text_of(change.token),
                       format_duration(change.overlap));
}

std::string text_of(const RevokeApiToken& change) {
    return fmt::format("revoke API token {}", change.id);
}

std::string text_of(const MapCertificate& change) {
    return fmt::format("map certificates {} to {}", change.pattern, change.principal);
}

std::string text_of(const UnmapCertificate& change) {
    return fmt::format("unmap certificates {}", change.pattern);
}

std::string text_of(const EnableAuth&) {
    return "enable access control";
}

std::string text_of(const DisableAuth&) {
    return "disable access control";
}

/// Cuts between two UTF-8 characters.
std::string cut(std::string text) {
    if (text.size() <= max_text_bytes) return text;
    std::size_t end = max_text_bytes;
    while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end;
    return text.substr(0, end) + "…";
}

}  // namespace

std::string describe(const AuthChange& change) {
    return cut(std::visit([](const auto& what) { return text_of(what); }, change.what));
}

}  // namespace holdfast::auth
