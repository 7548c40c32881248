#include "statefile/state_db.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "codec/record/record_codec.h"
#include "lease/limits.h"

namespace holdfast::statefile {
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

/// Limit of remembered incarnations of this directory. A member that was away for more starts takes this one for a
/// copy.
constexpr std::int64_t max_lives = 65'536;

/// The saved tables, with their number of columns and the order in which rows are read.
struct SavedTable {
    const char* name;
    int columns;
    const char* order;
};
constexpr std::array saved_tables{
    SavedTable{"meta", 2, "name"},
    SavedTable{"lives", 2, "boot"},
    SavedTable{"peer_lives", 3, "member"},
    SavedTable{"records", 8, "rowid"},
};

Error corrupt(const Sqlite& database, const std::string& what) {
    return {Code::state_corrupt,
            fmt::format("the state file {} is damaged ({}); nothing was changed", database.path(), what)};
}

/// Converts instants of another clock to instants of ours that are as far from now as they were from the stop. The
/// remaining time of a lease is kept undiminished, since the time that the machine was off is unknown.
void shift(lease::Lease& lease, Duration by) {
    lease.acquired_at += by;
    lease.expires_at += by;
    lease.held_since += by;
    if (lease.progress) lease.progress->since += by;
}

void shift(lease::Record& record, Duration by) {
    for (lease::Lease& lease : record.leases)
        shift(lease, by);
    for (lease::Reservation& kept : record.reserved) {
        shift(kept.lease, by);
        kept.until += by;
    }
    for (lease::EndedLease& ended : record.ended)
        ended.at += by;
    for (lease::Waiter& waiter : record.waiters)
        waiter.until += by;
    for (lease::PastHolding& past : record.past)
        past.until += by;
}

std::string described(const StateOwner& owner) {
    if (owner.alone()) return "a server that is alone";
    return fmt::format("node {} of the cluster of {}", owner.node, owner.members);
}

/// State of one owner is invalid for another: promises would be forgotten, and leases unknown.
Error other_owner(const std::string& path, const StateOwner& was, const StateOwner& is) {
    return {Code::other_owner,
            fmt::format("the state file {} is that of {}, and this is {}; give it a --state-dir of its own{}. "
                        "Nothing was changed (see docs/cluster.md)",
                        path, described(was), described(is),
                        was.alone() ? "" : ", or start it with the --node and --peers it had")};
}

store::quorum::Ballot ballot_in(const Statement& row, int column) {
    return {static_cast<std::uint64_t>(row.number(column)),
            static_cast<store::quorum::BootNumber>(row.number(column + 1)),
            static_cast<store::quorum::NodeIndex>(row.number(column + 2))};
}

void bind_ballot(Statement& row, int parameter, const store::quorum::Ballot& ballot) {
    row.bind(parameter, static_cast<std::int64_t>(ballot.counter));
    row.bind(parameter + 1, ballot.boot);
    row.bind(parameter + 2, ballot.node);
}

}  // namespace

Result<std::unique_ptr<Sqlite>> open_state_file(const std::string& path) {
    return open_file(state_file, path);
}

StateDb::StateDb(std::unique_ptr<Sqlite> database, ClockReading clock, StateOwner owner)
    : database_(std::move(database)), clock_(std::move(clock)), owner_(std::move(owner)) {}

Result<std::unique_ptr<StateDb>> StateDb::open(const std::string& path, ClockReading clock, StateOwner owner) {
    auto database = open_state_file(path);
    if (!database) return database.error();
    std::unique_ptr<StateDb> state(new StateDb(std::move(*database), std::move(clock), std::move(owner)));
    state->check_owner();
    state->read_found();
    state->read_founders();
    state->read_lives();
    state->read_ttl_max();
    if (state->found_.damaged) state->distrust();
    if (state->database_->failure()) return *state->database_->failure();
    return state;
}

void StateDb::check_owner() {
    if (meta("starts") == 0) return;  // no owner yet
    const StateOwner was{meta_text("node"), meta_text("members"), {}};
    if (database_->failure() || (was.node == owner_.node && was.members == owner_.members)) return;
    database_->fail(other_owner(database_->path(), was, owner_));
}

void StateDb::read_found() {
    const std::int64_t ceiling = meta("token_ceiling");
    if (ceiling < 0 || static_cast<lease::Token>(ceiling) >= lease::token_limit)
        database_->fail(corrupt(*database_, "token_ceiling"));
    found_.token_ceiling = static_cast<lease::Token>(ceiling);
    found_.boot = static_cast<store::quorum::BootNumber>(meta("starts") + 1);
    if (meta("starts") == 0) return;
    const std::int64_t saved_as = meta("clean") == 1 ? meta("checksum") : 0;
    found_.damaged = saved_as != 0 && saved_as != checksum() && !database_->failure();
    if (meta("clean") != 1 || found_.damaged) {
        found_.last_stop = LastStop::unclean;
        found_.recovering_until = clock_.now + Duration{meta("longest_ttl_ns")};
        return;
    }
    found_.last_stop = LastStop::clean;
    const Instant stopped_at{Duration{meta("stopped_at_ns")}};
    // A clock that went back is not the same clock, even if it has the same name.
    const bool same_clock = meta_text("stopped_clock") == clock_.clock && stopped_at <= clock_.now;
    if (!same_clock) shift_ = clock_.now - stopped_at;
    found_.recovering_until = stopped_at + Duration{meta("recovering_ns")} + shift_;
    read_marks();
}

/// S1: any saved value may be altered, so none is taken up. No single number is trusted to be as high as it was:
/// several of them are nearly the same, and one flipped bit does not change two.
void StateDb::distrust() {
    const Duration longest = std::max({Duration{meta("longest_ttl_ns")}, found_.ttl_max, owner_.longest_ttl});
    found_.recovering_until = clock_.now + std::min(longest, lease::limits::ttl_ceiling);
    const std::int64_t highest = std::max(meta("highest_token"), meta("highest_counter"));
    if (highest > 0 && static_cast<lease::Token>(highest) < lease::token_limit)
        found_.token_ceiling = std::max(found_.token_ceiling, static_cast<lease::Token>(highest));
}

/// The checksum over every value and its position. Never zero.
std::int64_t StateDb::checksum() {
    std::uint64_t sum = 1;
    const auto add = [&](std::string_view bytes) { sum = hash_text({sum, bytes.size()}, bytes); };
    for (const auto& [table, columns, order] : saved_tables) {
        add(table);
        const std::string where = std::string_view(table) == "meta" ? " WHERE name <> 'checksum'" : "";
        Statement rows(*database_, fmt::format("SELECT * FROM {}{} ORDER BY {}", table, where, order));
        while (rows.step())
            for (int column = 0; column < columns; ++column)
                add(rows.bytes(column));
    }
    return static_cast<std::int64_t>(sum >> 1U | 1U);
}

void StateDb::read_marks() {
    found_.marks.highest_token = static_cast<lease::Token>(meta("highest_token"));
    found_.marks.highest_counter = static_cast<std::uint64_t>(meta("highest_counter"));
    found_.marks.forgotten = {static_cast<std::uint64_t>(meta("forgotten_counter")),
                              static_cast<store::quorum::BootNumber>(meta("forgotten_boot")),
                              static_cast<store::quorum::NodeIndex>(meta("forgotten_node"))};
}

void StateDb::read_founders() {
    found_.directory = static_cast<std::uint64_t>(meta("directory"));
    const std::string list = meta_text("founders");
    for (std::size_t begin = 0; begin < list.size();) {
        const std::size_t comma = std::min(list.find(',', begin), list.size());
        const auto number = parse_number(std::string_view(list).substr(begin, comma - begin));
        if (!number) return database_->fail(corrupt(*database_, "founders"));
        found_.founders.push_back(*number);
        begin = comma + 1;
    }
}

