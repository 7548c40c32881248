#include "store/postgres/rows.h"

#include <libpq-fe.h>

namespace holdfast::store::postgres {
namespace {

constexpr Oid oid_of_truth = 16, oid_of_bytea = 17, oid_of_bigint = 20, oid_of_uuid = 2950;

/// A number in PostgreSQL's byte order.
std::uint64_t big_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (const char c : bytes)
        value = value << 8 | static_cast<unsigned char>(c);
    return value;
}

}  // namespace

Rows::Rows(pg_result* result) : result_(result, PQclear), rows_(PQntuples(result)) {}

int Rows::count() const {
    return rows_;
}

Rows Rows::from(int row, int column) const {
    Rows one = *this;
    one.row_ += row;
    one.rows_ = 1;
    one.column_ += column;
    return one;
}

bool Rows::fits(Column column, int index) const {
    const Oid type = PQftype(result_.get(), column_ + index);
    if (PQfformat(result_.get(), column_ + index) != 1) return false;
    int size = -1;
    switch (column) {
        case Column::bytes:
            return type == oid_of_bytea;
        case Column::id:
            if (type != oid_of_uuid) return false;
            size = 16;
            break;
        case Column::truth:
            if (type != oid_of_truth) return false;
            size = 1;
            break;
        case Column::big:
            if (type != oid_of_bigint) return false;
            size = 8;
            break;
    }
    for (int row = 0; row < count(); ++row)
        if (!is_null(row, index) && PQgetlength(result_.get(), row_ + row, column_ + index) != size) return false;
    return true;
}

bool Rows::are(std::initializer_list<Column> columns) const {
    if (PQnfields(result_.get()) - column_ != static_cast<int>(columns.size())) return false;
    int index = 0;
    for (const Column column : columns)
        if (!fits(column, index++)) return false;
    return true;
}

bool Rows::is_null(int row, int column) const {
    return PQgetisnull(result_.get(), row_ + row, column_ + column) != 0;
}

bool Rows::truth(int row, int column) const {
    return !is_null(row, column) && *PQgetvalue(result_.get(), row_ + row, column_ + column) != 0;
}

std::int64_t Rows::big(int row, int column) const {
    if (is_null(row, column)) return 0;
    return static_cast<std::int64_t>(big_endian({PQgetvalue(result_.get(), row_ + row, column_ + column), 8}));
}

std::string_view Rows::bytes(int row, int column) const {
    if (is_null(row, column)) return {};
    return {PQgetvalue(result_.get(), row_ + row, column_ + column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row_ + row, column_ + column))};
}

}  // namespace holdfast::store::postgres
