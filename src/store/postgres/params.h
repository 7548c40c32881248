#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::postgres {

/// The parameters of a prepared statement, in PostgreSQL's binary form.
class Params {
 public:
    static constexpr std::size_t most = 13;

    Params& small(std::int16_t value);
    Params& number(std::int32_t value);
    Params& big(std::int64_t value);
    Params& truth(bool value);
    Params& bytes(std::string_view value);  ///< bytea, or text
    Params& byte_strings(std::span<const std::string_view> values);
    Params& numbers(std::span<const std::int32_t> values);

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
    /// Everything from `from` on is one more parameter.
    Params& close(std::size_t from);
    void put(std::uint64_t value, int size);

    std::string data_;
    std::array<int, most> lengths_{};
    int count_ = 0;
};

}  // namespace holdfast::postgres
