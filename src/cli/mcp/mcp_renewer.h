#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/mcp/cancellation.h"
#include "cli/mcp/mcp_agent.h"
#include "cli/mcp/mcp_leases.h"
#include "client/server_address.h"

namespace holdfast::cli::mcp {

/// Renews the leases of an MCP server in the background, on time (T3), in as few messages as possible, since a model
/// sends no heartbeats.
class McpRenewer {
 public:
    McpRenewer(std::shared_ptr<client::ServerList> servers, const McpAgent& agent, McpLeases& leases);
    ~McpRenewer() { stop(); }
    McpRenewer(const McpRenewer&) = delete;
    McpRenewer& operator=(const McpRenewer&) = delete;

    /// To be called after leases were added: a new one may be due first.
    void leases_added();
    /// Ends the thread, and cancels a renewal in flight.
    void stop();

 private:
    void run();
    void renew(const std::vector<std::string>& ids);

    const std::shared_ptr<client::ServerList> servers_;
    const McpAgent& agent_;
    McpLeases& leases_;
    Cancellation cancellation_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool added_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::cli::mcp
