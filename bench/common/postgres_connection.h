#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct pg_conn;

namespace holdfast::bench {

/// A connection to a PostgreSQL on loopback, with one transaction under way at a time. Throws what goes wrong with it.
class PostgresConnection {
 public:
    explicit PostgresConnection(std::uint16_t port);
    ~PostgresConnection();
    PostgresConnection(const PostgresConnection&) = delete;
    PostgresConnection& operator=(const PostgresConnection&) = delete;

    /// Waits for it: for what is to be there before anything is measured. Not after the first add().
    void run(const char* sql);

    struct Rows {
        std::uint32_t count = 0;          ///< that were changed, or found
        std::vector<std::string> values;  ///< the first column of those that it returns
    };
    /// Runs one prepared statement and waits for it, but not beyond `until`. Not after the first add().
    Rows ask(const char* statement, const std::vector<const char*>& values,
             std::chrono::steady_clock::time_point until);

    /// Adds a prepared statement to the transaction.
    void add(const char* statement, const std::vector<const char*>& values);
    /// Sends what was added, at once, and has it committed.
    void commit();

    struct Answer {
        std::uint32_t rows = 0;  ///< that all of it changed
        std::string error;       ///< empty: none
    };
    /// Takes what has come by now; nothing as long as that is not all.
    std::optional<Answer> receive();

    int fd() const;

 private:
    [[noreturn]] void fail(const char* what) const;
    void wait(std::chrono::steady_clock::time_point until);

    pg_conn* handle_;
    Answer answer_;
};

}  // namespace holdfast::bench
