#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/api.h"
#include "cli/cancellation.h"
#include "cli/guard/work_tree_paths.h"
#include "cli/mcp/mcp_agent.h"
#include "cli/mcp/mcp_arguments.h"
#include "cli/mcp/mcp_leases.h"
#include "cli/mcp/mcp_protocol.h"

namespace holdfast {

/// The tools of `holdfast mcp`: each call becomes requests to the server, and its answer words that a model can act on.
/// Calls may run in several threads at once.
class McpTools {
 public:
    struct Config {
        std::shared_ptr<ServerList> servers;  ///< so that one failure of a server is enough for all calls
        std::string root;                     ///< of the work tree; empty: there is none
    };
    McpTools(Config config, McpAgent& agent, McpLeases& leases, std::function<void()> on_new_lease);

    /// True if the call may take long because it waits for a turn.
    static bool waits(const McpCall& call);

    /// Does it. Every outcome also tells what was lost since the last one. `cancellation` ends it early.
    McpOutcome run(const McpCall& call, Cancellation& cancellation);

    /// Gives back everything of this session, also what was granted to a call that was cancelled in that moment. What
    /// cannot be told within the time ends by itself.
    void release_all(Duration within);

 private:
    McpOutcome do_call(Api& api, const McpCall& call);
    McpOutcome claim(Api& api, McpArguments& arguments);
    McpOutcome extend(Api& api, McpArguments& arguments);
    McpOutcome release(Api& api, McpArguments& arguments);
    McpOutcome verify(Api& api, McpArguments& arguments);
    McpOutcome list(Api& api, McpArguments& arguments) const;

    /// What is claimed, and what the model must know about it.
    struct Intents {
        boost::json::array list;
        boost::json::array notes;
        std::multimap<std::string, std::string> paths;  ///< by resource, what the model called it
    };
    Intents read_intents(McpArguments& arguments) const;
    /// Reads one intent of a call; its names are added to `intents`.
    void read_intent(McpArguments& intent, Intents& intents) const;
    Result<ResolvedPath> named(const std::string& path) const;
    /// What the model asks for beside the intents.
    struct Terms {
        std::string reason;
        std::optional<std::chrono::milliseconds> ttl;
        std::optional<std::chrono::milliseconds> wait;
    };
    /// Renews what this session holds already, and takes it out of the intents. Nothing if all is well.
    std::optional<McpOutcome> renew_held(Api& api, Intents& intents, const Terms& terms);
    /// Asks for the rest. Nothing if all was granted and is held.
    std::optional<McpOutcome> acquire(Api& api, Intents& intents, const Terms& terms);
    /// The answer, and when the request that it answers was sent. One that waits goes on through another server if its
    /// own is silent.
    struct Reply {
        Result<Answer> answer;
        HolderInstant sent_at;
    };
    static Reply ask_for_leases(Api& api, boost::json::object body, const Terms& terms);
    McpOutcome granted(Api& api, Intents intents, const std::vector<std::string>& resources);
    /// Of several leases on a resource the strongest is kept, and the others are given back: a resource that is
    /// released must not stay held.
    McpLeases::Held keep_one(Api& api, std::vector<McpLeases::Held> leases);
    /// Leases of a grant that may have to be renewed first, with what they count from.
    struct Granted {
        boost::json::array leases;
        HolderInstant counts_from;
    };
    std::optional<McpOutcome> take_over(Api& api, Granted granted);
    /// False if the server did not confirm all of them.
    bool confirm(Api& api, Granted& granted) const;
    /// The leases of this session that the model means by a path.
    std::vector<std::string> held_by_path(const std::string& path) const;
    std::vector<std::string> named_or_all(McpArguments& arguments);
    std::vector<std::string> names_of_session(HttpConnection& connection, HolderInstant until);

    const Config config_;
    const DiskFiles files_;
    McpAgent& agent_;
    McpLeases& leases_;
    const std::function<void()> on_new_lease_;
    std::atomic<bool> claimed_ = false;
};

}  // namespace holdfast