void StateDb::read_lives() {
    Statement lives(*database_, "SELECT boot, incarnation FROM lives ORDER BY boot");
    while (lives.step())
        found_.lives.push_back(
            {static_cast<store::quorum::BootNumber>(lives.number(0)), static_cast<std::uint64_t>(lives.number(1))});
    found_.lives.push_back({found_.boot, random_seed() | 1U});
    Statement peers(*database_, "SELECT member, boot, incarnation FROM peer_lives ORDER BY member");
    while (peers.step()) {
        const auto member = static_cast<std::size_t>(peers.number(0));
        if (member != found_.peer_lives.size()) return database_->fail(corrupt(*database_, "peer_lives"));
        found_.peer_lives.push_back(
            {static_cast<store::quorum::BootNumber>(peers.number(1)), static_cast<std::uint64_t>(peers.number(2))});
    }
}

void StateDb::read_ttl_max() {
    const Duration saved{meta("ttl_max_ns")};
    if (saved == Duration::zero()) return;  // never changed
    if (saved < Duration::zero() || saved > lease::limits::ttl_ceiling)
        return database_->fail(corrupt(*database_, "ttl_max_ns"));
    found_.ttl_max = saved;
}

Result<Duration> StateDb::begin(const TakeUp& take_up) {
    Transaction transaction(*database_);
    Duration longest = owner_.alone() ? found_.ttl_max : owner_.longest_ttl;
    if (found_.last_stop == LastStop::unclean) {
        longest = std::max(longest, found_.recovering_until - clock_.now);
    } else {
        // After a clean stop every active lease is in the records, or is covered by a recovery that is not over.
        longest = std::max({longest, take_up_records(take_up), found_.recovering_until - clock_.now});
    }
    database_->run("DELETE FROM records");
    set_meta("longest_ttl_ns", longest.count());
    set_meta("clean", 0);
    set_meta("starts", found_.boot);
    const store::quorum::LifeMark& life = found_.lives.back();
    Statement add(*database_, "INSERT OR REPLACE INTO lives VALUES (?1, ?2)");
    add.bind(1, life.boot).bind(2, static_cast<std::int64_t>(life.incarnation)).execute();
    Statement drop(*database_, "DELETE FROM lives WHERE boot <= ?1");
    drop.bind(1, std::int64_t{life.boot} - max_lives).execute();
    set_meta_text("node", owner_.node);
    set_meta_text("members", owner_.members);
    if (auto committed = transaction.commit(); !committed) return committed.error();
    return longest;
}

Duration StateDb::take_up_records(const TakeUp& take_up) {
    Duration longest{};
    Statement rows(*database_,
                   "SELECT resource, record, promised_counter, promised_boot, promised_node, accepted_counter, "
                   "accepted_boot, accepted_node FROM records");
    while (rows.step()) {
        auto record = codec::record::decode_record(rows.bytes(1));
        if (!record) {
            database_->fail(corrupt(*database_, fmt::format("the record of '{}'", rows.bytes(0))));
            break;
        }
        shift(*record, shift_);
        if (owner_.alone()) record->waiters.clear();  // their connections ended with the process
        lease::settle(*record, clock_.now);           // what ended while it was down expired on its own time (T2)
        // Reservations need no wait: a reserved resource is not used (R5).
        for (const lease::Lease& lease : record->leases)
            longest = std::max({longest, lease.ttl, owner_.alone() ? lease.expires_at - clock_.now : Duration::zero()});
        // An empty register still has its ballots to remember (Q5).
        if (!record->empty() || !owner_.alone())
            take_up(rows.bytes(0), *record, {ballot_in(rows, 2), ballot_in(rows, 5)});
    }
    return longest;
}

Result<void> StateDb::reserve_tokens(lease::Token ceiling) {
    Transaction transaction(*database_);
    Statement raise(*database_, "UPDATE meta SET value = ?1 WHERE name = 'token_ceiling' AND value < ?1");
    raise.bind(1, static_cast<std::int64_t>(ceiling)).execute();
    return transaction.commit();
}

