#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "cli/mcp/mcp_agent.h"
#include "client/client_core.h"
#include "client/transport.h"

namespace holdfast::cli::mcp {

/// The leases that an MCP server holds for its model, which sends no heartbeats: the client library keeps them. A loss
/// is remembered until it has been reported. May be used from several threads.
class McpLeases {
 public:
    struct Held {
        std::string id;
        std::string resource;
        std::string predicate;
        std::uint64_t token = 0;
        Duration left{};
        std::set<std::string> paths;  ///< the paths by which the model claimed it
    };
    struct Lost {
        std::string id;
        std::string resource;
        std::string code;  ///< code of the refusal that ended it; empty: no server answered in time
        std::string why;
    };
    /// When a grant or a renewal was requested, and how long the request then waited for its turn.
    struct Asked {
        HolderInstant sent_at;
        Duration waited{};
    };

    /// From the server's answer to a request for leases.
    static Asked asked(const JsonValue& answer, HolderInstant sent_at);

    /// The transport renews the leases of this agent. It is used, and a thread started, once a lease is kept.
    McpLeases(std::shared_ptr<client::Transport> transport, const McpAgent& agent);
    ~McpLeases();
    McpLeases(const McpLeases&) = delete;
    McpLeases& operator=(const McpLeases&) = delete;

    /// Adds or updates a lease as described in the server's grant or renewal. Returns false, with nothing changed, if
    /// the description is malformed or no time is left.
    bool keep(const JsonValue& lease, const Asked& asked);
    /// True if the first renewal is due already, because the answer was slow.
    static bool needs_renewal(const JsonValue& lease, const Asked& asked);
    /// The lease was released: not held any more, and not lost.
    void forget(const std::string& id);
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

    const std::shared_ptr<Client::Core>& client();
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
