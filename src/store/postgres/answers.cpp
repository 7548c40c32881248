#include "store/postgres/answers.h"

namespace holdfast::postgres {
namespace {

using core::Kept;
using core::Reading;
using core::Sight;
using core::Swapped;

Error broken(const char* what) {
    return {"store_unavailable", std::string("PostgreSQL: the schema is not as it should be: ") + what};
}

/// Three columns from this one on.
Result<Kept> kept_in(const Rows& rows, int row, int column) {
    Kept kept;
    kept.write = static_cast<core::WriteId>(rows.big(row, column));
    if (kept.write == 0) return kept;
    if (rows.is_null(row, column + 1) || rows.bytes(row, column + 2).empty()) return broken("a row has no content");
    kept.written_at = engine_time(rows.big(row, column + 1));
    kept.bytes = rows.bytes(row, column + 2);
    return kept;
}

}  // namespace

Result<Reading> reading_in(const Rows& rows) {
    if (!rows.are({Column::big, Column::big, Column::big, Column::bytes}) || rows.count() != 1 || rows.is_null(0, 0))
        return broken("fetch() answers something else");
    auto kept = kept_in(rows, 0, 1);
    if (!kept) return kept.error();
    return Reading{std::move(*kept), engine_time(rows.big(0, 0))};
}

Result<Swapped> swapped_in(const Rows& rows, core::WriteId expected) {
    if (!rows.are({Column::truth, Column::big, Column::big, Column::big, Column::bytes}) || rows.count() != 1 ||
        rows.is_null(0, 0) || rows.is_null(0, 1))
        return broken("swap() answers something else");
    Swapped swapped;
    swapped.done = rows.truth(0, 0);
    swapped.now = engine_time(rows.big(0, 1));
    if (swapped.done) return swapped;
    swapped.found.write = static_cast<core::WriteId>(rows.big(0, 2));
    if (swapped.found.write == expected) return swapped;
    auto kept = kept_in(rows, 0, 2);
    if (!kept) return kept.error();
    swapped.found = std::move(*kept);
    return swapped;
}

Result<Sight> sight_in(const Rows& rows, std::size_t most) {
    if (!rows.are({Column::bytes, Column::big, Column::big, Column::bytes}) || rows.count() < 1 ||
        !rows.is_null(0, 0) || rows.is_null(0, 1))
        return broken("a look answers something else");
    Sight sight;
    sight.now = engine_time(rows.big(0, 1));
    for (int row = 1; row < rows.count(); ++row) {
        if (sight.entries.size() == most) {
            sight.cut = true;
            break;
        }
        auto kept = kept_in(rows, row, 1);
        if (!kept) return kept.error();
        if (rows.is_null(row, 0) || kept->write == 0) return broken("a row has no name or was never written");
        sight.entries.push_back({std::string(rows.bytes(row, 0)), std::move(*kept)});
    }
    return sight;
}

Result<std::vector<std::string>> names_in(const Rows& rows) {
    if (!rows.are({Column::bytes})) return broken("overdue() answers something else");
    std::vector<std::string> names;
    for (int row = 0; row < rows.count(); ++row)
        names.emplace_back(rows.bytes(row, 0));
    return names;
}

Result<std::int64_t> number_in(const Rows& rows) {
    if (!rows.are({Column::big}) || rows.count() != 1 || rows.is_null(0, 0)) return broken("a number is missing");
    return rows.big(0, 0);
}

}  // namespace holdfast::postgres
