#include "server/local_state.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

#include "server/logger.h"

namespace holdfast::server {
namespace {

constexpr const char* state_name = "state.db";
constexpr const char* log_name = "log.db";

/// The log has the policy, the bans and the agents, and for a member also its promises and accepted decrees (L1). A
/// server that starts without it would admit banned holders again.
Result<void> check_whole(const statefile::StateDir& directory, const statefile::Found& found, bool alone) {
    std::error_code failed;
    const std::string log = directory.file(log_name);
    const bool had_one = alone ? found.last_stop != statefile::LastStop::none : !found.founders.empty();
    if (!had_one || std::filesystem::exists(log, failed)) return {};
    return Error{Code::state_corrupt, std::string(alone ? "the log with the policy, the bans and the agents, "
                                                        : "this member's share of the replicated log, ") +
                                          log + ", is gone, but the rest of its state is there; put it back, or see " +
                                          (alone ? "docs/operations.md for a state that is damaged"
                                                 : "docs/cluster.md for a directory that is lost")};
}

}  // namespace

Result<std::unique_ptr<LocalState>> LocalState::open(Parts parts) {
    const auto path = parts.directory.empty() ? statefile::default_state_dir() : Result<std::string>(parts.directory);
    if (!path) return path.error();
    auto directory = statefile::StateDir::open(*path);
    if (!directory) return directory.error();
    ClockReading clock = read_boot_clock();
    auto db = statefile::StateDb::open(directory->file(state_name), clock, parts.owner);
    if (!db) return db.error();
    if (auto whole = check_whole(*directory, (*db)->found(), parts.owner.alone()); !whole) return whole.error();
    Logger& log = parts.log;
    log.info("holdfast " HOLDFAST_VERSION ", state in " + directory->path());
    if ((*db)->found().damaged)
        log.error(
            fmt::format("the state file {} was altered after it was saved: its checksum is wrong. No lease in it is "
                        "restored, as after an unclean stop; check the disk and the memory of this machine",
                        directory->file(state_name)));
    return std::unique_ptr<LocalState>(
        new LocalState(std::move(parts), std::move(clock), std::move(*directory), std::move(*db)));
}

LocalState::LocalState(Parts parts, ClockReading clock, statefile::StateDir directory,
                       std::unique_ptr<statefile::StateDb> db)
    : loop_(parts.loop),
      log_(parts.log),
      clock_(std::move(clock)),
      directory_(std::move(directory)),
      db_(std::move(db)),
      durable_({.db = *db_,
                .post = [this](Callback<> function) { post(std::move(function)); },
                .on_failure = [this](const Error& error) { on_write_failed(error); },
                .on_written = [this] { on_written(); }}) {}

LogPlace LocalState::log_place() {
    return {.path = directory_.file(log_name),
            .post = [this](Callback<> function) { post(std::move(function)); },
            .on_failure = [this](const Error& error) { on_write_failed(error); },
            .on_written = [this] { on_written(); }};
}

/// Called on the threads of the disk.
void LocalState::post(Callback<> function) {
    boost::asio::post(loop_, [this, function = std::move(function)]() mutable {
        function();
        if (driver_ != nullptr) driver_->tick();
    });
}

Result<void> LocalState::begin(const statefile::StateDb::TakeUp& restore, Duration ttl_max, Duration least) {
    const auto longest_ttl = db_->begin(restore);
    if (!longest_ttl) return longest_ttl.error();
    durable_.start({*longest_ttl, ttl_max, least});
    // The first tokens are reserved before any request can need one (G3).
    durable_.drain();
    loop_.poll();
    if (write_failed_) return *write_failed_;
    return {};
}

Driven LocalState::driven() {
    return {[this](Instant now) { durable_.advance(now); }, [this] { return durable_.next_deadline(); }};
}

Result<void> LocalState::save(Instant recovering_until, const statefile::StateDb::Records& records,
                              const statefile::AcceptorMarks& marks) {
    durable_.stop();
    loop_.restart();
    loop_.poll();  // runs callbacks already posted
    return db_->stop_cleanly(read_boot_clock(), recovering_until, records, marks);
}

void LocalState::on_written() {
    written_at_ = store_clock_now();
    disk_failure_.reset();
}

/// A failing disk is retried with every request; the log reports it at most every 10 s.
void LocalState::on_write_failed(const Error& error) {
    write_failed_ = error;
    if (error.code == Code::storage_failed) {
        disk_failure_ = error;
        ++disk_failures_;
    }
    const Instant now = store_clock_now();
    if (now < quiet_until_) return;
    quiet_until_ = now + 10s;
    log_.error(error.message);
}

std::optional<doors::http::Trouble> LocalState::trouble(std::string_view so) const {
    if (!disk_failure_) return std::nullopt;
    return doors::http::Trouble{
        "storage_failed",
        fmt::format("{}. Leases are granted and renewed, but {}, and a stop would be unclean; check the disk",
                    disk_failure_->message, so),
        std::nullopt, true};
}

void LocalState::add_numbers(doors::http::MetricNumbers& numbers) const {
    const auto since = std::chrono::duration<double>(store_clock_now() - written_at_).count();
    numbers.push_back({"holdfast_disk_last_write_age_seconds", "How long ago the disk took something", since});
    numbers.push_back({"holdfast_disk_failing", "Whether the disk refused what it was last asked to write",
                       disk_failure_ ? 1.0 : 0.0});
    numbers.push_back(
        {"holdfast_disk_failures_total", "Writes that the disk refused", static_cast<double>(disk_failures_), true});
}

std::string count_of_leases(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " lease" : " leases");
}

}  // namespace holdfast::server