Result<void> StateDb::save_ttl_max(Duration ttl_max) {
    Transaction transaction(*database_);
    set_meta("ttl_max_ns", ttl_max.count());
    Statement raise(*database_, "UPDATE meta SET value = ?1 WHERE name = 'longest_ttl_ns' AND value < ?1");
    raise.bind(1, ttl_max.count()).execute();
    return transaction.commit();
}

Result<void> StateDb::lower_longest_ttl(Duration ttl) {
    Transaction transaction(*database_);
    set_meta("longest_ttl_ns", ttl.count());
    return transaction.commit();
}

Result<void> StateDb::save_founders(const std::vector<std::uint64_t>& directories) {
    std::string list;
    for (std::uint64_t directory : directories)
        list += (list.empty() ? "" : ",") + std::to_string(directory);
    Transaction transaction(*database_);
    set_meta_text("founders", list);
    return transaction.commit();
}

Result<void> StateDb::save_peer_lives(const std::vector<store::quorum::LifeMark>& lives) {
    Transaction transaction(*database_);
    Statement save(*database_, "INSERT OR REPLACE INTO peer_lives VALUES (?1, ?2, ?3)");
    for (std::size_t member = 0; member < lives.size(); ++member)
        save.bind(1, static_cast<std::int64_t>(member))
            .bind(2, lives[member].boot)
            .bind(3, static_cast<std::int64_t>(lives[member].incarnation))
            .execute();
    return transaction.commit();
}

Result<void> StateDb::stop_cleanly(const ClockReading& clock, Instant recovering_until, const Records& records,
                                   const AcceptorMarks& marks) {
    Transaction transaction(*database_);
    Statement save(*database_, "INSERT INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    records([&](std::string_view resource, const lease::Record& record, const store::quorum::RegisterBallots& ballots) {
        save.bind_text(1, resource).bind_blob(2, codec::record::encode_record(record));
        bind_ballot(save, 3, ballots.promised);
        bind_ballot(save, 6, ballots.accepted);
        save.execute();
    });
    set_meta("highest_token", static_cast<std::int64_t>(marks.highest_token));
    set_meta("highest_counter", static_cast<std::int64_t>(marks.highest_counter));
    set_meta("forgotten_counter", static_cast<std::int64_t>(marks.forgotten.counter));
    set_meta("forgotten_boot", marks.forgotten.boot);
    set_meta("forgotten_node", marks.forgotten.node);
    set_meta_text("stopped_clock", clock.clock);
    set_meta("stopped_at_ns", clock.now.time_since_epoch().count());
    set_meta("recovering_ns", std::max(recovering_until - clock.now, Duration::zero()).count());
    set_meta("clean", 1);
    set_meta("checksum", checksum());
    return transaction.commit();
}

std::int64_t StateDb::meta(std::string_view name) {
    Statement read(*database_, "SELECT value FROM meta WHERE name = ?1");
    if (read.bind_text(1, name).step()) return read.number(0);
    if (!database_->failure()) database_->fail(corrupt(*database_, std::string(name) + " is missing"));
    return 0;
}

std::string StateDb::meta_text(std::string_view name) {
    Statement read(*database_, "SELECT value FROM meta WHERE name = ?1");
    if (read.bind_text(1, name).step()) return std::string(read.bytes(0));
    if (!database_->failure()) database_->fail(corrupt(*database_, std::string(name) + " is missing"));
    return {};
}

void StateDb::set_meta_text(std::string_view name, std::string_view value) {
    Statement write(*database_, "UPDATE meta SET value = ?2 WHERE name = ?1");
    write.bind_text(1, name).bind_text(2, value).execute();
}

void StateDb::set_meta(std::string_view name, std::int64_t value) {
    Statement write(*database_, "UPDATE meta SET value = ?2 WHERE name = ?1");
    write.bind_text(1, name).bind(2, value).execute();
}

}  // namespace holdfast::statefile
