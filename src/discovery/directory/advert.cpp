#include "discovery/directory/advert.h"

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "discovery/directory/service_limits.h"
#include "lease/limits.h"

namespace holdfast::discovery::directory {
namespace {

using authority::Refused;

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
    std::string text;
    JsonWriter json(text);
    json.open_object().field("address", advert.address).key("alpn").open_array();
    for (const std::string& name : advert.alpn)
        json.text(name);
    json.close_array().key("metadata").open_object();
    for (const auto& [key, value] : advert.metadata)
        json.field(key, value);
    json.close_object();
    json.field("from", advert.from).field("first_seen_ms", advert.first_seen_ms).field("life", advert.life);
    json.field("relay", advert.relay).field("connection", advert.connection);
    json.field("node", std::uint64_t{advert.node}).close_object();
    return text;
}

Advert advert_of(const lease::Lease& lease) {
    const auto read = read_json_object(lease.metadata);
    if (!read) return {};
    const JsonValue& object = *read;
    Advert advert;
    advert.address = object["address"].text;
    advert.from = object["from"].text;
    advert.relay = object["relay"].text;
    advert.first_seen_ms = static_cast<std::int64_t>(object["first_seen_ms"].number);
    advert.life = object["life"].number;
    advert.connection = object["connection"].number;
    advert.node = static_cast<std::uint32_t>(object["node"].number);
    for (const JsonValue& name : object["alpn"].items)
        advert.alpn.push_back(name.text);
    for (const auto& [key, value] : object["metadata"].members)
        advert.metadata.emplace_back(key, value.text);
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
