#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::store::postgres {

/// PostgreSQL's type OIDs.
enum class Type : std::uint32_t { truth = 16, bytea = 17, big = 20, small = 21, number = 23, text = 25, id = 2950 };

/// The parameters of a prepared statement, in PostgreSQL's binary format unless noted.
class Params {
 public:
    static constexpr std::size_t max_count = 22;

    Params& small(std::int16_t value);
    Params& number(std::int32_t value);
    Params& big(std::int64_t value);
    Params& truth(bool value);
    Params& bytes(std::string_view value);                           ///< bytea, text, or an id
    Params& byte_strings(std::span<const std::string_view> values);  ///< bytea[], as text
    Params& numbers(std::span<const std::int32_t> values);
    /// Adds an array of the values that `rows` have at this index. They are of this type, or its text form.
    Params& column(std::span<const Params* const> rows, std::size_t index, Type type);

    int count() const { return count_; }
    std::size_t size() const { return data_.size(); }

    /// In libpq's form. Valid until the parameters change.
    struct Pointers {
        std::array<const char*, max_count> values;
        std::array<int, max_count> lengths;
        std::array<int, max_count> formats;
    };
    Pointers pointers() const;

    /// Replaces the last parameter, which must be a truth.
    void replace_last_truth(bool value) { data_.back() = value ? '\1' : '\0'; }

 private:
    static constexpr int text = 0, binary = 1;

    /// Makes the bytes from `from` on the next parameter.
    Params& close(std::size_t from, int format = binary);
    void put(std::uint64_t value, int size);
    void put_array_of(Type type, std::size_t size);
    std::string_view value(std::size_t index) const;

    std::string data_;
    std::array<std::size_t, max_count> starts_{};
    std::array<int, max_count> lengths_{}, formats_{};
    int count_ = 0;
};

}  // namespace holdfast::store::postgres
