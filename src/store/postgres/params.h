#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::postgres {

/// What PostgreSQL calls its types.
enum class Type : std::uint32_t { truth = 16, bytea = 17, big = 20, small = 21, number = 23, text = 25, id = 2950 };

/// The parameters of a prepared statement, in PostgreSQL's binary form unless it says otherwise.
class Params {
 public:
    static constexpr std::size_t most = 17;

    Params& small(std::int16_t value);
    Params& number(std::int32_t value);
    Params& big(std::int64_t value);
    Params& truth(bool value);
    Params& bytes(std::string_view value);                           ///< bytea, text, or an id
    Params& byte_strings(std::span<const std::string_view> values);  ///< bytea[], as text
    Params& numbers(std::span<const std::int32_t> values);
    /// An array of what these have at one index, which is of this type, or is text for it.
    Params& column(std::span<const Params* const> rows, std::size_t index, Type type);

    int count() const { return count_; }
    std::size_t size() const { return data_.size(); }

    /// As libpq wants them, valid while these are as they are.
    struct Pointers {
        std::array<const char*, most> values;
        std::array<int, most> lengths;
        std::array<int, most> formats;
    };
    Pointers pointers() const;

    /// Another truth for the one that was given last.
    void replace_last_truth(bool value) { data_.back() = value ? '\1' : '\0'; }

 private:
    static constexpr int text = 0, binary = 1;

    /// Everything from `from` on is one more parameter.
    Params& close(std::size_t from, int format = binary);
    void put(std::uint64_t value, int size);
    void put_array_of(Type type, std::size_t size);
    std::string_view value(std::size_t index) const;

    std::string data_;
    std::array<std::size_t, most> starts_{};
    std::array<int, most> lengths_{}, formats_{};
    int count_ = 0;
};

}  // namespace holdfast::postgres
