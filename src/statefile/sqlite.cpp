#include "statefile/sqlite.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>
#include <utility>

#include "statefile/state_dir.h"

namespace holdfast::statefile {

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
        return fail({Code::state_corrupt, fmt::format("{} is damaged ({})", named(), reason)});
    fail({Code::storage_failed, fmt::format("cannot use {}: {}", named(), reason)});
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

// ---- files ----

namespace {

/// The contents are for the owner only, even if others may enter the directory. SQLite gives its journals the mode of
/// the file. A file system without modes has to be protected by other means.
void keep_private(const std::string& path) {
    std::error_code ignored;
    for (const char* beside : {"", "-wal", "-shm", "-journal"})
        std::filesystem::permissions(path + beside,
                                     std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, ignored);
}

/// Creates an empty file for SQLite with mode 0600, so that it is never readable by others.
Result<void> make_private(const std::string& path) {
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return Error{Code::storage_failed, fmt::format("cannot create {}: {}", path, std::strerror(errno))};
    ::close(file);
    return {};
}

/// Creates the file under another name first: a crash leaves no partial file, so an empty file is never ours.
Result<void> create(const SqliteFile& kind, const std::string& path) {
    const std::string fresh = path + ".new";
    std::error_code failed;
    std::filesystem::remove(fresh, failed);
    std::filesystem::remove(fresh + "-journal", failed);
    if (auto made = make_private(fresh); !made) return made;
    {
        Sqlite database(fresh, kind.called);
        database.run("PRAGMA synchronous = EXTRA");
        database.run(kind.schema);
        if (database.failure()) return *database.failure();
    }
    if (std::rename(fresh.c_str(), path.c_str()) != 0)
        return Error{Code::storage_failed, fmt::format("cannot create {}: {}", path, std::strerror(errno))};
    return sync_directory(std::filesystem::path(path).parent_path().string());
}

std::int64_t pragma(Sqlite& database, std::string_view sql) {
    Statement statement(database, sql);
    return statement.step() ? statement.number(0) : -1;
}

Error other_version(const SqliteFile& kind, const Sqlite& database, std::int64_t version) {
    const bool newer = version > kind.version;
    return {
        newer ? Code::state_too_new : Code::state_too_old,
        fmt::format("{} was written by {} holdfast (schema {}, this one knows {}); start that version{}",
                    database.named(), newer ? "a newer" : "an earlier, unreleased", version, kind.version,
                    newer ? "" : ", or move the whole directory away once every lease it granted has certainly ended")};
}

Result<void> check(const SqliteFile& kind, Sqlite& database) {
    const std::int64_t id = pragma(database, "PRAGMA application_id");
    const std::int64_t version = pragma(database, "PRAGMA user_version");
    if (!database.failure() && (id != kind.application_id || version < 1))
        database.fail(
            {Code::state_corrupt, fmt::format("the file {} is not {} of holdfast", database.path(), kind.called)});
    if (!database.failure() && version != kind.version) return other_version(kind, database, version);
    Statement whole(database, "PRAGMA quick_check(1)");
    if (whole.step() && whole.bytes(0) != "ok")
        database.fail({Code::state_corrupt, fmt::format("{} is damaged ({})", database.named(), whole.bytes(0))});
    return database.failure() ? Result<void>(*database.failure()) : Result<void>();
}

}  // namespace

Error with_advice(const SqliteFile& kind, Error error) {
    if (error.code == Code::state_corrupt) error.message += kind.what_to_do;
    return error;
}

Result<std::unique_ptr<Sqlite>> open_file(const SqliteFile& kind, const std::string& path) {
    std::error_code failed;
    if (!std::filesystem::exists(path, failed)) {
        if (std::filesystem::exists(path + "-wal", failed))
            return with_advice(
                kind, {Code::state_corrupt, fmt::format("{} {} is gone but its journal is there", kind.called, path)});
        if (auto created = create(kind, path); !created) return created.error();
    }
    keep_private(path);
    auto database = std::make_unique<Sqlite>(path, kind.called);
    database->run("PRAGMA locking_mode = EXCLUSIVE");
    if (auto checked = check(kind, *database); !checked) return with_advice(kind, checked.error());
    // One sync per commit.
    database->run("PRAGMA journal_mode = WAL");
    database->run("PRAGMA synchronous = FULL");
    if (database->failure()) return *database->failure();
    return database;
}

}  // namespace holdfast::statefile
