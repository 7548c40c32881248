#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

struct pg_result;

namespace holdfast::store::postgres {

/// The column types of our functions' results.
enum class Column : std::uint8_t { truth, big, bytes, id };

/// The result of a statement, in PostgreSQL's binary format.
class Rows {
 public:
    explicit Rows(pg_result* result);

    int count() const;
    /// A view of one row that begins at this column.
    Rows from(int row, int column) const;
    /// True if there are exactly these columns, and each value has the length of its type. Anyone who can write to the
    /// database may have replaced our functions.
    bool are(std::initializer_list<Column> columns) const;

    // REQUIRES: the column is of this type.
    bool is_null(int row, int column) const;
    bool truth(int row, int column) const;
    std::int64_t big(int row, int column) const;        ///< 0 for null
    std::string_view bytes(int row, int column) const;  ///< empty for null; also of an id

 private:
    bool fits(Column column, int index) const;

    std::shared_ptr<pg_result> result_;
    int row_ = 0, rows_ = 0, column_ = 0;
};

}  // namespace holdfast::store::postgres
