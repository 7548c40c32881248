#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/inbox.h"
#include "client/workers.h"
#include "keys/drone/backend_log.h"
#include "keys/drone/backend_record.h"
#include "keys/drone/drone_core.h"
#include "supervise/guarded_command.h"

namespace holdfast::keys::drone {

/// Functions of other threads, to be called on the core's thread. Every call, start and probe puts one.
using Tasks = Inbox<std::function<void()>>;

/// The processes of a drone's backends. Each backend has its own guardian, which ends it in time even if this process
/// is suspended or killed (K4). Starting a backend does disk I/O, so it runs on worker threads; everything else runs on
/// the core's thread.
class BackendProcesses {
 public:
    struct Setting {
        Tasks& tasks;
        LogPump& logs;
        BackendRecords records;
        std::optional<std::string> cgroup;  ///< the parent for new cgroups, if there is a writable one
        std::string drone;                  ///< the drone's id, used in cgroup names
        std::string host;                   ///< the host that backends listen on
        sigset_t mask{};                    ///< the signals blocked when a backend starts
    };

    struct Starting {
        std::uint16_t port = 0;
    };
    struct Running {};
    struct NotStarted {
        std::string message;
    };
    struct Event {
        std::string backend;
        std::variant<Starting, Running, NotStarted, Ending> what;
    };

    explicit BackendProcesses(Setting setting);
    /// Waits until the records of ended backends are removed.
    ~BackendProcesses();

    void launch(const Launch& launch);
    void move_deadlines(const std::string& backend, supervise::WorkDeadlines deadlines);
    void stop(const std::string& backend, HolderInstant kill_at);

    /// Reads the guardians' reports, acts for guardians that cannot, and returns the events.
    std::vector<Event> attend(HolderInstant now);
    /// Readable when a guardian has sent a report.
    std::vector<int> fds() const;
    /// True while attend() must be called more often than the guardians' reports require.
    bool is_restless() const;
    std::size_t size() const { return ones_.size(); }

 private:
    struct One {
        SpawnOrder order;
        supervise::WorkDeadlines deadlines;
        std::uint16_t port = 0;
        std::string cgroup{};
        std::optional<supervise::GuardedCommand> command{};  ///< set once its guardian is running
        pid_t guardian = 0;
        std::optional<HolderInstant> stop_by{};
        bool stop_told = false;
        bool abandoned = false;  ///< its guardian is gone: this process must kill everything
        std::optional<HolderInstant> killed_at{};
    };
    /// The input for starting a guardian on a worker thread.
    struct Preparation {
        SpawnOrder order;
        std::string cgroup;
    };
    using Prepared = std::shared_ptr<Result<supervise::GuardedCommand>>;

    Result<std::uint16_t> port_for(const SpawnOrder& order) const;
    Prepared prepare(const Preparation& preparation);
    void start(const std::string& backend, const Prepared& prepared);
    void tell(One& one);
    void hear(const std::string& backend, One& one, HolderInstant now);
    void stand_in(One& one, HolderInstant now);
    void finish_abandoned();
    bool kill_orphans();
    void forget_guardian(pid_t guardian);
    void record_group(const std::string& backend, const One& one);
    void over(const std::string& backend, Event event);
    void say(const std::string& backend, std::variant<Starting, Running, NotStarted, Ending> what);

    const Setting setting_;
    std::map<std::string, std::unique_ptr<One>> ones_;
    std::vector<Event> events_;
    std::mutex guardians_mutex_;
    std::set<pid_t> guardians_;  ///< the only children of this process, apart from orphans of dead guardians
    client::Workers starters_;
    client::Workers writer_;  ///< writes and removes records
};

}  // namespace holdfast::keys::drone
