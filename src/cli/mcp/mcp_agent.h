#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "cli/api.h"
#include "client/transport.h"

namespace holdfast::cli::mcp {

/// The requester: a holder in one session for the lifetime of the process, either a plain one or a registered agent
/// (G5). An agent's requests carry the epoch of this incarnation, so that an earlier process of the same agent is
/// refused from then on.
class McpAgent {
 public:
    struct Config {
        std::string holder;
        std::string name_space;
        std::string priority;  ///< empty: a plain holder; `now`, or a number
    };
    explicit McpAgent(Config config);

    const std::string& holder() const { return config_.holder; }
    const std::string& name_space() const { return config_.name_space; }
    const std::string& session() const { return session_; }

    /// Registers the agent, unless it is a plain holder or registered already. Called at the first claim, since the
    /// server may be unreachable at the start. Returns an answer that is ok(), or the server's refusal. Errors as Api.
    Result<Answer> enroll(Api& api);

    /// Once registered.
    std::optional<std::uint64_t> epoch() const;

    /// Leases of this holder, for a request.
    client::NamedLeases named(const std::vector<std::string>& ids) const;

 private:
    const Config config_;
    const std::string session_;
    std::mutex enrolling_;
    mutable std::mutex mutex_;
    std::optional<std::uint64_t> epoch_;  ///< once registered
};

}  // namespace holdfast::cli::mcp
