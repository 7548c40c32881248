#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

struct pg_result;

namespace holdfast::postgres {

/// The types that our functions answer with.
enum class Column : std::uint8_t { truth, big, bytes, record, id };

/// A number as PostgreSQL sends it.
std::uint64_t big_endian(std::string_view bytes);

/// What a statement answered, in PostgreSQL's binary form.
class Rows {
 public:
    explicit Rows(pg_result* result);

    int count() const;
    /// One of these rows, as one that begins with this column.
    Rows from(int row, int column) const;
    /// True if it has these columns, and each value the length that goes with its type. Whoever may write to the
    /// database may have replaced our functions.
    bool are(std::initializer_list<Column> columns) const;

    // REQUIRES: the column is of this type.
    bool is_null(int row, int column) const;
    bool truth(int row, int column) const;
    std::int64_t big(int row, int column) const;        ///< 0 for null
    std::string_view bytes(int row, int column) const;  ///< empty for null; also what a record and an id are sent as

 private:
    bool fits(Column column, int index) const;

    std::shared_ptr<pg_result> result_;
    int row_ = 0, rows_ = 0, column_ = 0;
};

}  // namespace holdfast::postgres
