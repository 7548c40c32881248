#pragma once

#include <string>
#include <string_view>

namespace holdfast::store::postgres {

/// The schema version that this program creates and works with.
inline constexpr int schema_version = 7;

/// The names of the prepared statements.
namespace statement {
inline constexpr const char* fetch = "hf_fetch";
inline constexpr const char* swap = "hf_swap";
inline constexpr const char* overlapping = "hf_overlapping";
inline constexpr const char* of_holder = "hf_of_holder";
inline constexpr const char* scan = "hf_scan";
inline constexpr const char* overdue = "hf_overdue";
inline constexpr const char* sweep = "hf_sweep";
inline constexpr const char* tell = "hf_tell";
inline constexpr const char* now = "hf_now";
inline constexpr const char* probe = "hf_probe";
inline constexpr const char* end = "hf_end";
}  // namespace statement

/// Selects one row that identifies the server; take_hello() in connection.cpp has its columns. Works without the
/// schema.
std::string hello_sql(std::string_view schema);
std::string version_sql(std::string_view schema);
/// Creates the schema, or migrates it to schema_version; does nothing if another front just did. REQUIRES: a name that
/// needs no quoting.
std::string migrate_sql(std::string_view schema);
/// Configures the session and prepares the statements.
std::string prepare_sql(std::string_view schema, long long answer_within_ms);

/// In functions.cpp: the functions of the newest schema version, with `~` for its name. They may replace those of an
/// older version that fronts are still calling: no existing name changes its parameters or its result.
std::string functions();

}  // namespace holdfast::store::postgres
