#include "base/json_writer.h"

#include <fmt/format.h>

#include "base/printable.h"

namespace holdfast::inline base {
namespace {

/// The escape of a control character.
std::string escape_of(char c) {
    static constexpr std::string_view named = "\b\t\n\f\r";
    if (const auto at = named.find(c); at != std::string_view::npos) return {'\\', "btnfr"[at]};
    return fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
}

}  // namespace

void JsonWriter::separate() {
    if (comma_) out_ += ',';
    comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
    separate();
    out_ += bracket;
    comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
    separate();
    quote(name);
    out_ += ':';
    comma_ = false;
    return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
    separate();
    quote(value);
    return *this;
}

JsonWriter& JsonWriter::number(std::int64_t value) {
    return raw(std::to_string(value));
}

JsonWriter& JsonWriter::number(std::uint64_t value) {
    return raw(std::to_string(value));
}

JsonWriter& JsonWriter::raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
}

void JsonWriter::quote(std::string_view value) {
    const std::size_t begin = out_.size();
    bool plain = true;
    out_ += '"';
    for (const char c : value) {
        const auto byte = static_cast<unsigned char>(c);
        plain &= byte < 0x7f;
        if (c == '"' || c == '\\') {
            out_ += '\\';
            out_ += c;
        } else if (byte >= 0x20) {
            out_ += c;
        } else {
            out_ += escape_of(c);
        }
    }
    out_ += '"';
    if (!plain) out_.replace(begin, std::string::npos, printable_json(std::string_view(out_).substr(begin)));
}

}  // namespace holdfast::inline base
