#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::codec::resp {

/// A reply as a client sees it.
struct Value {
    enum class Type : std::uint8_t {
        null,
        text,
        status,
        error,
        integer,
        real,
        boolean,
        big_number,
        array,
        map,
        set,
        push
    };

    Type type = Type::null;
    std::string text{};          ///< of text, status, error (code and message), real and big_number
    std::int64_t number = 0;     ///< of integer and boolean
    std::vector<Value> items{};  ///< of array, set and push; of a map: keys and values in turn

    bool is_error() const { return type == Type::error; }
    /// True for text and status.
    bool is_text() const { return type == Type::text || type == Type::status; }

    bool operator==(const Value&) const = default;
};

/// Limits of one reply; beyond them the stream is malformed.
inline constexpr std::size_t max_value_bytes = 64 << 20;
inline constexpr std::size_t max_value_items = 1 << 20;
inline constexpr std::size_t max_value_depth = 16;

/// Reads replies from a stream of bytes, in either version of the protocol. When a reply arrives in pieces, at most one
/// header per piece is read twice. Attributes are skipped. Strings and aggregates without an announced length (`$?`,
/// `*?`), which no Redis sends, are malformed.
class ValueReader {
 public:
    enum class Outcome : std::uint8_t { value, more, malformed };

    /// Reads `input`, which begins after the last value and includes at least the bytes of the previous call, though
    /// perhaps at another address. `value`: value() returns it and may be moved from, and size() bytes are consumed.
    /// `more`: the value is incomplete. `malformed`: error() says why, and nothing after it can be understood.
    Outcome read(std::string_view input);

    Value& value() { return value_; }
    std::size_t size() const { return at_; }
    std::string_view error() const { return error_; }

 private:
    struct Open {
        Value value;
        std::size_t missing = 0;
        bool attribute = false;
    };
    enum class Step : std::uint8_t { done, more, malformed };

    void start_over();
    Step read_one(std::string_view input);
    Step read_line(std::string_view line, char type);
    Step read_bulk(std::string_view input, std::string_view header, std::size_t begin, char type);
    Step wait(std::size_t shown);
    Step open(std::string_view header, char type);
    Step fail(std::string_view why);
    bool complete(Value value);

    std::size_t at_ = 0;       // everything before is parsed
    std::size_t scanned_ = 0;  // no end of line between at_ and here
    std::size_t items_ = 0;
    bool done_ = true;
    bool finished_ = false;
    std::vector<Open> open_;
    Value value_;
    std::string_view error_;
};

}  // namespace holdfast::codec::resp
