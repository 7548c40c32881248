#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/mcp/mcp_agent.h"
#include "client/acquiring.h"
#include "client/client_core.h"
#include "client/transport.h"

namespace holdfast::cli::mcp {

/// The leases that an MCP server holds for its model, which sends no heartbeats: the client library acquires and keeps
/// them, each by itself, so that a part of what was claimed together can be released. A loss is remembered until it has
/// been reported. May be used from several threads.
class McpLeases {
 public:
    struct Held {
        Grant grant;
        Duration left{};
        std::set<std::string> paths;  ///< the paths by which the model claimed it
    };
    struct Lost {
        std::string id;
        std::string resource;
        ErrorCode code;  ///< code of the refusal that ended it; without a name: no server answered in time
        std::string why;
    };

    /// For one message and its answer, without a wait for a turn.
    static constexpr Duration answer_timeout = 10s;

    /// A thread is started at the first claim.
    McpLeases(std::shared_ptr<client::Transport> transport, const McpAgent& agent);
    ~McpLeases();
    McpLeases(const McpLeases&) = delete;
    McpLeases& operator=(const McpLeases&) = delete;

    /// A transport for one call, which can be stopped.
    std::shared_ptr<client::Transport> transport() const { return transport_->twin(); }

    /// Acquires all of the intents or none, and keeps each lease.
    std::variant<client::Timing, Failure> acquire(std::vector<Intent> intents, AcquireOptions options);
    /// Renews leases by name and keeps those that were renewed, with a TTL of their own if one is given. Those that the
    /// server says have ended are lost.
    Result<std::vector<client::RenewReply>> renew(client::Transport& way, const std::vector<std::string>& ids,
                                                  std::optional<Duration> ttl);
    /// Releases a lease by name, and forgets it even if no server answers: it then expires.
    Result<client::ReleaseReply> release(client::Transport& way, const std::string& id,
                                         Duration within = answer_timeout);
    /// The server reported that the lease has ended.
    void lose(const std::string& id, const Error& why);
    /// Remembers a path by which the model claimed it.
    void remember_path(const std::string& id, const std::string& path);

    bool holds(const std::string& id);
    std::vector<Held> held();
    std::size_t size();
    /// The losses not reported yet. From now on they count as reported.
    std::vector<Lost> take_lost();

 private:
    struct Entry {
        std::shared_ptr<Lease::State> lease;
        std::set<std::string> paths;
    };

    std::shared_ptr<Client::Core> client();
    void keep(Grant grant, const lease::HolderDeadlines& deadlines);
    void forget(const std::string& id);
    void move_lost();
    void remember_lost(Lost lost);

    const std::shared_ptr<client::Transport> transport_;
    const McpAgent& agent_;
    std::mutex mutex_;
    std::shared_ptr<Client::Core> client_;
    std::map<std::string, Entry> leases_;
    std::vector<Lost> lost_;
};

}  // namespace holdfast::cli::mcp
