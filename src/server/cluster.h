#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "consensus/log_messages.h"
#include "doors/http/readiness.h"
#include "server/cluster_settings.h"
#include "server/driver.h"
#include "server/quorum_status.h"
#include "statefile/durable_state.h"
#include "store/store.h"

namespace boost::asio {
class io_context;
}

namespace holdfast::server {

class Logger;

/// Returns until when this node's acceptor answers nothing. After an unclean stop it stays silent until every lease
/// that it agreed to and has forgotten must have expired (Q10). Instant{} if it has lost nothing or has never agreed to
/// anything.
Instant silent_until(const ClusterSettings& settings, const statefile::Found& found, Instant now);

/// One node of a cluster: its share of every register, and the door through which it talks to the other members. It
/// takes part in nothing until the cluster is founded (cluster_founding.h).
///
/// Messages of the replicated log use the same door. Received ones go to `on_log_message`.
class Cluster {
 public:
    struct Parts {
        boost::asio::io_context& loop;
        const ClusterSettings& settings;
        const statefile::Found& found;
        Instant started_at;
        store::StoreListener& listener;
        statefile::DurableState& durable;  ///< has the token ceiling (Q11), and what is known of the other members
        Logger& log;

        // Callbacks of the replicated log. Each may be empty.
        std::function<void(store::quorum::NodeIndex from, const consensus::LogMessage& message)> on_log_message = {};
        std::function<void(store::quorum::NodeIndex peer, bool reachable)> on_peer = {};
        std::function<LogStatus()> log_status = {};
    };
    explicit Cluster(Parts parts);
    ~Cluster();

    store::DrivenStore& store();
    void restore(std::string_view resource, const lease::Record& record, const store::quorum::RegisterBallots& ballots);
    void for_each(const statefile::StateDb::TakeUp& save);
    /// What else to save for the next start (S1, Q10).
    statefile::AcceptorMarks marks();
    Driven driven();

    /// Listens for the other members and connects to them.
    Result<void> start(Driver& driver);
    /// Updates under way fail, messages already queued are sent, and no more are received.
    void stop(std::function<void()> done);

    std::string status();  ///< the response of GET /v1/quorum
    /// Why nothing can be granted at the moment, if anything prevents it.
    std::optional<doors::http::Trouble> trouble();
    void add_numbers(doors::http::MetricNumbers& numbers);

    /// Sends a message to another member. It may be lost.
    void send(store::quorum::NodeIndex to, const consensus::LogMessage& message);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::server
