#include "store/postgres/answers.h"

#include <chrono>
#include <fmt/format.h>

#include "store/postgres/params.h"

namespace holdfast::store::postgres {
namespace {

constexpr Duration clock_step = 1s;  // larger than the delay of any reply

using cas::FoundRecords;
using cas::Reading;
using cas::StoredValue;
using cas::Swapped;

Error broken(const char* what) {
    return {Code::store_unavailable, fmt::format("PostgreSQL: the schema is not as it should be: {}", what)};
}

cas::Position position_of(std::int64_t place) {
    return static_cast<cas::Position>(place);
}

/// Returns the zero id for null.
cas::WriteId write_in(std::string_view id) {
    return id.empty() ? cas::WriteId{} : cas::WriteId::from_bytes(id);
}

/// Reads three columns, starting with this one.
Result<StoredValue> value_in(const Rows& rows, int row, int column) {
    StoredValue kept;
    kept.write = write_in(rows.bytes(row, column));
    if (kept.write == cas::WriteId{}) return kept;
    if (rows.is_null(row, column + 1) || rows.bytes(row, column + 2).empty()) return broken("a row has no content");
    kept.written_at = engine_time(rows.big(row, column + 1));
    kept.bytes = rows.bytes(row, column + 2);
    return kept;
}

}  // namespace

Result<Reading> reading_in(const Rows& rows) {
    if (!rows.are({Column::big, Column::id, Column::big, Column::bytes, Column::big}) || rows.count() != 1 ||
        rows.is_null(0, 0) || rows.is_null(0, 4))
        return broken("unexpected result of fetch()");
    auto kept = value_in(rows, 0, 1);
    if (!kept) return kept.error();
    constexpr std::int64_t ns_per_ms = 1'000'000;
    return Reading{std::move(*kept), engine_time(rows.big(0, 0)), rows.big(0, 0) / ns_per_ms,
                   position_of(rows.big(0, 4))};
}

Result<Swapped> swapped_in(const Rows& rows, cas::WriteId expected) {
    if (!rows.are({Column::truth, Column::big, Column::id, Column::big, Column::bytes, Column::big}) ||
        rows.count() != 1 || rows.is_null(0, 0) || rows.is_null(0, 1) || rows.is_null(0, 5))
        return broken("unexpected result of swap()");
    Swapped swapped;
    swapped.done = rows.truth(0, 0);
    swapped.now = engine_time(rows.big(0, 1));
    swapped.position = position_of(rows.big(0, 5));
    if (swapped.done) return swapped;
    swapped.found.write = write_in(rows.bytes(0, 2));
    if (swapped.found.write == expected) return swapped;
    auto kept = value_in(rows, 0, 2);
    if (!kept) return kept.error();
    swapped.found = std::move(*kept);
    return swapped;
}

Result<std::vector<Rows>> parts_in(const Rows& rows, std::size_t asked) {
    if (!rows.are({Column::big, Column::truth, Column::big, Column::id, Column::big, Column::bytes, Column::big}) ||
        rows.count() < 1 || rows.big(0, 0) != 0)
        return broken("unexpected result of swap()");
    std::vector<Rows> parts(asked, rows.from(0, 1));
    for (int row = 1; row < rows.count(); ++row) {
        const std::int64_t number = rows.big(row, 0);
        if (number < 1 || static_cast<std::uint64_t>(number) > asked)
            return broken("unexpected number in the result of swap()");
        parts[static_cast<std::size_t>(number - 1)] = rows.from(row, 1);
    }
    return parts;
}

Result<FoundRecords> records_in(const Rows& rows, std::size_t most) {
    if (!rows.are({Column::bytes, Column::id, Column::big, Column::bytes}) || rows.count() < 1 || !rows.is_null(0, 0) ||
        rows.is_null(0, 2))
        return broken("unexpected result of a read");
    FoundRecords read;
    read.now = engine_time(rows.big(0, 2));
    for (int row = 1; row < rows.count(); ++row) {
        const bool is_too_much = rows.is_null(row, 0) && row == rows.count() - 1 && row > 1;
        if (read.entries.size() == most || is_too_much) {
            read.cut = true;
            break;
        }
        auto kept = value_in(rows, row, 1);
        if (!kept) return kept.error();
        if (rows.is_null(row, 0) || kept->write == cas::WriteId{})
            return broken("a row has no name or was never written");
        read.entries.push_back({std::string(rows.bytes(row, 0)), std::move(*kept)});
    }
    return read;
}

Result<std::vector<std::string>> names_in(const Rows& rows) {
    if (!rows.are({Column::bytes})) return broken("unexpected result of overdue()");
    std::vector<std::string> names;
    for (int row = 0; row < rows.count(); ++row)
        names.emplace_back(rows.bytes(row, 0));
    return names;
}

std::string wait_in(const Rows& rows) {
    if (!rows.are({Column::bytes, Column::truth}) || rows.count() != 1) return {};
    const std::string_view what = rows.bytes(0, 0);
    if (what == "IPC/SyncRep") return "commits wait for a synchronous standby that does not answer";
    if (what.starts_with("Lock/")) return "it waits for a lock that another session holds";
    if (what.starts_with("IO/")) return fmt::format("it waits for its disk ({})", what);
    return {};
}

Result<std::int64_t> number_in(const Rows& rows) {
    if (!rows.are({Column::big}) || rows.count() != 1 || rows.is_null(0, 0)) return broken("a number is missing");
    return rows.big(0, 0);
}

void ServerClock::observe(cas::EngineTime now, Instant received) {
    const Duration ahead = now.time_since_epoch() - received.time_since_epoch();
    if (!ahead_ || std::chrono::abs(ahead - *ahead_) > clock_step) even_since_ = received;
    ahead_ = ahead;
}

cas::EngineTime ServerClock::not_after(Instant now, Duration wait) const {
    if (!ahead_) return cas::EngineTime::max();
    return cas::EngineTime(*ahead_ + now.time_since_epoch() + wait);
}

bool ServerClock::is_even_for(Duration span, Instant now) const {
    return ahead_ && now - even_since_ >= span;
}

}  // namespace holdfast::store::postgres
