#include "codec/resp/resp_value.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "codec/resp/resp_number.h"

namespace holdfast::codec::resp {
namespace {

/// Parses an integer as the protocol writes it, which allows a `+`.
std::optional<std::int64_t> integer_of(std::string_view line) {
    if (line.starts_with('+')) {
        line.remove_prefix(1);
        if (line.starts_with('-')) return std::nullopt;
    }
    return parse_integer(line);
}

bool is_real(std::string_view line) {
    if (line == "inf" || line == "-inf" || line == "nan") return true;
    double value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    return end == line.data() + line.size() && error != std::errc::invalid_argument;
}

bool is_big_number(std::string_view line) {
    if (line.starts_with('-') || line.starts_with('+')) line.remove_prefix(1);
    return !line.empty() && line.find_first_not_of("0123456789") == std::string_view::npos;
}

Value::Type aggregate_of(char type) {
    switch (type) {
        case '~':
            return Value::Type::set;
        case '>':
            return Value::Type::push;
        case '%':
        case '|':
            return Value::Type::map;
        default:
            return Value::Type::array;
    }
}

}  // namespace

void ValueReader::start_over() {
    at_ = scanned_ = items_ = 0;
    done_ = finished_ = false;
    open_.clear();
}

ValueReader::Step ValueReader::fail(std::string_view why) {
    error_ = why;
    done_ = true;
    return Step::malformed;
}

ValueReader::Outcome ValueReader::read(std::string_view input) {
    if (done_) start_over();
    while (!finished_) {
        const Step step = read_one(input.substr(0, max_value_bytes));
        if (step == Step::more) return Outcome::more;
        if (step == Step::malformed) return Outcome::malformed;
    }
    done_ = true;
    return Outcome::value;
}

/// The input shown so far is used up: waits for more, or fails if it is too large already.
ValueReader::Step ValueReader::wait(std::size_t shown) {
    return shown < max_value_bytes ? Step::more : fail("the reply is too large");
}

/// Reads one header and its body, if any: a leaf, or the beginning of an aggregate.
ValueReader::Step ValueReader::read_one(std::string_view input) {
    const std::size_t end = input.find('\n', std::max(at_, scanned_));
    if (end == std::string_view::npos) {
        scanned_ = input.size();
        return wait(input.size());
    }
    if (end < at_ + 2 || input[end - 1] != '\r') return fail("expected a type and the end of a line");
    const char type = input[at_];
    const std::string_view header = input.substr(at_ + 1, end - 1 - (at_ + 1));
    Step step = Step::done;
    if (type == '$' || type == '=' || type == '!') {
        step = read_bulk(input, header, end + 1, type);
    } else {
        at_ = end + 1;
        step = std::string_view("*%~>|").find(type) != std::string_view::npos ? open(header, type)
                                                                              : read_line(header, type);
    }
    if (step == Step::done && ++items_ > max_value_items) return fail("the reply has too many parts");
    return step;
}

ValueReader::Step ValueReader::read_line(std::string_view line, char type) {
    Value value;
    switch (type) {
        case '+':
            value = {Value::Type::status, std::string(line)};
            break;
        case '-':
            value = {Value::Type::error, std::string(line)};
            break;
        case ',':
            if (!is_real(line)) return fail("invalid real number");
            value = {Value::Type::real, std::string(line)};
            break;
        case '(':
            if (!is_big_number(line)) return fail("invalid big number");
            value = {Value::Type::big_number, std::string(line)};
            break;
        case '_':
            if (!line.empty()) return fail("expected nothing after _");
            break;
        case '#':
            if (line != "t" && line != "f") return fail("expected t or f");
            value.type = Value::Type::boolean;
            value.number = line == "t" ? 1 : 0;
            break;
        case ':': {
            const auto number = integer_of(line);
            if (!number) return fail("invalid integer");
            value.type = Value::Type::integer;
            value.number = *number;
            break;
        }
        default:
            return fail("unknown type");
    }
    finished_ = complete(std::move(value));
    return Step::done;
}

ValueReader::Step ValueReader::read_bulk(std::string_view input, std::string_view header, std::size_t begin,
                                         char type) {
    const auto size = parse_integer(header);
    if (!size || *size < (type == '$' ? -1 : 0)) return fail("invalid bulk length");
    if (*size > static_cast<std::int64_t>(max_value_bytes)) return fail("the reply is too large");
    if (*size == -1) {
        at_ = begin;
        finished_ = complete({});
        return Step::done;
    }
    const std::size_t end = begin + static_cast<std::size_t>(*size);
    if (end + 2 > max_value_bytes) return fail("the reply is too large");
    if (input.size() < end + 2) return Step::more;
    if (input[end] != '\r' || input[end + 1] != '\n') return fail("expected a line end after a bulk");
    std::string_view text = input.substr(begin, end - begin);
    if (type == '=') {
        if (text.size() < 4 || text[3] != ':') return fail("expected a format before verbatim text");
        text.remove_prefix(4);
    }
    at_ = end + 2;
    finished_ = complete({type == '!' ? Value::Type::error : Value::Type::text, std::string(text)});
    return Step::done;
}

ValueReader::Step ValueReader::open(std::string_view header, char type) {
    const auto count = parse_integer(header);
    if (!count || *count < (type == '*' ? -1 : 0)) return fail("invalid count");
    if (*count > static_cast<std::int64_t>(max_value_items)) return fail("the reply has too many parts");
    if (*count == -1) {
        finished_ = complete({});
        return Step::done;
    }
    Open opened;
    opened.missing = static_cast<std::size_t>(*count) * (type == '%' || type == '|' ? 2 : 1);
    opened.attribute = type == '|';
    opened.value.type = aggregate_of(type);
    if (opened.missing == 0) {
        if (!opened.attribute) finished_ = complete(std::move(opened.value));
        return Step::done;
    }
    if (open_.size() == max_value_depth) return fail("the reply is too deep");
    open_.push_back(std::move(opened));
    return Step::done;
}

/// Adds a value to the innermost open aggregate and closes those that are full. True if the whole reply is complete.
bool ValueReader::complete(Value value) {
    while (!open_.empty()) {
        Open& last = open_.back();
        last.value.items.push_back(std::move(value));
        if (--last.missing > 0) return false;
        const bool attribute = last.attribute;
        value = std::move(last.value);
        open_.pop_back();
        if (attribute) return false;  // an attribute describes the next value; it is ignored
    }
    value_ = std::move(value);
    return true;
}

}  // namespace holdfast::codec::resp
