#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast {

/// A real PostgreSQL on a free port of loopback, with its data in a folder of its own in the temporary directory.
/// Anyone on this machine may connect as anybody, except as `needs_password`. It never runs as root: if this process
/// does, the server is `nobody`'s. Killed at the end, also if the thread that started it goes away. Throws
/// std::runtime_error if it does not start.
class PostgresProcess {
 public:
    struct Options {
        bool fsync = false;                        ///< off: faster
        bool own_clock = false;                    ///< its clock can be set (libfaketime)
        bool tls = false;                          ///< it has a certificate that it signed itself
        const PostgresProcess* primary = nullptr;  ///< whose standby it is
        std::vector<std::string> settings{};       ///< `name=value`, as in postgresql.conf
    };
    PostgresProcess() : PostgresProcess(Options{}) {}
    explicit PostgresProcess(Options options);
    ~PostgresProcess();
    PostgresProcess(const PostgresProcess&) = delete;
    PostgresProcess& operator=(const PostgresProcess&) = delete;

    std::uint16_t port() const { return port_; }
    /// Of its superuser; a query begins with `?`.
    std::string url(const std::string& query = {}) const;

    /// On the same port, with what it had on disk. Returns when it takes connections.
    void start();
    /// All its processes, at once, without a word.
    void kill();
    /// As `pg_ctl stop -m fast`; returns when it is gone.
    void stop();
    void freeze();
    void thaw();
    /// How far its clock is ahead of the system's. REQUIRES: own_clock.
    void set_clock_ahead(double seconds);

 private:
    void make_data();
    void make(const std::vector<std::string>& words);
    pid_t run(const std::vector<std::string>& words, const std::string& log) const;
    std::vector<pid_t> processes() const;

    Options options_;
    std::uint16_t port_ = 0;
    std::string folder_;
    pid_t pid_ = -1;
};

/// Statements by a session of one's own.
class PostgresSession {
 public:
    explicit PostgresSession(const std::string& url);
    ~PostgresSession();
    PostgresSession(const PostgresSession&) = delete;
    PostgresSession& operator=(const PostgresSession&) = delete;

    /// The first value of the last result, as text; empty if there is none. Throws std::runtime_error if it fails.
    std::string run(const std::string& sql);

 private:
    void* handle_;
};

}  // namespace holdfast
