#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::resp {

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

/// What one reply may be at most; over it the stream is malformed.
inline constexpr std::size_t max_value_bytes = 64 << 20;
inline constexpr std::size_t max_value_items = 1 << 20;
inline constexpr std::size_t max_value_depth = 16;

/// Reads replies from a stream of bytes, in either version of the protocol. What it looks at twice, when a reply
/// arrives in pieces, is at most one header per piece. Attributes are skipped. Strings and aggregates whose length is
/// not announced (`$?`, `*?`), which no Redis sends, are malformed.
class ValueReader {
 public:
    enum class Outcome : std::uint8_t { value, more, malformed };

    /// Looks at `input`: what follows the last value, and at least what was shown in the call before, be it at another
    /// place. `value`: value() has it, to be moved from if wanted, and size() bytes are used up. `more`: it is not all
    /// there yet. `malformed`: error() says why, and nothing after it can be understood.
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

    std::size_t at_ = 0;       // everything before has been understood
    std::size_t scanned_ = 0;  // and everything before has no end of line since at_
    std::size_t items_ = 0;
    bool done_ = true;
    bool finished_ = false;
    std::vector<Open> open_;
    Value value_;
    std::string_view error_;
};

}  // namespace holdfast::resp
