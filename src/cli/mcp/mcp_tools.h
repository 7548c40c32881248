#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/api.h"
#include "cli/guard/work_tree_paths.h"
#include "cli/mcp/mcp_agent.h"
#include "cli/mcp/mcp_arguments.h"
#include "cli/mcp/mcp_leases.h"
#include "cli/mcp/mcp_protocol.h"

namespace holdfast::cli::mcp {

/// The tools of `holdfast mcp`: each call is translated to requests to the server, and its answer to text that a model
/// can act on. Calls may run on several threads at once.
class McpTools {
 public:
    struct Config {
        std::shared_ptr<client::ServerList> servers;  ///< shared, so that one failure of a server moves all calls on
        std::string root;                             ///< of the work tree; empty: no work tree
    };
    McpTools(Config config, McpAgent& agent, McpLeases& leases);

    /// True if the call may take long because it waits for a turn.
    static bool waits(const McpCall& call);

    /// Executes the call. Every outcome also reports the leases lost since the last one. `stop` ends the call early.
    McpOutcome run(const McpCall& call, const std::stop_token& stop);

    /// Releases all leases of this session, also those granted to a call that was being cancelled. A lease that cannot
    /// be released within the time ends by itself.
    void release_all(Duration within);

 private:
    /// Those of one call, which another thread may stop.
    struct Connections {
        Api api;
        std::shared_ptr<client::Transport> transport;
        std::stop_token stop;
    };
    McpOutcome do_call(Connections& to, const McpCall& call);
    McpOutcome claim(Connections& to, McpArguments& arguments);
    McpOutcome extend(Connections& to, McpArguments& arguments);
    McpOutcome release(Connections& to, McpArguments& arguments);
    McpOutcome verify(Api& api, McpArguments& arguments);
    McpOutcome list(Api& api, McpArguments& arguments) const;

    /// The claimed intents, and notes about them for the model.
    struct Intents {
        std::vector<Intent> list;
        JsonValue::List notes;
        std::multimap<std::string, std::string> paths;  ///< by resource, the paths that the model used
    };
    Intents read_intents(McpArguments& arguments) const;
    /// Reads one intent of a call; its names are added to `intents`.
    void read_intent(McpArguments& intent, Intents& intents) const;
    Result<guard::ResolvedPath> named(const std::string& path) const;
    /// The other arguments of a claim.
    struct Terms {
        std::string reason;
        std::optional<std::chrono::milliseconds> ttl;
        std::optional<std::chrono::milliseconds> wait;
    };
    /// Renews the leases that this session holds already, and removes them from the intents. Returns nothing on
    /// success.
    std::optional<McpOutcome> renew_held(Connections& to, Intents& intents, const Terms& terms);
    /// Acquires the remaining intents. Returns nothing if all were granted.
    std::optional<McpOutcome> acquire(Connections& to, Intents& intents, const Terms& terms);
    McpOutcome granted(Connections& to, Intents intents, const std::vector<std::string>& resources);
    /// Of several leases on a resource keeps the strongest, and releases the others: otherwise a released resource
    /// could stay held.
    McpLeases::Held keep_one(Connections& to, std::vector<McpLeases::Held> leases);
    /// The leases of this session that a path given by the model refers to.
    std::vector<std::string> held_by_path(const std::string& path) const;
    std::vector<std::string> named_or_all(McpArguments& arguments);
    std::vector<std::string> names_of_session(Api& api, Duration within);

    const Config config_;
    const guard::DiskFiles files_;
    McpAgent& agent_;
    McpLeases& leases_;
    std::atomic<bool> claimed_ = false;
};

}  // namespace holdfast::cli::mcp
