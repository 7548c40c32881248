#include "discovery/directory/service_name.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utf8proc.h>

#include "base/code.h"
#include "base/text.h"
#include "discovery/directory/service_limits.h"
#include "lease/manifest.h"

namespace holdfast::discovery::directory {
namespace {

Error invalid(std::string message) {
    return {Code::invalid_name, "a service's name " + std::move(message)};
}

Result<std::string> to_nfc(std::string_view text) {
    utf8proc_uint8_t* mapped = nullptr;
    const auto length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(mapped, &std::free);
    if (length < 0) return invalid("is not text in UTF-8");
    return std::string(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length));
}

/// Invisible or special-purpose characters could make one name pass for another.
bool is_refused(utf8proc_category_t category) {
    switch (category) {
        case UTF8PROC_CATEGORY_CN:  // unassigned: its normal form is not final
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return true;
        default:
            return false;
    }
}

Result<void> check_characters(std::string_view name) {
    bool blank = false;
    for (std::size_t at = 0; at < name.size();) {
        utf8proc_int32_t character = 0;
        const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(name.data() + at),
                                             static_cast<utf8proc_ssize_t>(name.size() - at), &character);
        if (length <= 0) return invalid("is not text in UTF-8");
        const auto category = utf8proc_category(character);
        if (is_refused(category)) return invalid("has no control, format, private or unassigned characters");
        blank = category == UTF8PROC_CATEGORY_ZS;
        if (blank && at == 0) return invalid("does not begin or end with a blank");
        at += static_cast<std::size_t>(length);
    }
    if (blank) return invalid("does not begin or end with a blank");
    return {};
}

}  // namespace

Result<std::string> normalised_service_name(std::string_view text) {
    if (text.empty()) return invalid("is not empty");
    // No normal form is so much shorter that a longer text could become a valid name.
    if (text.size() > 4 * limits::service_name_bytes || !is_utf8(text)) return invalid("is up to 255 bytes of UTF-8");
    auto name = to_nfc(text);
    if (!name) return name.error();
    if (name->empty() || name->size() > limits::service_name_bytes) return invalid("is up to 255 bytes of UTF-8");
    if (name->front() == '~' && !is_given_service_name(*name)) return invalid("does not begin with '~'");
    if (name->find_first_of("/#@*?[") != std::string::npos) return invalid("has none of / # @ * ? [");
    if (auto checked = check_characters(*name); !checked) return checked.error();
    return name;
}

std::string given_service_name(std::uint64_t random) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string name = "~";
    for (int shift = 60; shift >= 0; shift -= 4)
        name += digits[random >> shift & 0xf];
    return name;
}

bool is_given_service_name(std::string_view name) {
    return name.size() == 17 && name[0] == '~' && std::all_of(name.begin() + 1, name.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

std::string service_resource(std::string_view name) {
    std::string resource(lease::services_prefix);
    return resource += name;
}

std::string_view service_name_of(std::string_view resource) {
    return resource.substr(lease::services_prefix.size());
}

}  // namespace holdfast::discovery::directory
