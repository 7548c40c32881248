#include "statefile/state_file.h"

#include <array>

#include "statefile/sqlite_file.h"

namespace holdfast {
namespace {

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
    // Of a node of a cluster: whose state it is, and what its acceptor must remember besides records. The state of
    // every earlier version is that of a server alone.
    "ALTER TABLE records ADD COLUMN promised_counter INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE records ADD COLUMN promised_boot INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE records ADD COLUMN promised_node INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE records ADD COLUMN accepted_counter INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE records ADD COLUMN accepted_boot INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE records ADD COLUMN accepted_node INTEGER NOT NULL DEFAULT 0;"
    "INSERT INTO meta VALUES ('node', ''), ('members', ''), ('highest_token', 0), ('highest_counter', 0),"
    "                        ('forgotten_counter', 0), ('forgotten_boot', 0), ('forgotten_node', 0),"
    "                        ('directory', random() & 0x7fffffffffffffff | 1), ('founders', '');"
    "PRAGMA user_version = 3",
    "CREATE TABLE approved (identity TEXT PRIMARY KEY) WITHOUT ROWID; PRAGMA user_version = 4",
    "CREATE TABLE name_rules (name TEXT NOT NULL, identity TEXT NOT NULL, reserved INTEGER NOT NULL, "
    "reason TEXT NOT NULL, since_wall_ms INTEGER NOT NULL, PRIMARY KEY (name, identity)) WITHOUT ROWID; "
    "PRAGMA user_version = 5",
    // Of a node: its own starts, and the latest of every other member that it has met (Q12). And the checksum of what a
    // clean stop saved; zero is that of a version that had none.
    "CREATE TABLE lives (boot INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL);"
    "CREATE TABLE peer_lives (member INTEGER PRIMARY KEY, boot INTEGER NOT NULL, incarnation INTEGER NOT NULL);"
    "INSERT INTO meta VALUES ('checksum', 0); PRAGMA user_version = 6",
};
const char* const what_to_do =
    "; nothing was changed. Restore the file, or move the whole directory away and start afresh once every lease this "
    "server granted has certainly ended (see docs/operations.md)";

const SqliteFile state_file{"the state file", application_id, schema, upgrades, what_to_do};

}  // namespace

Result<std::unique_ptr<Sqlite>> open_state_file(const std::string& path) {
    return open_file(state_file, path);
}

}  // namespace holdfast
