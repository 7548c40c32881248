#pragma once

#include <holdfast/agent.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "client/agent/digest.h"
#include "client/client_core.h"
#include "client/transport.h"

namespace holdfast {

/// Converts an error or a refusal to the Failure that the program gets.
Failure to_failure(const Error& error);

/// The successive incarnations of an agent: its digest, its registration, and the leases that earlier incarnations left
/// behind. Every action that depends on the digest waits until the digest is on disk.
struct Agent::Core {
    Core(std::shared_ptr<Client::Core> client, AgentOptions options);

    std::optional<Failure> start();
    /// Releases the leases left behind and registers in the next epoch (G5).
    std::optional<Failure> begin_next_life();

    std::optional<Failure> save_checkpoint(std::string checkpoint);
    std::optional<Failure> save_pending(std::vector<Intent> intents);
    client::agent::Digest digest() const;
    std::uint64_t epoch() const { return client->epoch->get().value_or(0); }

    std::vector<LeftBehind> left_behind() const;
    void leave_behind(const std::vector<Grant>& grants);
    void let_go_of_left_behind();

    Result<std::vector<client::VerifiedLease>> verify() const;

    std::optional<Failure> declare_restart();
    bool restarting() const;

    /// Ends the current work permanently; the first reason counts.
    void stop(const Failure& why);
    std::optional<Failure> stopped() const;
    /// Sleeps until the instant, or until the agent or `stop` is stopped.
    void sleep_until(HolderInstant instant, const std::stop_token& stop);

    /// One manifest at a time. False if another is being worked on.
    bool enter();
    void leave();

    const std::shared_ptr<Client::Core> client;
    const std::shared_ptr<client::Transport> asks;  ///< for calls that may take long: stop() ends them

 private:
    Result<void> load();
    Result<client::AgentKnown> register_life(std::optional<std::uint64_t> epoch);
    Result<void> settle_life();
    Result<void> save(client::agent::Digest digest);

    const AgentOptions options_;
    std::mutex starting_;
    bool started_ = false;

    mutable std::mutex mutex_;  ///< guards all below
    client::agent::DigestFile file_;
    client::agent::Digest digest_;
    std::vector<LeftBehind> left_;
    bool working_ = false;
    bool restarting_ = false;
    std::optional<Failure> stopped_;
    std::condition_variable_any changed_;
};

}  // namespace holdfast
