#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "client/workers.h"
#include "keys/drone/backend_record.h"
#include "keys/drone/drone_core.h"
#include "keys/drone/inbox.h"
#include "keys/drone/log_pump.h"
#include "supervise/guarded_command.h"

namespace holdfast::drone {

/// The processes of a drone's backends, each under a guardian of its own, which ends it in time also if this process is
/// stopped or killed (K4). Starting takes a disk, so it happens on other threads; all else in the thread of the core.
class BackendProcesses {
 public:
    struct Setting {
        Inbox& inbox;
        LogPump& logs;
        BackendRecords records;
        std::optional<std::string> cgroup;  ///< where groups can be made, if anywhere
        std::string drone;                  ///< its id, for the names of groups
        std::string host;                   ///< what backends are to listen at
        sigset_t mask{};                    ///< what a backend starts with blocked
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
    /// Waits until the records of what has ended are gone.
    ~BackendProcesses();

    void launch(const Launch& launch);
    void move_deadlines(const std::string& backend, WorkDeadlines deadlines);
    void stop(const std::string& backend, HolderInstant kill_at);

    /// Hears the guardians, stands in for those that cannot act, and returns what happened.
    std::vector<Event> attend(HolderInstant now);
    /// Readable when a guardian has something to say.
    std::vector<int> fds() const;
    /// True while something is to be looked after more often than the guardians say.
    bool is_restless() const;
    std::size_t size() const { return ones_.size(); }

 private:
    struct One {
        SpawnOrder order;
        WorkDeadlines deadlines;
        std::uint16_t port = 0;
        std::string cgroup{};
        std::optional<GuardedCommand> command{};  ///< once its guardian is there
        pid_t guardian = 0;
        std::optional<HolderInstant> stop_by{};
        bool stop_told = false;
        bool abandoned = false;  ///< its guardian is gone: everything is to be killed from here
        std::optional<HolderInstant> killed_at{};
    };
    /// What is needed to make a guardian, on another thread.
    struct Preparation {
        SpawnOrder order;
        std::string cgroup;
    };
    using Prepared = std::shared_ptr<Result<GuardedCommand>>;

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
    std::set<pid_t> guardians_;  ///< the only children this process has, but for orphans of dead ones
    Workers starters_;
    Workers writer_;  ///< of records
};

}  // namespace holdfast::drone
