#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "doors/http/readiness.h"
#include "server/driver.h"
#include "server/open_log.h"
#include "statefile/durable_state.h"
#include "statefile/state_db.h"
#include "statefile/state_dir.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

class Logger;

/// The state directory of a server that keeps leases itself: the state file, with the leases of a clean stop, and the
/// place of its log. Knows whether the disk takes what it is asked to write.
///
/// Call order: open(), begin(), save().
class LocalState {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        Logger& log;
        std::string directory;  ///< empty: the default one
        statefile::StateOwner owner;
    };
    /// Error `state_corrupt` also if the log is gone that belongs to the rest.
    static Result<std::unique_ptr<LocalState>> open(Parts parts);

    const statefile::Found& found() const { return db_->found(); }
    Instant started_at() const { return clock_.now; }
    statefile::DurableState& durable() { return durable_; }
    /// Where the log is. Its writes count as this state's.
    LogPlace log_place();
    void on_write_failed(const Error& error);

    /// Restores the records of a clean stop, and makes durable what was asked for before (G3). `longest_ttl` is the
    /// longest TTL of the policy in force, and `least` that of any other member.
    Result<void> begin(const statefile::StateDb::TakeUp& restore, Duration ttl_max, Duration least = {});
    /// From now on `driver` has its tick() after each callback from the disk.
    void start(Driver& driver) { driver_ = &driver; }
    Driven driven();
    /// S1: saves every live lease. Nothing can be granted or renewed any more, and the log is stopped.
    Result<void> save(Instant recovering_until, const statefile::StateDb::Records& records,
                      const statefile::AcceptorMarks& marks = {});

    /// A problem if the disk refused the last write; `so` says what cannot be done.
    std::optional<doors::http::Trouble> trouble(std::string_view so) const;
    void add_numbers(doors::http::MetricNumbers& numbers) const;

 private:
    LocalState(Parts parts, ClockReading clock, statefile::StateDir directory, std::unique_ptr<statefile::StateDb> db);

    void post(Callback<> function);
    void on_written();

    boost::asio::io_context& loop_;
    Logger& log_;
    const ClockReading clock_;
    const statefile::StateDir directory_;
    const std::unique_ptr<statefile::StateDb> db_;
    Driver* driver_ = nullptr;
    Instant quiet_until_{};
    std::optional<Error> write_failed_;  ///< ever
    Instant written_at_ = store_clock_now();
    std::optional<Error> disk_failure_;  ///< error of the last write; empty if it succeeded
    std::uint64_t disk_failures_ = 0;
    statefile::DurableState durable_;
};

/// `1 lease`, `2 leases`.
std::string count_of_leases(std::size_t count);

}  // namespace holdfast::server
