#include "doors/resp/redis_options.h"

#include <algorithm>

#include "codec/resp/resp_number.h"
#include "doors/resp/command_table.h"
#include "lease/limits.h"

namespace holdfast::doors::resp {
namespace {

using redis::SetTerms;

constexpr std::size_t max_scan_count = 10'000;

OptionError syntax() {
    return OptionError(syntax_error);
}

/// The TTL of SET, which must be positive.
std::variant<Duration, OptionError> parse_ttl(std::string_view text, TimeUnit unit) {
    const auto time = parse_time(text, unit);
    if (!time) return OptionError(not_an_integer);
    if (*time <= Duration::zero()) return OptionError("invalid expire time in 'set' command");
    return *time;
}

bool is_instant_option(std::string_view word) {
    return same_word(word, "PXAT") || same_word(word, "EXAT");
}

}  // namespace

std::optional<Duration> parse_time(std::string_view text, TimeUnit unit) {
    const auto number = codec::resp::parse_integer(text);
    if (!number) return std::nullopt;
    constexpr std::int64_t max_ms = std::chrono::milliseconds(365 * 24h).count();
    const std::int64_t scale = unit == TimeUnit::seconds ? 1000 : 1;
    const std::int64_t ms = std::clamp(*number, -max_ms / scale, max_ms / scale) * scale;
    return std::chrono::milliseconds{ms};
}

std::variant<SetOptions, OptionError> parse_set_options(std::span<const std::string_view> words) {
    SetOptions options;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const bool milliseconds = same_word(word, "PX");
        if (same_word(word, "NX") || same_word(word, "XX")) {
            if (options.terms.when != SetTerms::When::always) return syntax();
            options.terms.when = same_word(word, "NX") ? SetTerms::When::absent : SetTerms::When::present;
        } else if ((milliseconds || same_word(word, "EX")) && options.no_expiry && i + 1 < words.size()) {
            auto ttl = parse_ttl(words[++i], milliseconds ? TimeUnit::milliseconds : TimeUnit::seconds);
            if (auto* error = std::get_if<OptionError>(&ttl)) return std::move(*error);
            options.terms.ttl = std::get<Duration>(ttl);
            options.no_expiry = false;
        } else if (same_word(word, "GET")) {
            options.terms.get = true;
        } else if (same_word(word, "KEEPTTL") && options.no_expiry) {
            options.terms.keep_ttl = true;
            options.no_expiry = false;
        } else {
            return is_instant_option(word) ? OptionError(instants_refused) : syntax();
        }
    }
    return options;
}

std::variant<redis::ExpireWhen, OptionError> parse_expire_options(std::span<const std::string_view> words) {
    if (words.empty()) return redis::ExpireWhen::always;
    if (words.size() > 1) return OptionError("NX, XX, GT and LT options are not taken together here");
    if (same_word(words[0], "NX")) return redis::ExpireWhen::without_expiry;
    if (same_word(words[0], "XX")) return redis::ExpireWhen::with_expiry;
    if (same_word(words[0], "GT")) return redis::ExpireWhen::later;
    if (same_word(words[0], "LT")) return redis::ExpireWhen::earlier;
    return OptionError("Unsupported option " + std::string(words[0].substr(0, 32)));
}

std::variant<ScanOptions, OptionError> parse_scan_options(std::span<const std::string_view> words) {
    ScanOptions options;
    if (words.size() % 2 != 0) return syntax();
    for (std::size_t i = 0; i < words.size(); i += 2) {
        if (same_word(words[i], "MATCH")) {
            options.pattern = words[i + 1];
        } else if (same_word(words[i], "TYPE")) {
            options.type = words[i + 1];
        } else if (same_word(words[i], "COUNT")) {
            const auto count = codec::resp::parse_integer(words[i + 1]);
            if (!count) return OptionError(not_an_integer);
            if (*count < 1) return syntax();
            options.count = std::min(static_cast<std::size_t>(*count), max_scan_count);
        } else {
            return syntax();
        }
    }
    return options;
}

}  // namespace holdfast::doors::resp
