#include "doors/resp/lease_arguments.h"

#include "base/code.h"
#include "base/text.h"
#include "codec/resp/resp_number.h"
#include "doors/resp/command_table.h"
#include "lease/limits.h"
#include "lease/manifest.h"
#include "lease/resource.h"

namespace holdfast {

using namespace core;

namespace {

constexpr std::uint64_t max_duration_ms = 1'000'000'000'000;
constexpr std::int64_t max_priority = 9'000'000'000'000'000;
constexpr std::uint64_t max_number = (1ULL << 53) - 1;

/// True if normalised() would change nothing. False does not say the contrary.
bool surely_normalised(std::string_view name) {
    if (name.empty() || name.front() == ' ' || name.back() == ' ' || name.back() == '/') return false;
    const bool file = name.starts_with("FILE:");
    if (file && (name.size() < 6 || name[5] == ' ' || name[5] == '.' || name.find('*') != std::string_view::npos))
        return false;
    for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
        const char next = name[slash + 1];  // the last byte is no slash
        if (next == '/' || (file && next == '.')) return false;
    }
    return true;
}

Result<void> read_option(AcquireArguments& read, std::string_view name, std::string_view value) {
    if (same_word(name, "PREDICATE")) {
        const auto predicate = parse_predicate(value);
        if (!predicate)
            return invalid_argument("PREDICATE is one of PROVIDES, CONSUMES, MUTATES, DELETES, DEPENDS_ON, RENAMES");
        read.predicate = *predicate;
    } else if (same_word(name, "WAIT")) {
        const auto wait = read_ms("WAIT", value);
        if (!wait) return wait.error();
        read.wait = *wait;
    } else if (same_word(name, "PROGRESS")) {
        const auto progress = read_ms("PROGRESS", value);
        if (!progress) return progress.error();
        if (*progress < 1s || *progress > 60s)
            return invalid_argument("PROGRESS takes a whole number of milliseconds from 1000 to 60000");
        read.progress = *progress;
    } else if (same_word(name, "PRIORITY")) {
        read.priority = resp::parse_integer(value);
        if (!read.priority || *read.priority > max_priority || *read.priority < -max_priority)
            return invalid_argument("PRIORITY takes a whole number from -9*10^15 to 9*10^15");
    } else if (same_word(name, "EPOCH")) {
        read.epoch = parse_number(value);
        if (!read.epoch || *read.epoch == 0 || *read.epoch > max_number)
            return invalid_argument("EPOCH takes a whole number from 1 to 2^53-1");
    } else if (same_word(name, "SCOPE")) {
        if (!same_word(value, "CONNECTION")) return invalid_argument("SCOPE takes CONNECTION");
        read.scoped = true;
    } else if (same_word(name, "REASON")) {
        read.reason = value;
        return check_text({"REASON", value}, limits::reason_bytes);
    } else if (same_word(name, "SESSION")) {
        read.session = value;
        return check_text({"SESSION", value}, limits::session_bytes);
    } else if (same_word(name, "NAMESPACE")) {
        read.name_space = value;
        return check_namespace(value);
    } else {
        return invalid_argument("there is no option " + std::string(name.substr(0, 64)));
    }
    return {};
}

}  // namespace

Error invalid_argument(std::string message) {
    return {std::string(name_of(Code::invalid_argument)), std::move(message)};
}

Result<Duration> read_ms(std::string_view field, std::string_view text) {
    const auto ms = parse_number(text);
    if (!ms || *ms > max_duration_ms)
        return invalid_argument(std::string(field) + " takes a whole number of milliseconds");
    return Duration{std::chrono::milliseconds{*ms}};
}

Result<Token> read_token(std::string_view text) {
    const auto token = parse_number(text);
    if (!token || *token >= token_limit) return invalid_argument("a token is a whole number below 2^53");
    return *token;
}

Result<AcquireArguments> read_acquire(std::span<const std::string_view> words) {
    AcquireArguments read;
    read.resource = words[1];
    read.holder = words[2];
    const auto ttl = read_ms("ttl_ms", words[3]);
    if (!ttl) return ttl.error();
    read.ttl = *ttl;
    if (const auto checked = check_holder(read.holder); !checked) return checked.error();
    if (words.size() % 2 != 0) return invalid_argument("an option is without its value");
    for (std::size_t i = 4; i < words.size(); i += 2)
        if (const auto option = read_option(read, words[i], words[i + 1]); !option) return option.error();
    return read;
}

Result<std::string_view> one_name(std::string_view resource, std::string_view name_space, FullNames full,
                                  std::string& room) {
    if (full == FullNames::allowed && resource.starts_with('@')) {
        if (resource.size() > limits::resource_bytes + limits::namespace_bytes + 2)
            return invalid_argument("resource is longer than a full name can be");
        return resource;
    }
    std::string_view name = resource;
    std::string normal;
    if (!surely_normalised(resource)) {
        auto made = normalised(resource);
        if (!made) return made.error();
        normal = std::move(*made);
        name = normal;
    }
    // A name that is only looked up needs no check: one that is malformed is not found.
    if (full == FullNames::refused || name.size() > limits::resource_bytes)
        if (const auto checked = check_resource(name); !checked) return checked.error();
    if (normal.empty() && (name_space.empty() || name_space == default_namespace)) return name;
    room = full_name(name_space, name);
    return std::string_view(room);
}

}  // namespace holdfast
