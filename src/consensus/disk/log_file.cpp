#include "consensus/disk/log_file.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/hash.h"

namespace holdfast::consensus::disk {
namespace {

constexpr std::int64_t application_id = 0x486f6c4c;  // "HolL"

constexpr const char* schema = R"sql(
    PRAGMA application_id = 0x486f6c4c;
    PRAGMA user_version = 2;
    BEGIN;
    CREATE TABLE marks (one INTEGER PRIMARY KEY CHECK (one = 1), promised_term INTEGER NOT NULL,
                        promised_node INTEGER NOT NULL, committed INTEGER NOT NULL,
                        checksum INTEGER NOT NULL);
    CREATE TABLE decrees (place INTEGER PRIMARY KEY, term INTEGER NOT NULL, node INTEGER NOT NULL, value BLOB NOT NULL,
                          checksum INTEGER NOT NULL);
    CREATE TABLE snapshot (one INTEGER PRIMARY KEY CHECK (one = 1), place INTEGER NOT NULL, state BLOB NOT NULL,
                           checksum INTEGER NOT NULL);
    INSERT INTO marks VALUES (1, 0, 0, 0, 0);
    COMMIT;
)sql";

const statefile::SqliteFile log_file{
    "the log", application_id, 2, schema,
    "; nothing was changed. A member that forgets what it promised can undo what was acknowledged: do not put an older "
    "copy in its place, but see docs/cluster.md for a directory that is lost (docs/operations.md for a server alone)"};

bool is_ballot(std::int64_t term, std::int64_t node) {
    return term >= 0 && static_cast<lease::Token>(term) < lease::token_limit && node >= 0 && node <= 255;
}

/// The checksum of a row: disks and memory flip bits, and a flipped bit must not become another ban or another promise.
/// Never zero, the value in a new file.
std::int64_t checksum_of(const std::array<std::int64_t, 3>& numbers, std::string_view bytes = {}) {
    std::uint64_t sum = 1;
    for (const std::int64_t number : numbers)
        sum = hash_text({sum, static_cast<std::uint64_t>(number)}, {});
    sum = hash_text({sum, bytes.size()}, bytes);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(sum >> 1));
}

bool is_altered(std::int64_t checksum, std::int64_t is) {
    return checksum != 0 && checksum != is;
}

LogBallot ballot_of(std::int64_t term, std::int64_t node) {
    return {static_cast<lease::Token>(term), static_cast<store::quorum::NodeIndex>(node)};
}

}  // namespace

Result<std::unique_ptr<LogFile>> LogFile::open(const std::string& path) {
    auto database = statefile::open_file(log_file, path);
    if (!database) return database.error();
    std::unique_ptr<LogFile> file(new LogFile(std::move(*database)));
    file->read_found();
    file->read_decrees();
    if (file->database_->failure()) return statefile::with_advice(log_file, *file->database_->failure());
    return file;
}

void LogFile::read_found() {
    statefile::Statement marks(*database_, "SELECT promised_term, promised_node, committed, checksum FROM marks");
    if (!marks.step()) return corrupt("its marks are missing");
    if (!is_ballot(marks.number(0), marks.number(1)) || marks.number(2) < 0 ||
        is_altered(marks.number(3), checksum_of({marks.number(0), marks.number(1), marks.number(2)})))
        return corrupt("its marks");
    found_.promised = ballot_of(marks.number(0), marks.number(1));
    found_.committed = static_cast<LogIndex>(marks.number(2));
    statefile::Statement snapshot(*database_, "SELECT place, state, checksum FROM snapshot");
    if (!snapshot.step()) return;
    if (snapshot.number(0) < 1 ||
        is_altered(snapshot.number(2), checksum_of({snapshot.number(0), 0, 0}, snapshot.bytes(1))))
        return corrupt("its snapshot");
    found_.snapshot = {static_cast<LogIndex>(snapshot.number(0)), std::string(snapshot.bytes(1))};
    found_.committed = std::max(found_.committed, found_.snapshot->index);
}

void LogFile::read_decrees() {
    LogIndex last = found_.snapshot ? found_.snapshot->index : 0;
    statefile::Statement decrees(*database_, "SELECT place, term, node, value, checksum FROM decrees ORDER BY place");
    while (decrees.step()) {
        const auto place = static_cast<LogIndex>(decrees.number(0));
        if (place != last + 1) return corrupt(fmt::format("entry {} is missing", last + 1));
        const std::int64_t is =
            checksum_of({decrees.number(0), decrees.number(1), decrees.number(2)}, decrees.bytes(3));
        if (!is_ballot(decrees.number(1), decrees.number(2)) || is_altered(decrees.number(4), is))
            return corrupt(fmt::format("entry {}", place));
        found_.decrees.push_back(
            {place, ballot_of(decrees.number(1), decrees.number(2)), std::string(decrees.bytes(3))});
        last = place;
    }
    if (!database_->failure() && found_.committed > last) corrupt(fmt::format("entry {} is missing", last + 1));
}

void LogFile::corrupt(const std::string& what) {
    database_->fail({Code::state_corrupt, fmt::format("{} is damaged ({})", database_->named(), what)});
}

Result<void> LogFile::write(const std::vector<LogWrite>& writes) {
    statefile::Transaction transaction(*database_);
    for (const LogWrite& write : writes)
        write_one(write);
    return transaction.commit();
}

void LogFile::seal_marks() {
    std::int64_t checksum = 0;
    {
        statefile::Statement marks(*database_, "SELECT promised_term, promised_node, committed FROM marks");
        if (!marks.step()) return;
        checksum = checksum_of({marks.number(0), marks.number(1), marks.number(2)});
    }
    statefile::Statement seal(*database_, "UPDATE marks SET checksum = ?1");
    seal.bind(1, checksum).execute();
}

void LogFile::write_one(const LogWrite& write) {
    if (write.promised) {
        statefile::Statement promise(*database_, "UPDATE marks SET promised_term = ?1, promised_node = ?2");
        promise.bind(1, static_cast<std::int64_t>(write.promised->term)).bind(2, write.promised->node).execute();
    }
    statefile::Statement accept(*database_, "INSERT OR REPLACE INTO decrees VALUES (?1, ?2, ?3, ?4, ?5)");
    for (const LogDecree& decree : write.decrees)
        accept.bind(1, static_cast<std::int64_t>(decree.index))
            .bind(2, static_cast<std::int64_t>(decree.ballot.term))
            .bind(3, decree.ballot.node)
            .bind_blob(4, decree.value)
            .bind(5, checksum_of({static_cast<std::int64_t>(decree.index),
                                  static_cast<std::int64_t>(decree.ballot.term), decree.ballot.node},
                                 decree.value))
            .execute();
    if (write.committed) {
        statefile::Statement commit(*database_, "UPDATE marks SET committed = ?1");
        commit.bind(1, static_cast<std::int64_t>(*write.committed)).execute();
    }
    if (write.promised || write.committed) seal_marks();
    if (!write.snapshot) return;
    statefile::Statement snapshot(*database_, "INSERT OR REPLACE INTO snapshot VALUES (1, ?1, ?2, ?3)");
    const auto place = static_cast<std::int64_t>(write.snapshot->index);
    snapshot.bind(1, place).bind_blob(2, write.snapshot->state);
    snapshot.bind(3, checksum_of({place, 0, 0}, write.snapshot->state)).execute();
    statefile::Statement truncate(*database_, "DELETE FROM decrees WHERE place <= ?1");
    truncate.bind(1, place).execute();
}

}  // namespace holdfast::consensus::disk
