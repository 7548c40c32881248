#include "store/postgres/params.h"

#include "base/assert.h"

namespace holdfast::store::postgres {
void Params::put(std::uint64_t value, int size) {
    while (size-- > 0)
        data_ += static_cast<char>(value >> (8 * size) & 0xff);
}

Params& Params::close(std::size_t from, int format) {
    HOLDFAST_ASSERT(static_cast<std::size_t>(count_) < max_count);
    const auto index = static_cast<std::size_t>(count_++);
    starts_[index] = from;
    lengths_[index] = static_cast<int>(data_.size() - from);
    formats_[index] = format;
    return *this;
}

std::string_view Params::value(std::size_t index) const {
    return std::string_view(data_).substr(starts_[index], static_cast<std::size_t>(lengths_[index]));
}

Params& Params::small(std::int16_t value) {
    put(static_cast<std::uint64_t>(value), 2);
    return close(data_.size() - 2);
}

Params& Params::number(std::int32_t value) {
    put(static_cast<std::uint64_t>(value), 4);
    return close(data_.size() - 4);
}

Params& Params::big(std::int64_t value) {
    put(static_cast<std::uint64_t>(value), 8);
    return close(data_.size() - 8);
}

Params& Params::truth(bool value) {
    put(value ? 1 : 0, 1);
    return close(data_.size() - 1);
}

Params& Params::bytes(std::string_view value) {
    const std::size_t from = data_.size();
    data_ += value;
    return close(from);
}

/// Each value is written in hexadecimal. In text format the array can be an element of another array, which binary
/// arrays cannot.
Params& Params::byte_strings(std::span<const std::string_view> values) {
    constexpr std::string_view digits = "0123456789abcdef";
    const std::size_t from = data_.size();
    data_ += '{';
    for (const std::string_view value : values) {
        if (data_.size() > from + 1) data_ += ',';
        data_ += R"("\\x)";
        for (const char c : value) {
            data_ += digits[static_cast<unsigned char>(c) >> 4];
            data_ += digits[static_cast<unsigned char>(c) & 0xf];
        }
        data_ += '"';
    }
    data_ += '}';
    close(from, text);
    data_ += '\0';  // libpq expects text to be null-terminated
    return *this;
}

/// Writes the header: the number of dimensions, the null flag, the element type, and the size and first index of each
/// dimension. The values follow, each with its length. An empty array has no dimensions.
void Params::put_array_of(Type type, std::size_t size) {
    put(size == 0 ? 0 : 1, 4);
    put(0, 4);
    put(static_cast<std::uint64_t>(type), 4);
    if (size > 0) put(size, 4), put(1, 4);
}

Params& Params::numbers(std::span<const std::int32_t> values) {
    const std::size_t from = data_.size();
    put_array_of(Type::number, values.size());
    for (const std::int32_t value : values) {
        put(4, 4);
        put(static_cast<std::uint64_t>(value), 4);
    }
    return close(from);
}

Params& Params::column(std::span<const Params* const> rows, std::size_t index, Type type) {
    const std::size_t from = data_.size();
    put_array_of(type, rows.size());
    for (const Params* row : rows) {
        const std::string_view value = row->value(index);
        put(value.size(), 4);
        data_ += value;
    }
    return close(from);
}

Params::Pointers Params::pointers() const {
    Pointers out;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
        out.values[i] = data_.data() + starts_[i];
        out.lengths[i] = lengths_[i];
        out.formats[i] = formats_[i];
    }
    return out;
}

}  // namespace holdfast::store::postgres
