#include "store/state/state_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "lease/policy.h"
#include "store/state/state_dir.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t application_id = 0x486f6c64;  // "Hold"

// The first version of the schema. A new file says that its last stop was clean: nobody holds anything yet, so a first
// start waits for nothing (S1).
constexpr const char* schema = R"sql(
    PRAGMA application_id = 0x486f6c64;
    PRAGMA user_version = 1;
    BEGIN;
    CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE policy (setting TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE bans (holder TEXT PRIMARY KEY, reason TEXT NOT NULL, since_wall_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE records (resource TEXT NOT NULL, record BLOB NOT NULL);
    INSERT INTO meta VALUES ('starts', 0), ('clean', 1), ('token_ceiling', 0), ('longest_ttl_ns', 0),
                            ('stopped_clock', ''), ('stopped_at_ns', 0), ('recovering_ns', 0);
    COMMIT;
)sql";

// What each later version added. A new file takes the same steps as an old one.
constexpr std::array upgrades{
    "CREATE TABLE agents (id TEXT PRIMARY KEY, priority INTEGER NOT NULL, epoch INTEGER NOT NULL, "
    "restarting INTEGER NOT NULL) WITHOUT ROWID; PRAGMA user_version = 2",
};
constexpr std::int64_t schema_version = 1 + static_cast<std::int64_t>(upgrades.size());

const char* const what_to_do =
    "; nothing was changed. Restore the file, or move the whole directory away and start afresh once every lease this "
    "server granted has certainly ended (see docs/operations.md)";

/// Under another name first: a crash in the middle leaves no half-made state file, so one that is empty is never ours.
Result<void> create(const std::string& path) {
    const std::string fresh = path + ".new";
    std::error_code failed;
    fs::remove(fresh, failed);
    fs::remove(fresh + "-journal", failed);
    {
        Sqlite database(fresh);
        database.run("PRAGMA synchronous = EXTRA");
        database.run(schema);
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

Result<void> check(Sqlite& database) {
    const std::int64_t id = pragma(database, "PRAGMA application_id");
    const std::int64_t version = pragma(database, "PRAGMA user_version");
    if (!database.failure() && (id != application_id || version < 1))
        database.fail({"state_corrupt", "the file " + database.path() + " is not a state file of holdfast"});
    if (!database.failure() && version > schema_version)
        return Error{"state_too_new", "the state file " + database.path() +
                                          " was written by a newer holdfast (schema " + std::to_string(version) +
                                          ", this one knows " + std::to_string(schema_version) +
                                          "); start that version"};
    Statement whole(database, "PRAGMA quick_check(1)");
    if (whole.step() && whole.bytes(0) != "ok")
        database.fail({"state_corrupt",
                       "the state file " + database.path() + " is damaged (" + std::string(whole.bytes(0)) + ")"});
    if (!database.failure()) return {};
    Error error = *database.failure();
    if (error.code == "state_corrupt") error.message += what_to_do;
    return error;
}

Result<void> upgrade(Sqlite& database) {
    const std::int64_t version = pragma(database, "PRAGMA user_version");
    if (database.failure()) return *database.failure();
    if (version == schema_version) return {};
    Transaction transaction(database);
    for (auto done = static_cast<std::size_t>(version - 1); done < upgrades.size(); ++done)
        database.run(upgrades[done]);
    return transaction.commit();
}

}  // namespace

Result<std::unique_ptr<Sqlite>> open_state_file(const std::string& path) {
    std::error_code failed;
    if (!fs::exists(path, failed)) {
        if (fs::exists(path + "-wal", failed))
            return Error{"state_corrupt", "the state file " + path + " is gone but its log is there" + what_to_do};
        if (auto created = create(path); !created) return created.error();
    }
    auto database = std::make_unique<Sqlite>(path);
    database->run("PRAGMA locking_mode = EXCLUSIVE");
    if (auto checked = check(*database); !checked) return checked.error();
    // One sync per commit, and what was committed stays so after a power cut.
    database->run("PRAGMA journal_mode = WAL");
    database->run("PRAGMA synchronous = FULL");
    if (database->failure()) return *database->failure();
    if (auto upgraded = upgrade(*database); !upgraded) return upgraded.error();
    return database;
}

}  // namespace holdfast
