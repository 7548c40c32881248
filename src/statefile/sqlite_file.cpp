#include "statefile/sqlite_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include "statefile/state_dir.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

/// The contents are for the owner only, even if others may enter the directory. SQLite gives its journals the mode of
/// the file. A file system without modes has to be protected by other means.
void keep_private(const std::string& path) {
    std::error_code ignored;
    for (const char* beside : {"", "-wal", "-shm", "-journal"})
        fs::permissions(path + beside, fs::perms::owner_read | fs::perms::owner_write, ignored);
}

/// Creates an empty file for SQLite with mode 0600, so that it is never readable by others.
Result<void> make_private(const std::string& path) {
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return Error{"storage_failed", "cannot create " + path + ": " + std::strerror(errno)};
    ::close(file);
    return {};
}

/// Creates the file under another name first: a crash leaves no partial file, so an empty file is never ours.
Result<void> create(const SqliteFile& kind, const std::string& path) {
    const std::string fresh = path + ".new";
    std::error_code failed;
    fs::remove(fresh, failed);
    fs::remove(fresh + "-journal", failed);
    if (auto made = make_private(fresh); !made) return made;
    {
        Sqlite database(fresh, kind.called);
        database.run("PRAGMA synchronous = EXTRA");
        database.run(kind.schema);
        if (database.failure()) return *database.failure();
    }
    if (std::rename(fresh.c_str(), path.c_str()) != 0)
        return Error{"storage_failed", "cannot create " + path + ": " + std::strerror(errno)};
    return sync_directory(fs::path(path).parent_path().string());
}

std::int64_t pragma(Sqlite& database, std::string_view sql) {
    Statement statement(database, sql);
    return statement.step() ? statement.number(0) : -1;
}

Error other_version(const SqliteFile& kind, const Sqlite& database, std::int64_t version) {
    const bool newer = version > kind.version;
    return {newer ? "state_too_new" : "state_too_old",
            database.named() + " was written by " + (newer ? "a newer" : "an earlier, unreleased") +
                " holdfast (schema " + std::to_string(version) + ", this one knows " + std::to_string(kind.version) +
                "); start that version" +
                (newer ? "" : ", or move the whole directory away once every lease it granted has certainly ended")};
}

Result<void> check(const SqliteFile& kind, Sqlite& database) {
    const std::int64_t id = pragma(database, "PRAGMA application_id");
    const std::int64_t version = pragma(database, "PRAGMA user_version");
    if (!database.failure() && (id != kind.application_id || version < 1))
        database.fail({"state_corrupt", "the file " + database.path() + " is not " + kind.called + " of holdfast"});
    if (!database.failure() && version != kind.version) return other_version(kind, database, version);
    Statement whole(database, "PRAGMA quick_check(1)");
    if (whole.step() && whole.bytes(0) != "ok")
        database.fail({"state_corrupt", database.named() + " is damaged (" + std::string(whole.bytes(0)) + ")"});
    return database.failure() ? Result<void>(*database.failure()) : Result<void>();
}

}  // namespace

Error with_advice(const SqliteFile& kind, Error error) {
    if (error.code == "state_corrupt") error.message += kind.what_to_do;
    return error;
}

Result<std::unique_ptr<Sqlite>> open_file(const SqliteFile& kind, const std::string& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) {
        if (fs::exists(path + "-wal", failed))
            return with_advice(
                kind, {"state_corrupt", std::string(kind.called) + " " + path + " is gone but its journal is there"});
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

}  // namespace holdfast
