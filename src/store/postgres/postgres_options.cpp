#include <algorithm>
#include <libpq-fe.h>
#include <memory>

#include "base/text.h"
#include "store/postgres/postgres_engine.h"

namespace holdfast::store::postgres {
namespace {

constexpr std::size_t schema_bytes = 48;
constexpr std::uint64_t max_pool = 64;

Error invalid(std::string message) {
    return {Code::invalid_argument, std::move(message)};
}

Error malformed() {
    return invalid(
        "the URL of the PostgreSQL is malformed, or has a parameter that libpq does not know; a character like / or @ "
        "in a "
        "password is written as %2F or %40");
}

/// If a password contains an unescaped slash, libpq takes it for a port.
bool are_ports(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c == ',' || (c >= '0' && c <= '9'); });
}

/// Accepts names that PostgreSQL takes unquoted in every context.
bool is_schema_name(std::string_view name) {
    const auto is_fit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    return !name.empty() && name.size() <= schema_bytes && std::all_of(name.begin(), name.end(), is_fit) &&
           !(name[0] >= '0' && name[0] <= '9') && !name.starts_with("pg_");
}

Result<void> take_own(PostgresEngineOptions& options, std::string_view name, std::string_view value) {
    const auto text = percent_decode(value);
    if (name == "schema") {
        if (!text || !is_schema_name(*text))
            return invalid("schema= takes a name of lower case letters, digits and _, at most 48 of them");
        options.schema = *text;
    } else {
        const auto number = text ? parse_number(*text) : std::nullopt;
        if (!number || *number < 1 || *number > max_pool) return invalid("pool= takes a number from 1 to 64");
        options.pool = static_cast<std::size_t>(*number);
    }
    return {};
}

/// Extracts the parameters that are not libpq's from the URL.
Result<std::string> without_own(std::string_view url, PostgresEngineOptions& options) {
    const std::size_t question = url.find('?');
    std::string rest(url.substr(0, question));
    if (question == std::string_view::npos) return rest;
    char separator = '?';
    for (std::string_view query = url.substr(question + 1); !query.empty();) {
        const std::string_view part = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(part.size() + 1, query.size()));
        const std::size_t equals = part.find('=');
        const std::string_view name = part.substr(0, equals);
        if (name == "schema" || name == "pool") {
            const auto taken = take_own(
                options, name, equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1));
            if (!taken) return taken.error();
        } else if (!part.empty()) {
            rest += separator;
            rest += part;
            separator = '&';
        }
    }
    return rest;
}

}  // namespace

Result<PostgresEngineOptions> parse_postgres_engine(std::string_view url) {
    if (!url.starts_with("postgres://") && !url.starts_with("postgresql://"))
        return invalid("not a URL of a PostgreSQL: postgres://[user[:password]@][host][:port][/database][?parameters]");
    if (url.find('\0') != std::string_view::npos) return invalid("a URL cannot contain a zero byte");
    PostgresEngineOptions options;
    const auto rest = without_own(url, options);
    if (!rest) return rest.error();
    char* message = nullptr;
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
        PQconninfoParse(rest->c_str(), &message), PQconninfoFree);
    PQfreemem(message);  // it repeats parts of the URL, possibly an unescaped password
    if (!parsed) return malformed();
    for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
        if (option->val == nullptr) continue;
        if (option->keyword == std::string_view("port") && !are_ports(option->val)) return malformed();
        options.parameters.emplace_back(option->keyword, option->val);
    }
    return options;
}

}  // namespace holdfast::store::postgres
