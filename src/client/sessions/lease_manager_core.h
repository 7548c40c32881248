#pragma once

#include <holdfast/lease_manager.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/backoff.h"
#include "base/random.h"
#include "client/forks.h"
#include "client/sessions/lease_commands.h"
#include "client/sessions/membership.h"
#include "client/sessions/owned_table.h"
#include "client/sessions/resp_connection.h"
#include "client/sessions/session_leases.h"
#include "client/sleeper.h"

namespace holdfast {

/// Runs the pure parts with I/O and threads: one thread talks to the store and sends all due requests in one round
/// trip; another ends ownership at its deadline and runs callbacks, and never waits for the network.
struct LeaseManager::Core {
    Core(LeaseManagerOptions options, const codec::resp::RedisAddress& address);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    static std::shared_ptr<Core> make(LeaseManagerOptions options);

    std::optional<Failure> start();
    void retire();
    bool stop(Duration patience);

    std::optional<Failure> add(const std::vector<std::string>& sessions);
    Taken try_acquire(const std::string& session, const std::stop_token& stop);
    void release(const std::string& session);
    bool is_owned(std::string_view session) const noexcept;
    std::shared_ptr<client::sessions::OwnedUntil> begin_poll(const std::string& session);
    void end_poll(const std::string& session);

    std::vector<std::string> owned_sessions() const;
    std::vector<std::string> live_nodes() const;
    std::string preferred_owner(const std::string& session) const;
    SessionInfo info(const std::string& session) const;
    std::vector<SessionInfo> sessions() const;

    const LeaseManagerOptions options;
    const std::string instance;
    const std::uint32_t born = client::forks();

 private:
    using Lock = std::unique_lock<std::mutex>;
    struct News {
        std::optional<OwnershipChange> change;
        std::optional<Failure> trouble;  ///< if there is no change
    };

    // For the thread that talks to the store, with the lock held.
    void talk();
    bool is_done(HolderInstant now) const;
    void round(Lock& lock);
    bool connect(Lock& lock);
    Result<void> greet(Lock& lock);
    void exchange(Lock& lock);
    void hear_roll(HolderInstant now);
    void repeat_in_full(Lock& lock, const std::vector<client::sessions::LeaseRequest>& requests);
    void failed(const Error& error, HolderInstant now);
    void answer(const client::sessions::LeaseRequest& request, const codec::resp::Value& value, HolderInstant now);
    void nobody_answered(const std::vector<client::sessions::LeaseRequest>& requests, HolderInstant now);

    void watch();
    void apply_changes(HolderInstant now);
    void tell(std::optional<Failure> trouble);
    void changed(HolderInstant now);
    std::optional<Failure> problem_with(const std::string& session) const;
    Failure why_not(const std::string& session) const;
    SessionInfo info_of(const std::string& session, const client::sessions::SessionLeases::Session& known,
                        HolderInstant now) const;

    const client::sessions::LeaseCommands commands_;
    client::sessions::RespConnection connection_;
    client::Sleeper talk_alarm_;
    client::Sleeper watch_alarm_;
    client::sessions::OwnedTable table_;
    mutable std::mutex mutex_;
    std::condition_variable_any settled_;  ///< an answer arrived, or the talking thread has ended
    client::sessions::SessionLeases leases_;
    client::sessions::Membership roll_;
    Random random_;
    Backoff backoff_;  ///< of the connection to the store
    std::vector<News> news_;
    std::optional<Failure> trouble_;                ///< as last reported
    std::optional<client::sessions::Ask> refused_;  ///< the last request that the store answered with an error
    bool started_ = false;
    bool retired_ = false;
    bool farewell_due_ = false;
    bool stopping_ = false;
    bool talk_over_ = false;
    bool watch_over_ = false;
    bool connected_ = false;
    bool release_unanswered_ = false;  ///< since retire()
    bool handed_over_ = false;
    HolderInstant patience_ends_{};
    HolderInstant retry_at_{};
    HolderInstant closed_until_{};
    std::thread talker_;
    std::thread watcher_;
};

/// The error in the options, if any.
std::optional<Failure> problem_of(const LeaseManagerOptions& options);

struct Poll::State {
    std::shared_ptr<LeaseManager::Core> core;
    std::shared_ptr<client::sessions::OwnedUntil> until;
    std::uint64_t turn = 0;
};

}  // namespace holdfast
