#pragma once

#include <holdfast/lease_manager.h>

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervise/guarded_command.h"

namespace holdfast {

/// The polls in hand: commands that run each under a guardian of its own, which ends it before its session can go to
/// another, also if this process is stopped or killed (T3).
class OwnPolls {
 public:
    struct Setting {
        std::vector<std::string> command;  ///< `{}` stands for the session
        std::string instance;
        sigset_t mask{};
        Duration ttl{};
        bool leave_daemons = false;  ///< what left a poll's group goes on when the poll has ended
    };
    struct Ended {
        std::string session;
        int status = 0;       ///< as waitpid() gives it
        bool forced = false;  ///< it was stopped, because its session was lost
        int cannot_run = 0;   ///< errno, if it could not be run
    };

    explicit OwnPolls(Setting setting) : setting_(std::move(setting)) {}

    std::size_t size() const { return polls_.size(); }
    bool has(const std::string& session) const { return polls_.contains(session); }

    /// Nothing is started if there is no time left for it.
    Result<void> start(const std::string& session, Poll poll);
    /// Hears the guardians, tells them the deadlines that have moved since, and returns what has ended.
    std::vector<Ended> attend();
    /// Readable when a guardian has something to say.
    std::vector<int> fds() const;

    void ask_to_stop();
    void kill();

 private:
    struct One {
        Poll poll;
        GuardedCommand command;
        HolderInstant end{};  ///< of ownership, as told last
        bool lost_told = false;
        std::optional<HolderInstant> killed_at{};
    };

    std::optional<Ended> hear(const std::string& session, One& one);
    void move_deadlines(One& one) const;
    std::optional<Ended> stand_in(const std::string& session, One& one);
    WorkDeadlines deadlines(HolderInstant end) const;
    std::vector<std::string> command_for(const std::string& session) const;

    const Setting setting_;
    std::map<std::string, std::unique_ptr<One>> polls_;
};

}  // namespace holdfast
