#include "base/text.h"
#include "discovery/directory/service_limits.h"
#include "discovery/publisher/advert.h"

namespace holdfast::discovery {
namespace {

namespace limits = core::limits;

Result<void> check_alpn(const std::vector<std::string>& alpn) {
    if (alpn.size() > limits::alpn_names)
        return Error{"invalid_alpn", "there are more than " + std::to_string(limits::alpn_names) + " protocols"};
    for (const std::string& protocol : alpn)
        if (protocol.empty() || protocol.size() > limits::alpn_name_bytes)
            return Error{"invalid_alpn", "the name of a protocol has 1 to 255 bytes"};
    return {};
}

Result<void> check_metadata(const std::vector<std::pair<std::string, std::string>>& metadata) {
    if (metadata.size() > limits::service_metadata_pairs)
        return Error{"invalid_metadata",
                     "there are more than " + std::to_string(limits::service_metadata_pairs) + " pairs of metadata"};
    std::size_t bytes = 0;
    for (const auto& [key, value] : metadata) {
        if (key.empty() || key.size() > limits::service_metadata_key_bytes)
            return Error{"invalid_metadata", "a key has 1 to 128 bytes"};
        if (!is_utf8(key) || !is_utf8(value)) return Error{"invalid_metadata", "'" + key + "' is not UTF-8"};
        bytes += key.size() + value.size();
    }
    if (bytes > limits::service_metadata_bytes)
        return Error{"invalid_metadata", "metadata has at most 4096 bytes together"};
    return {};
}

}  // namespace

Result<void> check(const Advertisement& what) {
    if (what.name.size() > limits::service_name_bytes || !is_utf8(what.name) || has_control_characters(what.name))
        return Error{"invalid_name", "a name is text of at most 255 bytes, without control characters"};
    if (what.address.size() > limits::service_address_bytes)
        return Error{"invalid_argument", "the address is too long"};
    if (what.ttl < Duration{0} || what.ttl > 24h) return Error{"ttl_too_long", "a TTL is at most a day"};
    if (auto alpn = check_alpn(what.alpn); !alpn) return alpn;
    return check_metadata(what.metadata);
}

}  // namespace holdfast::discovery
