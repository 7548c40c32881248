#include "statefile/state_file.h"

#include "statefile/sqlite_file.h"

namespace holdfast {
namespace {

constexpr std::int64_t application_id = 0x486f6c64;  // "Hold"

// A new file records a clean last stop: no lease is held yet, so a first start need not wait (S1). A node's file also
// has its own starts, and the latest of every other member that it has met (Q12).
constexpr const char* schema = R"sql(
    PRAGMA application_id = 0x486f6c64;
    PRAGMA user_version = 7;
    BEGIN;
    CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE records (resource TEXT NOT NULL, record BLOB NOT NULL,
                          promised_counter INTEGER NOT NULL, promised_boot INTEGER NOT NULL, promised_node INTEGER NOT NULL,
                          accepted_counter INTEGER NOT NULL, accepted_boot INTEGER NOT NULL, accepted_node INTEGER NOT NULL);
    CREATE TABLE lives (boot INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL);
    CREATE TABLE peer_lives (member INTEGER PRIMARY KEY, boot INTEGER NOT NULL, incarnation INTEGER NOT NULL);
    INSERT INTO meta VALUES ('starts', 0), ('clean', 1), ('token_ceiling', 0), ('ttl_max_ns', 0), ('longest_ttl_ns', 0),
                            ('stopped_clock', ''), ('stopped_at_ns', 0), ('recovering_ns', 0), ('checksum', 0),
                            ('node', ''), ('members', ''), ('directory', random() & 0x7fffffffffffffff | 1), ('founders', ''),
                            ('highest_token', 0), ('highest_counter', 0),
                            ('forgotten_counter', 0), ('forgotten_boot', 0), ('forgotten_node', 0);
    COMMIT;
)sql";

const char* const what_to_do =
    "; nothing was changed. Restore the file, or move the whole directory away and start afresh once every lease this "
    "server granted has certainly ended (see docs/operations.md)";

const SqliteFile state_file{"the state file", application_id, 7, schema, what_to_do};

}  // namespace

Result<std::unique_ptr<Sqlite>> open_state_file(const std::string& path) {
    return open_file(state_file, path);
}

}  // namespace holdfast
