#include "discovery/directory/advert.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "base/text.h"
#include "discovery/directory/service_limits.h"
#include "lease/limits.h"

namespace holdfast::discovery::directory {
namespace {

using authority::Refused;

namespace json = boost::json;

std::string text_of(const json::value& value) {
    if (!value.is_string()) return {};
    return {value.as_string().begin(), value.as_string().end()};
}

std::string text_in(const json::object& object, json::string_view name) {
    const auto* found = object.if_contains(name);
    return found == nullptr ? std::string() : text_of(*found);
}

template <class Number>
Number number_in(const json::object& object, json::string_view name) {
    const auto* found = object.if_contains(name);
    if (found == nullptr) return 0;
    json::error_code error;
    const auto number = found->to_number<Number>(error);
    return error ? 0 : number;
}

bool is_text(std::string_view text, std::size_t max_bytes) {
    return text.size() <= max_bytes && is_utf8(text) && !has_control_characters(text);
}

std::optional<Refused> fault_in_alpn(const Update& update) {
    if (update.alpn.size() > limits::alpn_names) return Refused{Code::invalid_alpn, "alpn has more than 16 names", {}};
    const bool right = std::all_of(update.alpn.begin(), update.alpn.end(), [](const std::string& name) {
        return !name.empty() && is_text(name, limits::alpn_name_bytes);
    });
    if (!right) return Refused{Code::invalid_alpn, "each name in alpn is 1 to 255 bytes of text", {}};
    return std::nullopt;
}

std::optional<Refused> fault_in_metadata(const Update& update) {
    const auto fault = [](const char* message) { return Refused{Code::invalid_metadata, message, {}}; };
    if (update.metadata.size() > limits::service_metadata_pairs) return fault("metadata has more than 64 pairs");
    std::size_t bytes = 0;
    std::set<std::string_view> keys;
    for (const auto& [key, value] : update.metadata) {
        bytes += key.size() + value.size();
        if (key.empty() || !is_text(key, limits::service_metadata_key_bytes))
            return fault("a key in metadata is 1 to 128 bytes of text");
        if (!is_text(value, limits::service_metadata_bytes)) return fault("a value in metadata is text");
        if (!keys.insert(key).second) return fault("a key in metadata is repeated");
    }
    if (bytes > limits::service_metadata_bytes) return fault("metadata has more than 4096 bytes");
    return std::nullopt;
}

}  // namespace

std::string to_json(const Advert& advert) {
    json::array alpn(advert.alpn.begin(), advert.alpn.end());
    json::object metadata;
    for (const auto& [key, value] : advert.metadata)
        metadata[key] = value;
    return json::serialize(json::object{{"address", advert.address},
                                        {"alpn", std::move(alpn)},
                                        {"metadata", std::move(metadata)},
                                        {"from", advert.from},
                                        {"first_seen_ms", advert.first_seen_ms},
                                        {"life", advert.life},
                                        {"relay", advert.relay},
                                        {"connection", advert.connection},
                                        {"node", advert.node}});
}

Advert advert_of(const lease::Lease& lease) {
    Advert advert;
    json::error_code error;
    const json::value value = json::parse(lease.metadata, error);
    if (error || !value.is_object()) return advert;
    const json::object& object = value.as_object();
    advert.address = text_in(object, "address");
    advert.from = text_in(object, "from");
    advert.relay = text_in(object, "relay");
    advert.first_seen_ms = number_in<std::int64_t>(object, "first_seen_ms");
    advert.life = number_in<std::uint64_t>(object, "life");
    advert.connection = number_in<std::uint64_t>(object, "connection");
    advert.node = number_in<std::uint32_t>(object, "node");
    if (const auto* alpn = object.if_contains("alpn"); alpn != nullptr && alpn->is_array())
        for (const json::value& name : alpn->as_array())
            advert.alpn.push_back(text_of(name));
    if (const auto* pairs = object.if_contains("metadata"); pairs != nullptr && pairs->is_object())
        for (const auto& [key, text] : pairs->as_object())
            advert.metadata.emplace_back(std::string(key.begin(), key.end()), text_of(text));
    return advert;
}

std::optional<Refused> fault_in(const Update& update) {
    if (!is_text(update.address, limits::service_address_bytes))
        return Refused{Code::invalid_argument, "address is text of up to 261 bytes, HOST:PORT", {}};
    if (auto fault = fault_in_alpn(update)) return fault;
    if (auto fault = fault_in_metadata(update)) return fault;
    const Advert written{update.address, update.alpn, update.metadata, {}, 0, 0, {}, 0, 0};
    // The limit on a lease's metadata, minus room for the relay's own fields.
    if (to_json(written).size() + 512 > lease::limits::metadata_bytes)
        return Refused{Code::invalid_metadata, "alpn and metadata together are too long", {}};
    return std::nullopt;
}

}  // namespace holdfast::discovery::directory
