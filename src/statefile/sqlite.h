#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::statefile {

/// One SQLite database, for one thread at a time.
///
/// The first failure sticks: from then on statements do nothing, and the transaction under way cannot be committed. So
/// a list of statements needs one check, at its end. Error codes: `state_corrupt` if the file is damaged or not ours,
/// `storage_failed` for every other disk error.
class Sqlite {
 public:
    /// `called`: the kind of file, for messages.
    explicit Sqlite(std::string path, std::string called = "the state file");
    ~Sqlite();
    Sqlite(const Sqlite&) = delete;
    Sqlite& operator=(const Sqlite&) = delete;

    /// Runs statements that return nothing of interest.
    void run(const char* sql);

    const std::string& path() const { return path_; }
    std::string named() const { return called_ + ' ' + path_; }
    const std::optional<Error>& failure() const { return failure_; }
    /// Sets the failure that sticks, if there was none.
    void fail(Error error);
    /// Returns and clears the failure.
    std::optional<Error> take_failure();

 private:
    friend class Statement;
    void check(int code);

    std::string path_;
    std::string called_;
    sqlite3* handle_ = nullptr;
    std::optional<Error> failure_;
};

/// A prepared statement. Parameters and columns count from 1 and 0, as SQLite has it.
class Statement {
 public:
    Statement(Sqlite& database, std::string_view sql);
    ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    Statement& bind(int parameter, std::int64_t value);
    Statement& bind_text(int parameter, std::string_view value);
    Statement& bind_blob(int parameter, std::string_view value);

    /// True if there is a row. False at the end and after a failure.
    bool step();
    /// Runs it to its end and makes it ready for new parameters.
    void execute();

    std::int64_t number(int column) const;
    /// Text or blob, valid until the next step.
    std::string_view bytes(int column) const;

 private:
    Sqlite& database_;
    sqlite3_stmt* handle_ = nullptr;
};

/// All or nothing. Rolls back unless commit() succeeded.
class Transaction {
 public:
    explicit Transaction(Sqlite& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    /// Durable once it returns success. A failure of any statement before is returned here.
    Result<void> commit();

 private:
    Sqlite& database_;
    bool open_ = true;
};

/// A kind of SQLite file.
struct SqliteFile {
    const char* called;           ///< in messages: "the state file"
    std::int64_t application_id;  ///< set by the schema
    std::int64_t version;         ///< set by the schema
    const char* schema;
    const char* what_to_do;  ///< advice if the file is damaged
};

/// Opens the file, or creates it if there is none. A file that is damaged, empty, not ours or of another version is
/// refused (`state_corrupt`, `state_too_new`, `state_too_old`) and left as it is. Committed data survives a power cut.
///
/// REQUIRES: the directory is locked (StateDir), so that no other process has the file.
Result<std::unique_ptr<Sqlite>> open_file(const SqliteFile& kind, const std::string& path);

/// The same error, with advice if the file is damaged.
Error with_advice(const SqliteFile& kind, Error error);

}  // namespace holdfast::statefile
