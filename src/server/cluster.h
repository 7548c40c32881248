#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "consensus/log_messages.h"
#include "server/cluster_settings.h"
#include "server/quorum_status.h"
#include "server/store_host.h"
#include "store/durable.h"

namespace boost::asio {
class io_context;
}

namespace holdfast {

class Logger;

/// How long this node's acceptor answers nothing: after an unclean stop until no lease can be alive that it had agreed
/// to and has forgotten (Q10). Instant{} if it has lost nothing, or has never agreed to anything.
Instant silent_until(const ClusterSettings& settings, const Found& found, Instant now);

/// One node of a cluster: its share of every register, and the door through which it talks to the other members. Until
/// the cluster is founded it neither says nor hears anything (cluster_founding.h).
///
/// Messages of the replicated log travel through the same door, to and from whoever set `on_log_message`.
class Cluster final : public StoreHost {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        const ClusterSettings& settings;
        const Found& found;
        Instant started_at;
        core::StoreListener& listener;
        core::LocalDurable& durable;  ///< for the ceiling of tokens (Q11)
        Logger& log;
        /// Makes them durable (cluster_founding.h); answered on the loop.
        std::function<void(std::vector<std::uint64_t> directories, Callback<Result<void>> done)> write_founders;
        /// Likewise (cluster_peers.h).
        std::function<void(std::vector<core::LifeMark> lives, Callback<Result<void>> done)> write_peer_lives;

        // Of the replicated log; each may be empty.
        std::function<void(core::NodeIndex from, const core::LogMessage& message)> on_log_message = {};
        std::function<void(core::NodeIndex peer, bool reachable)> on_peer = {};
        std::function<LogStatus()> log_status = {};
    };
    explicit Cluster(Parts parts);
    ~Cluster() override;

    core::DrivenStore& store() override;
    void restore(std::string_view resource, const core::Record& record, const core::RegisterBallots& ballots) override;
    void for_each(const StateDb::TakeUp& save) override;
    AcceptorMarks marks() override;
    std::vector<Driven> driven() override;

    /// Listens for the other members and connects to them.
    Result<void> start(Driver& driver) override;
    /// What is under way fails, what was said is sent, and nothing is heard any more.
    void stop(std::function<void()> done) override;

    std::string status() override;
    std::optional<Trouble> trouble() override;
    void add_numbers(MetricNumbers& numbers) override;

    /// Carries it to another member, or loses it.
    void send(core::NodeIndex to, const core::LogMessage& message);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast
