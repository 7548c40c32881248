#include "store/postgres/params.h"

#include "base/assert.h"

namespace holdfast::postgres {
namespace {

constexpr std::uint64_t oid_of_bytea = 17;
constexpr std::uint64_t oid_of_integer = 23;

}  // namespace

void Params::put(std::uint64_t value, int size) {
    while (size-- > 0)
        data_ += static_cast<char>(value >> (8 * size) & 0xff);
}

Params& Params::close(std::size_t from) {
    HOLDFAST_ASSERT(static_cast<std::size_t>(count_) < most);
    lengths_[static_cast<std::size_t>(count_++)] = static_cast<int>(data_.size() - from);
    return *this;
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

// An array: how many dimensions, whether there are nulls, of what; of each dimension its size and first index; then the
// values, each with its length. An empty one has no dimensions.

Params& Params::byte_strings(std::span<const std::string_view> values) {
    const std::size_t from = data_.size();
    put(values.empty() ? 0 : 1, 4);
    put(0, 4);
    put(oid_of_bytea, 4);
    if (!values.empty()) put(values.size(), 4), put(1, 4);
    for (const std::string_view value : values) {
        put(value.size(), 4);
        data_ += value;
    }
    return close(from);
}

Params& Params::numbers(std::span<const std::int32_t> values) {
    const std::size_t from = data_.size();
    put(values.empty() ? 0 : 1, 4);
    put(0, 4);
    put(oid_of_integer, 4);
    if (!values.empty()) put(values.size(), 4), put(1, 4);
    for (const std::int32_t value : values) {
        put(4, 4);
        put(static_cast<std::uint64_t>(value), 4);
    }
    return close(from);
}

Params::Pointers Params::pointers() const {
    Pointers out;
    const char* next = data_.data();
    for (std::size_t i = 0; i < static_cast<std::size_t>(count_); ++i) {
        out.values[i] = next;
        out.lengths[i] = lengths_[i];
        out.formats[i] = 1;
        next += lengths_[i];
    }
    return out;
}

}  // namespace holdfast::postgres
