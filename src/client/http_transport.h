#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "client/http_connection.h"
#include "client/transport.h"

namespace holdfast::client {

/// The transport to a server over HTTP (docs/http-api.md), or to the first of several that is available. Each call
/// takes its own connection from a pool, so that a waiting acquire delays nothing else.
class HttpTransport final : public Transport {
 public:
    /// REQUIRES: the servers were checked with parse_servers().
    explicit HttpTransport(std::string_view servers) : HttpTransport(std::make_shared<ServerList>(servers)) {}
    explicit HttpTransport(std::shared_ptr<ServerList> servers) : servers_(std::move(servers)) {}

    AcquireReply acquire(const AcquireAsk& ask, Duration timeout, const std::stop_token& stop) override;
    Result<std::vector<RenewReply>> renew(const NamedLeases& leases, Duration timeout) override;
    Result<std::vector<ReleaseReply>> release(const NamedLeases& leases, Duration timeout) override;
    Result<AgentKnown> register_agent(const AgentAsk& agent, Duration timeout) override;
    Result<void> declare_restart(const AgentAsk& agent, Duration timeout) override;
    Result<std::vector<VerifiedLease>> verify_all(const AgentAsk& agent, Duration timeout) override;
    std::shared_ptr<Transport> twin() const override { return std::make_shared<HttpTransport>(servers_); }
    void stop() override;

 private:
    /// A connection from the pool for one call; its destructor returns it.
    class Loan;

    std::unique_ptr<HttpConnection> take();
    void give_back(std::unique_ptr<HttpConnection> connection);

    static constexpr std::size_t idle_max = 4;

    const std::shared_ptr<ServerList> servers_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<HttpConnection>> idle_;
    std::set<HttpConnection*> lent_;
    bool stopped_ = false;
};

}  // namespace holdfast::client
