#include "agreed/auth_codec.h"

#include <algorithm>

#include "log.pb.h"

namespace holdfast::agreed {
namespace {

// ---- parts of both ----

void encode(const auth::Role& role, pb::Role& out) {
    out.set_name(role.name);
    for (const auth::Grant& grant : role.grants) {
        pb::Grant& to = *out.add_grants();
        to.set_verbs(grant.verbs.bits());
        to.set_name_space(grant.name_space);
        to.set_prefix(grant.prefix);
        for (const std::string& holder : grant.holders)
            to.add_holders(holder);
    }
}

std::optional<auth::Role> decode(const pb::Role& in) {
    auth::Role role{in.name(), {}};
    for (const pb::Grant& grant : in.grants()) {
        const auto verbs = auth::Verbs::from_bits(grant.verbs());
        if (!verbs) return std::nullopt;
        role.grants.push_back(
            {*verbs, grant.name_space(), grant.prefix(), {grant.holders().begin(), grant.holders().end()}});
    }
    return role;
}

void encode(const auth::StoredApiToken& token, pb::ApiToken& out) {
    out.set_id(token.id);
    out.set_sha256(token.hash.data(), token.hash.size());
    out.set_created_wall_ms(token.created_wall_ms);
    if (token.expires_wall_ms) out.set_expires_wall_ms(*token.expires_wall_ms);
    out.set_revoked(token.revoked);
}

std::optional<auth::StoredApiToken> decode(const pb::ApiToken& in) {
    auth::StoredApiToken token{.id = in.id(), .created_wall_ms = in.created_wall_ms(), .revoked = in.revoked()};
    if (in.sha256().size() != token.hash.size()) return std::nullopt;
    std::copy(in.sha256().begin(), in.sha256().end(), token.hash.begin());
    if (in.has_expires_wall_ms()) token.expires_wall_ms = in.expires_wall_ms();
    return token;
}

void encode(const auth::IssuedApiToken& issued, pb::ApiToken& out) {
    encode(
        auth::StoredApiToken{
            .id = issued.token.id, .hash = issued.token.hash, .expires_wall_ms = issued.expires_wall_ms},
        out);
}

std::optional<auth::IssuedApiToken> decode_issued(const pb::ApiToken& in) {
    const auto token = decode(in);
    if (!token) return std::nullopt;
    return auth::IssuedApiToken{{token->id, token->hash}, token->expires_wall_ms};
}

// ---- a change ----

void encode_what(const auth::CreatePrincipal& change, pb::AuthChange& out) {
    pb::Principal& principal = *out.mutable_create_principal();
    principal.set_name(change.name);
    for (const std::string& role : change.roles)
        principal.add_roles(role);
    if (change.token) encode(*change.token, *principal.add_api_tokens());
}

void encode_what(const auth::RemovePrincipal& change, pb::AuthChange& out) {
    out.set_remove_principal(change.name);
}

void encode_what(const auth::PutRole& change, pb::AuthChange& out) {
    encode(change.role, *out.mutable_put_role());
}

void encode_what(const auth::RemoveRole& change, pb::AuthChange& out) {
    out.set_remove_role(change.name);
}

void encode_what(const auth::GrantRole& change, pb::AuthChange& out) {
    out.mutable_grant_role()->set_principal(change.principal);
    out.mutable_grant_role()->set_role(change.role);
}

void encode_what(const auth::RevokeRole& change, pb::AuthChange& out) {
    out.mutable_revoke_role()->set_principal(change.principal);
    out.mutable_revoke_role()->set_role(change.role);
}

void encode_what(const auth::AddApiToken& change, pb::AuthChange& out) {
    out.mutable_add_api_token()->set_principal(change.principal);
    encode(change.token, *out.mutable_add_api_token()->mutable_token());
}

void encode_what(const auth::RotateApiToken& change, pb::AuthChange& out) {
    out.mutable_rotate_api_token()->set_principal(change.principal);
    encode(change.token, *out.mutable_rotate_api_token()->mutable_token());
    out.mutable_rotate_api_token()->set_overlap_ns(change.overlap.count());
}

void encode_what(const auth::RevokeApiToken& change, pb::AuthChange& out) {
    out.set_revoke_api_token(change.id);
}

void encode_what(const auth::MapCertificate& change, pb::AuthChange& out) {
    out.mutable_map_certificate()->set_pattern(change.pattern);
    out.mutable_map_certificate()->set_principal(change.principal);
}

void encode_what(const auth::UnmapCertificate& change, pb::AuthChange& out) {
    out.set_unmap_certificate(change.pattern);
}

void encode_what(const auth::EnableAuth&, pb::AuthChange& out) {
    out.set_enabled(true);
}

void encode_what(const auth::DisableAuth&, pb::AuthChange& out) {
    out.set_enabled(false);
}

using What = std::optional<auth::AuthChange::What>;

What decode_create(const pb::Principal& in) {
    auth::CreatePrincipal change{in.name(), {in.roles().begin(), in.roles().end()}};
    if (in.api_tokens_size() > 1) return std::nullopt;
    if (in.api_tokens_size() == 1) {
        change.token = decode_issued(in.api_tokens(0));
        if (!change.token) return std::nullopt;
    }
    return change;
}

What decode_put(const pb::Role& in) {
    auto role = decode(in);
    if (!role) return std::nullopt;
    return auth::PutRole{std::move(*role)};
}

What decode_add(const pb::NewApiToken& in) {
    auto token = decode_issued(in.token());
    if (!token) return std::nullopt;
    return auth::AddApiToken{in.principal(), std::move(*token)};
}

What decode_rotate(const pb::NewApiToken& in) {
    auto token = decode_issued(in.token());
    if (!token) return std::nullopt;
    return auth::RotateApiToken{in.principal(), std::move(*token), Duration{in.overlap_ns()}};
}

What decode_what(const pb::AuthChange& in) {
    switch (in.what_case()) {
        case pb::AuthChange::kCreatePrincipal:
            return decode_create(in.create_principal());
        case pb::AuthChange::kRemovePrincipal:
            return auth::RemovePrincipal{in.remove_principal()};
        case pb::AuthChange::kPutRole:
            return decode_put(in.put_role());
        case pb::AuthChange::kRemoveRole:
            return auth::RemoveRole{in.remove_role()};
        case pb::AuthChange::kGrantRole:
            return auth::GrantRole{in.grant_role().principal(), in.grant_role().role()};
        case pb::AuthChange::kRevokeRole:
            return auth::RevokeRole{in.revoke_role().principal(), in.revoke_role().role()};
        case pb::AuthChange::kAddApiToken:
            return decode_add(in.add_api_token());
        case pb::AuthChange::kRotateApiToken:
            return decode_rotate(in.rotate_api_token());
        case pb::AuthChange::kRevokeApiToken:
            return auth::RevokeApiToken{in.revoke_api_token()};
        case pb::AuthChange::kMapCertificate:
            return auth::MapCertificate{in.map_certificate().pattern(), in.map_certificate().principal()};
        case pb::AuthChange::kUnmapCertificate:
            return auth::UnmapCertificate{in.unmap_certificate()};
        case pb::AuthChange::kEnabled:
            if (in.enabled()) return auth::EnableAuth{};
            return auth::DisableAuth{};
        case pb::AuthChange::WHAT_NOT_SET:
            break;
    }
    return std::nullopt;
}

// ---- a state ----

void encode(const auth::Principal& principal, pb::Principal& out) {
    out.set_name(principal.name);
    for (const std::string& role : principal.roles)
        out.add_roles(role);
    for (const auth::StoredApiToken& token : principal.api_tokens)
        encode(token, *out.add_api_tokens());
    out.set_created_wall_ms(principal.created_wall_ms);
    out.set_rotated_wall_ms(principal.rotated_wall_ms);
}

std::optional<auth::Principal> decode(const pb::Principal& in) {
    auth::Principal principal{.name = in.name(),
                              .roles = {in.roles().begin(), in.roles().end()},
                              .created_wall_ms = in.created_wall_ms(),
                              .rotated_wall_ms = in.rotated_wall_ms()};
    for (const pb::ApiToken& one : in.api_tokens()) {
        auto token = decode(one);
        if (!token) return std::nullopt;
        principal.api_tokens.push_back(std::move(*token));
    }
    return principal;
}

}  // namespace

void encode_auth_change(const auth::AuthChange& change, pb::AuthChange& out) {
    out.set_at_wall_ms(change.at_wall_ms);
    std::visit([&](const auto& what) { encode_what(what, out); }, change.what);
}

std::optional<auth::AuthChange> decode_auth_change(const pb::AuthChange& in) {
    auto what = decode_what(in);
    if (!what) return std::nullopt;
    return auth::AuthChange{std::move(*what), in.at_wall_ms()};
}

void encode_auth(const auth::AuthState& state, pb::Auth& out) {
    out.set_version(state.version());
    out.set_enabled(state.enabled());
    for (const auto& [name, role] : state.roles())
        encode(role, *out.add_roles());
    for (const auto& [name, principal] : state.principals())
        encode(principal, *out.add_principals());
    for (const auto& [pattern, principal] : state.mappings()) {
        pb::CertificateMapping& mapping = *out.add_mappings();
        mapping.set_pattern(pattern);
        mapping.set_principal(principal);
    }
}

std::optional<auth::AuthState> decode_auth(const pb::Auth& in) {
    auth::AuthState::Contents contents{.version = in.version(), .enabled = in.enabled()};
    for (const pb::Role& one : in.roles()) {
        auto role = decode(one);
        if (!role) return std::nullopt;
        contents.roles.push_back(std::move(*role));
    }
    for (const pb::Principal& one : in.principals()) {
        auto principal = decode(one);
        if (!principal) return std::nullopt;
        contents.principals.push_back(std::move(*principal));
    }
    for (const pb::CertificateMapping& mapping : in.mappings())
        if (!contents.mappings.emplace(mapping.pattern(), mapping.principal()).second) return std::nullopt;
    return auth::AuthState::restored(std::move(contents));
}

}  // namespace holdfast::agreed
