#include "keys/controller/key.h"

#include <array>
#include <boost/json.hpp>
#include <cstdio>

#include "base/code.h"
#include "base/rendezvous.h"
#include "base/text.h"
#include "keys/controller/key_limits.h"
#include "lease/manifest.h"
#include "lease/owner.h"
#include "lease/resource.h"

namespace holdfast::keys::controller {
namespace {

std::string text_of(const boost::json::object& object, std::string_view name) {
    const auto* found = object.if_contains(boost::json::string_view(name.data(), name.size()));
    if (found == nullptr || !found->is_string()) return {};
    return {found->as_string().begin(), found->as_string().end()};
}

}  // namespace

Result<Key> checked_key(Key key) {
    if (key.name_space.empty()) key.name_space = lease::default_namespace;
    if (auto checked = lease::check_namespace(key.name_space); !checked) return checked.error();
    if (key.name_space.starts_with('~'))
        return Error{std::string(name_of(Code::reserved_namespace)), "no key is in a namespace that begins with '~'"};
    if (lease::is_redis_namespace(key.name_space))
        return Error{std::string(name_of(Code::reserved_namespace)),
                     "the namespaces redis and redis-N hold the keys of Redis clients; choose another for this key"};
    if (auto checked = check_text({"key.tag", key.tag}, limits::key_tag_bytes); !checked) return checked.error();
    if (auto checked = check_text({"key.name", key.name}, limits::key_name_bytes); !checked) return checked.error();
    auto resource = lease::normalised(std::string(key_prefix) + key.name);
    if (!resource) return resource.error();
    key.name = resource->substr(key_prefix.size());
    if (key.name.empty()) return Error{"invalid_argument", "key.name must not be empty"};
    return key;
}

bool is_plain_name(std::string_view text, std::size_t max_bytes) {
    static constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return !text.empty() && text.size() <= max_bytes && text.front() != '.' &&
           text.find_first_not_of(allowed) == std::string_view::npos;
}

std::string resource_of(const Key& key) {
    return lease::full_name(key.name_space, std::string(key_prefix) + key.name);
}

std::optional<Key> key_of(std::string_view full_name) {
    const lease::SplitName split = lease::split_name(full_name);
    if (!split.resource.starts_with(key_prefix)) return std::nullopt;
    return Key{std::string(split.name_space), std::string(split.resource.substr(key_prefix.size())), {}};
}

std::string shown_life(std::string_view life) {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(xxh64(life)));
    return digits.data();
}

std::string to_json(const KeyNote& note) {
    boost::json::object object{
        {"backend", note.backend}, {"tag", note.tag}, {"drone", note.drone}, {"life", note.life}};
    if (!note.user.empty()) object["spawned_by"] = note.user;
    return boost::json::serialize(object);
}

KeyNote note_of(const lease::Lease& lease) {
    KeyNote note{lease.session, {}, lease.holder, {}, {}};
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(lease.metadata, error);
    if (error || !value.is_object()) return note;
    note.tag = text_of(value.as_object(), "tag");
    note.life = text_of(value.as_object(), "life");
    note.user = text_of(value.as_object(), "spawned_by");
    return note;
}

KeyTimeline key_timeline_of(const lease::Lease& lease) {
    return {lease.expires_at - lease.ttl / 2, lease.expires_at - lease.ttl / 3, lease.expires_at - lease.ttl / 6};
}

}  // namespace holdfast::keys::controller
