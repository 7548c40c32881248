#include "statefile/sqlite.h"

#include <sqlite3.h>
#include <utility>

namespace holdfast {

Sqlite::Sqlite(std::string path, std::string called) : path_(std::move(path)), called_(std::move(called)) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    check(sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr));
}

Sqlite::~Sqlite() {
    sqlite3_close(handle_);
}

void Sqlite::run(const char* sql) {
    if (!failure_) check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr));
}

void Sqlite::fail(Error error) {
    if (!failure_) failure_ = std::move(error);
}

std::optional<Error> Sqlite::take_failure() {
    return std::exchange(failure_, std::nullopt);
}

void Sqlite::check(int code) {
    const int kind = code & 0xff;
    if (kind == SQLITE_OK || kind == SQLITE_ROW || kind == SQLITE_DONE) return;
    const std::string reason = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
        return fail({"state_corrupt", named() + " is damaged (" + reason + ")"});
    fail({"storage_failed", "cannot use " + named() + ": " + reason});
}

Statement::Statement(Sqlite& database, std::string_view sql) : database_(database) {
    if (database_.failure_) return;
    database_.check(sqlite3_prepare_v2(database_.handle_, sql.data(), static_cast<int>(sql.size()), &handle_, nullptr));
}

Statement::~Statement() {
    sqlite3_finalize(handle_);
}

Statement& Statement::bind(int parameter, std::int64_t value) {
    if (!database_.failure_) database_.check(sqlite3_bind_int64(handle_, parameter, value));
    return *this;
}

Statement& Statement::bind_text(int parameter, std::string_view value) {
    if (!database_.failure_)
        database_.check(sqlite3_bind_text64(handle_, parameter, value.data() != nullptr ? value.data() : "",
                                            value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
}

Statement& Statement::bind_blob(int parameter, std::string_view value) {
    if (!database_.failure_)
        database_.check(sqlite3_bind_blob64(handle_, parameter, value.data() != nullptr ? value.data() : "",
                                            value.size(), SQLITE_TRANSIENT));
    return *this;
}

bool Statement::step() {
    if (database_.failure_) return false;
    const int code = sqlite3_step(handle_);
    database_.check(code);
    return code == SQLITE_ROW;
}

void Statement::execute() {
    while (step()) {
    }
    if (handle_ == nullptr) return;
    sqlite3_reset(handle_);
    sqlite3_clear_bindings(handle_);
}

std::int64_t Statement::number(int column) const {
    return sqlite3_column_int64(handle_, column);
}

std::string_view Statement::bytes(int column) const {
    const void* data = sqlite3_column_blob(handle_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
    return data != nullptr ? std::string_view(static_cast<const char*>(data), size) : std::string_view();
}

Transaction::Transaction(Sqlite& database) : database_(database) {
    database_.take_failure();
    database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
    if (!open_) return;
    const auto why = database_.take_failure();
    database_.run("ROLLBACK");
    database_.take_failure();  // nothing to roll back if it never began
    if (why) database_.fail(*why);
}

Result<void> Transaction::commit() {
    database_.run("COMMIT");
    if (database_.failure()) return *database_.failure();
    open_ = false;
    return {};
}

}  // namespace holdfast
